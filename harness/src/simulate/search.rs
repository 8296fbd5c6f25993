//! Searches schedules: each seed has its own faults, delays and losses. If a seed shows a failure, its schedule is
//! reduced to the smallest part that still shows it.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use hustings_reports::summary::ExcusedOverlaps;
use hustings_workloads::model::Bugs;
use hustings_workloads::recipes::FindingKind;
use hustings_workloads::scenario::Cell;
use hustings_workloads::schedule::Step;
use hustings_workloads::simulation::{chaos, smallest};

use super::trial::{Trial, try_simulation};

/// The parameters of a search.
#[derive(Clone, Debug)]
pub struct Search {
    pub cell: Cell,
    pub seeds: Range<u64>,
    pub bugs: Bugs,
    /// Failures to exclude: those of this cell on these servers with the same schedule.
    pub against: Option<(Cell, Bugs)>,
    /// Only these kinds of findings count. Empty: every failed checker counts.
    pub kinds: Vec<FindingKind>,
    /// End at the first seed with a finding.
    pub first_only: bool,
    /// End before the next seed once this is set.
    pub ask_to_end: Arc<AtomicBool>,
}

/// Result of a search.
#[derive(Clone, Debug, Default)]
pub struct SearchTotals {
    pub seeds: u64,
    /// The first seed that was not tried.
    pub next: u64,
    pub handovers: u64,
    pub events: u64,
    /// Overlaps that no recipe can rule out.
    pub excused_overlaps: ExcusedOverlaps,
    /// Stale writes, and handovers without a fault on the leader, that no recipe can rule out.
    pub excused_writes: u64,
    pub excused_handovers: u64,
    /// Seeds in which not all candidates enrolled.
    pub not_enrolled: u64,
    /// Ordered by seed.
    pub found: Vec<FailingSeed>,
}

/// A seed that shows a failure: the names of the failed checkers, or of the kinds of findings.
#[derive(Clone, Debug, PartialEq)]
pub struct FailingSeed {
    pub seed: u64,
    pub failed: BTreeSet<String>,
}

/// Searches on all cores. Calls `tell` after each seed with the number of seeds done.
///
/// # Errors
/// A simulation fails.
pub fn search(search: &Search, tell: impl Fn(u64) + Sync) -> anyhow::Result<SearchTotals> {
    let next = AtomicU64::new(search.seeds.start);
    let (done, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let merged = Mutex::new((SearchTotals::default(), None::<anyhow::Error>));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                let mut own = SearchTotals::default();
                let mut failure = None;
                while !stop.load(Ordering::Relaxed) && !search.ask_to_end.load(Ordering::Relaxed) {
                    // The counter stops at the end of the range, which may be the maximum of its type.
                    let following = |seed| (seed < search.seeds.end).then(|| seed + 1);
                    let Ok(seed) = next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, following) else { break };
                    match search.of(seed) {
                        Ok((trial, failed)) => own.count(seed, &trial, failed),
                        Err(error) => {
                            failure = Some(error.context(format!("seed {seed}")));
                            stop.store(true, Ordering::Relaxed);
                        }
                    }
                    if search.first_only && !own.found.is_empty() {
                        stop.store(true, Ordering::Relaxed);
                    }
                    tell(done.fetch_add(1, Ordering::Relaxed) + 1);
                }
                if let Ok(mut merged) = merged.lock() {
                    merged.0.merge(own);
                    merged.1 = merged.1.take().or(failure);
                }
            });
        }
    });
    let (mut searched, failure) = merged.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(error) = failure {
        return Err(error);
    }
    searched.found.sort_by_key(|found| found.seed);
    // Every seed that was taken was also completed.
    searched.next = next.into_inner();
    Ok(searched)
}

impl Search {
    /// Simulates one seed. Returns the failures that count.
    fn of(&self, seed: u64) -> anyhow::Result<(Trial, BTreeSet<String>)> {
        let trial = try_simulation(&chaos(&self.cell, self.bugs, seed, None))?;
        let mut failed = self.failures(&trial);
        if let Some((cell, bugs)) = self.against.as_ref().filter(|_| !failed.is_empty()) {
            let other = self.failures(&try_simulation(&chaos(cell, *bugs, seed, None))?);
            failed.retain(|name| !other.contains(name));
        }
        Ok((trial, failed))
    }

    /// The names of the failed checkers, or of the kinds of findings that count.
    fn failures(&self, trial: &Trial) -> BTreeSet<String> {
        match &self.kinds[..] {
            [] => trial.failed.clone(),
            kinds => {
                kinds.iter().filter(|kind| trial.caught.contains(kind)).map(|kind| kind.name().to_owned()).collect()
            }
        }
    }
}

impl SearchTotals {
    fn count(&mut self, seed: u64, trial: &Trial, failed: BTreeSet<String>) {
        self.seeds += 1;
        self.handovers += trial.handovers;
        self.events += trial.events;
        self.excused_overlaps += trial.excused_overlaps;
        self.excused_writes += trial.excused_writes;
        self.excused_handovers += trial.excused_handovers;
        self.not_enrolled += u64::from(!trial.enrolled);
        if !failed.is_empty() {
            self.found.push(FailingSeed { seed, failed });
        }
    }

    fn merge(&mut self, other: Self) {
        self.seeds += other.seeds;
        self.handovers += other.handovers;
        self.events += other.events;
        self.excused_overlaps += other.excused_overlaps;
        self.excused_writes += other.excused_writes;
        self.excused_handovers += other.excused_handovers;
        self.not_enrolled += other.not_enrolled;
        self.found.extend(other.found);
    }
}

/// The smallest part of a seed's schedule that still shows one of the failures: indices of the steps, and the steps.
///
/// # Errors
/// A simulation fails.
pub fn shrink(cell: &Cell, bugs: Bugs, found: &FailingSeed) -> anyhow::Result<(Vec<usize>, Vec<Step>)> {
    let all: Vec<Step> = chaos(cell, bugs, found.seed, None).schedule.unwrap_or_default();
    let mut failure = None;
    let kept = smallest(&(0..all.len()).collect::<Vec<_>>(), |places: &[usize]| {
        match try_simulation(&chaos(cell, bugs, found.seed, Some(places))) {
            Ok(trial) => trial.failed.intersection(&found.failed).next().is_some(),
            Err(error) => {
                failure.get_or_insert(error);
                false
            }
        }
    });
    if let Some(error) = failure {
        return Err(error);
    }
    let steps = kept.iter().map(|place| all[*place]).collect();
    Ok((kept, steps))
}

/// A cell for the search: one group, one host per candidate, and no time spent on unobserved phases. Each seed chooses
/// the numbers of candidates and servers.
#[must_use]
pub fn own_cell(mut cell: Cell) -> Cell {
    cell.groups = 1;
    cell.group_names.truncate(1);
    cell.phases.warm_up_ms = 0;
    // Long enough for the expiry of sessions whose processes ended and restarted.
    cell.phases.drain_ms = 2 * cell.timeout_granted_ms() + 2 * cell.tick_ms;
    // Time after the last fault for a late expiry of a session, a reconnect with its pauses, and one retry.
    cell.phases.drain_max_ms = 10 * cell.timeout_granted_ms();
    let expect = &mut cell.expect;
    expect.overlap = expect.overlap.at_random();
    expect.stale_writes = expect.stale_writes.at_random();
    expect.unplanned = expect.unplanned.at_random();
    expect.overlap_of_t_max = None;
    cell
}
