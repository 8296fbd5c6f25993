//! What a real run measured of each cell, and what a simulation of the same cell shows of it.

use anyhow::Context as _;
use hustings_record::{Nanos, Record};
use hustings_reports::analysis::summarise_cell;
use hustings_reports::summary::{CellSummary, Distribution};
use hustings_workloads::model::Bugs;
use hustings_workloads::scenario::{Cell, Scenario};
use hustings_workloads::simulation::{Simulation, Timing};
use serde::Serialize;

use crate::simulate::try_simulation;

/// Medians of fewer samples than this are no ground to go on.
const SAMPLES_MIN: u64 = 5;
/// Of so many cells one is held out of the fit, to see what the fit is worth.
const HELD_OUT_OF: usize = 3;

/// What is compared, each by its median.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FittedMeasure {
    /// Failover latency.
    Failover,
    /// From the first watcher told of a leader's loss to the last.
    Spread,
    /// Two beliefs at once while both processes ran.
    Overlap,
}

impl FittedMeasure {
    const ALL: [Self; 3] = [Self::Failover, Self::Spread, Self::Overlap];

    /// As people call it.
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

/// What is compared by how often it was seen. Service times are not fitted to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Count {
    /// Overlaps of belief while both processes ran.
    Overlaps,
    /// Writes that a resource without a fence would have taken from leaders that were none any more.
    StaleWrites,
}

impl Count {
    const ALL: [Self; 2] = [Self::Overlaps, Self::StaleWrites];

    /// As people call it.
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

    /// All of them, where anything was handed over.
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
    /// The medians that were measured, in nanoseconds.
    pub real: Vec<(FittedMeasure, Nanos)>,
    /// And what was counted, in how many handovers.
    pub counted: Vec<(Count, (u64, u64))>,
    /// The fit does not look at it.
    pub held_out: bool,
}

/// The cells of a record that have something to compare. Every third is held out.
///
/// # Errors
/// When the record's scenario does not parse, or nothing in it was measured often enough.
pub fn targets(record: &Record, scenario: &Scenario) -> anyhow::Result<Vec<TargetCell>> {
    let mut targets = Vec::new();
    // Nobody simulates a program of somebody else's.
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
    /// What a simulation with these service times shows.
    ///
    /// # Errors
    /// When the simulation fails as such.
    pub fn summary(&self, timing: &Timing) -> anyhow::Result<CellSummary> {
        let (cell, timing) = (self.cell.clone(), timing.clone());
        let simulation = Simulation { cell, seed: self.seed, timing, bugs: Bugs::default(), schedule: None };
        Ok(try_simulation(&simulation)?.summary)
    }

    /// What it shows of what was measured; None where it shows nothing.
    ///
    /// # Errors
    /// When the simulation fails as such.
    pub fn simulated(&self, timing: &Timing) -> anyhow::Result<Vec<Option<Nanos>>> {
        let summary = self.summary(timing)?;
        Ok(self.real.iter().map(|(measure, _)| measure.of(&summary).and_then(|measured| measured.p50)).collect())
    }
}
