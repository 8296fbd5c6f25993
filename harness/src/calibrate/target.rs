//! Measurements of each cell of a real run, and the same measurements of its simulation.

use anyhow::Context as _;
use hustings_record::{Nanos, Record};
use hustings_reports::analysis::summarise_cell;
use hustings_reports::summary::{CellSummary, Distribution};
use hustings_workloads::model::Bugs;
use hustings_workloads::scenario::{Cell, Scenario};
use hustings_workloads::simulation::{Simulation, Timing};
use serde::Serialize;

use crate::simulate::try_simulation;

/// Minimum number of samples of a usable median.
const SAMPLES_MIN: u64 = 5;
/// One of this many cells is held out, to validate the fit.
const HELD_OUT_OF: usize = 3;

/// The measures that are compared by their medians.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FittedMeasure {
    /// Failover latency.
    Failover,
    /// From the first to the last watcher that is notified of a leader's loss.
    Spread,
    /// Two concurrent beliefs while both processes ran.
    Overlap,
}

impl FittedMeasure {
    const ALL: [Self; 3] = [Self::Failover, Self::Spread, Self::Overlap];

    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Failover => "failover",
            Self::Spread => "spread",
            Self::Overlap => "overlap",
        }
    }

    fn of(self, summary: &CellSummary) -> Option<&Distribution> {
        match self {
            Self::Failover => summary.failover.whole.as_ref(),
            Self::Spread => summary.fan_out.spread.as_ref(),
            Self::Overlap => summary.split_brain.lengths.as_ref(),
        }
    }

    /// The median, where there are enough samples.
    fn median(self, summary: &CellSummary) -> Option<Nanos> {
        self.of(summary).filter(|measured| measured.n >= SAMPLES_MIN).and_then(|measured| measured.p50)
    }
}

/// The measures that are compared by their frequency. Service times are not fitted to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Count {
    /// Overlaps of belief while both processes ran.
    Overlaps,
    /// Writes of former leaders that a resource without a fence would have accepted.
    StaleWrites,
}

impl Count {
    const ALL: [Self; 2] = [Self::Overlaps, Self::StaleWrites];

    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Overlaps => "overlaps",
            Self::StaleWrites => "stale writes",
        }
    }

    /// How many, and in how many handovers.
    fn of(self, summary: &CellSummary) -> (u64, u64) {
        let seen = match self {
            Self::Overlaps => summary.split_brain.active.seen,
            Self::StaleWrites => summary.writes.unfenced.seen,
        };
        (seen, summary.handovers.completed)
    }

    /// All counts, if any handover completed.
    #[must_use]
    pub fn all_of(summary: &CellSummary) -> Vec<(Self, (u64, u64))> {
        let all = Self::ALL.into_iter().map(|count| (count, count.of(summary)));
        all.filter(|(_, (_, handovers))| *handovers > 0).collect()
    }
}

/// One cell of a real run.
pub struct TargetCell {
    pub cell: Cell,
    pub seed: u64,
    /// The measured medians, in nanoseconds.
    pub real: Vec<(FittedMeasure, Nanos)>,
    /// The counts, and the handovers in which they were counted.
    pub counted: Vec<(Count, (u64, u64))>,
    /// The cell is excluded from the fit.
    pub held_out: bool,
}

/// The cells of a record that can be compared. Every third cell is held out.
///
/// # Errors
/// The record has no median of enough samples.
pub fn targets(record: &Record, scenario: &Scenario) -> anyhow::Result<Vec<TargetCell>> {
    let mut targets = Vec::new();
    // Foreign programs cannot be simulated.
    for cell in scenario.cells().into_iter().filter(|cell| cell.recipe.own().is_some()) {
        let Some(recorded) = record.cells.iter().find(|recorded| recorded.info.name == cell.name) else { continue };
        let summary = summarise_cell(recorded);
        let medians = FittedMeasure::ALL.into_iter().filter_map(|measure| Some((measure, measure.median(&summary)?)));
        let real: Vec<_> = medians.collect();
        if !real.is_empty() {
            let held_out = targets.len() % HELD_OUT_OF == 1;
            let counted = Count::all_of(&summary);
            targets.push(TargetCell { cell, seed: record.manifest.seed, real, counted, held_out });
        }
    }
    let some = || format!("the record has no median of {SAMPLES_MIN} or more samples: let faults repeat more often");
    targets.first().with_context(some)?;
    Ok(targets)
}

impl TargetCell {
    /// Summary of a simulation with these service times.
    ///
    /// # Errors
    /// The simulation fails.
    pub fn summary(&self, timing: &Timing) -> anyhow::Result<CellSummary> {
        let (cell, timing) = (self.cell.clone(), timing.clone());
        let simulation = Simulation { cell, seed: self.seed, timing, bugs: Bugs::default(), schedule: None };
        Ok(try_simulation(&simulation)?.summary)
    }

    /// The simulated medians of the measured quantities. None if the simulation has none.
    ///
    /// # Errors
    /// The simulation fails.
    pub fn simulated(&self, timing: &Timing) -> anyhow::Result<Vec<Option<Nanos>>> {
        let summary = self.summary(timing)?;
        Ok(self.real.iter().map(|(measure, _)| measure.of(&summary).and_then(|measured| measured.p50)).collect())
    }
}
