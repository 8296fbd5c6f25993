//! Searches schedules: one seed after the other, each with faults, delays and losses of its own, until one shows what must not
//! be; then the least of that schedule that still shows it.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hustings_reports::summary::Excused;
use hustings_workloads::model::Bugs;
use hustings_workloads::recipes::Caught;
use hustings_workloads::scenario::Cell;
use hustings_workloads::schedule::Step;
use hustings_workloads::simulation::{Simulation, chaos, smallest};

use super::trial::{Trial, try_simulation};

/// What random faults on top of each other may bring about in a sound recipe.
pub const EXCUSED: [Caught; 3] = [Caught::FanOut, Caught::Unplanned, Caught::Late];

/// What to search.
#[derive(Clone, Debug)]
pub struct Search {
    pub cell: Cell,
    pub seeds: Range<u64>,
    pub bugs: Bugs,
    /// What is not looked for: see [`EXCUSED`].
    pub excused: BTreeSet<Caught>,
    /// Nor is what this cell on these servers shows on the same schedule.
    pub against: Option<(Cell, Bugs)>,
    /// End at the first seed that shows something.
    pub first_only: bool,
}

/// What a search came to.
#[derive(Clone, Debug, Default)]
pub struct Searched {
    pub seeds: u64,
    pub handovers: u64,
    pub events: u64,
    /// Overlaps that nobody can promise not to be.
    pub excused_overlaps: Excused,
    /// Seeds in which the candidates did not even come to stand.
    pub not_enrolled: u64,
    /// In the order of the seeds.
    pub found: Vec<Found>,
}

/// A seed that shows what must not be.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub seed: u64,
    pub caught: BTreeSet<Caught>,
}

/// The simulation of one seed of a search, with all its steps or with those chosen, by place.
#[must_use]
pub fn of_seed(cell: &Cell, bugs: Bugs, seed: u64, only: Option<&[usize]>) -> Simulation {
    let (steps, timing) = chaos(cell, seed);
    let steps = match only {
        None => steps,
        Some(only) => only.iter().filter_map(|place| steps.get(*place).copied()).collect(),
    };
    Simulation { cell: cell.clone(), seed, timing, bugs, schedule: Some(steps) }
}

/// Searches on every core. `tell` hears now and then how many seeds are done.
///
/// # Errors
/// When a simulation fails as such.
pub fn search(search: &Search, tell: impl Fn(u64) + Sync) -> anyhow::Result<Searched> {
    let next = AtomicU64::new(search.seeds.start);
    let (done, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let merged = Mutex::new((Searched::default(), None::<anyhow::Error>));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                let mut own = Searched::default();
                let mut failure = None;
                while !stop.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= search.seeds.end {
                        break;
                    }
                    match search.of(seed) {
                        Ok((trial, caught)) => own.count(seed, &trial, caught),
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
    Ok(searched)
}

impl Search {
    /// Simulates one seed. Gives what it shows besides what is excused.
    fn of(&self, seed: u64) -> anyhow::Result<(Trial, BTreeSet<Caught>)> {
        let trial = try_simulation(&of_seed(&self.cell, self.bugs, seed, None))?;
        let mut caught: BTreeSet<Caught> = trial.caught.difference(&self.excused).copied().collect();
        if let Some((cell, bugs)) = self.against.as_ref().filter(|_| !caught.is_empty()) {
            let other = try_simulation(&of_seed(cell, *bugs, seed, None))?.caught;
            caught.retain(|shown| !other.contains(shown));
        }
        Ok((trial, caught))
    }
}

impl Searched {
    fn count(&mut self, seed: u64, trial: &Trial, caught: BTreeSet<Caught>) {
        self.seeds += 1;
        self.handovers += trial.handovers;
        self.events += trial.events;
        self.excused_overlaps += trial.excused_overlaps;
        self.not_enrolled += u64::from(!trial.enrolled);
        if !caught.is_empty() {
            self.found.push(Found { seed, caught });
        }
    }

    fn merge(&mut self, other: Self) {
        self.seeds += other.seeds;
        self.handovers += other.handovers;
        self.events += other.events;
        self.excused_overlaps += other.excused_overlaps;
        self.not_enrolled += other.not_enrolled;
        self.found.extend(other.found);
    }
}

/// The least of a seed's schedule that still shows something of the same: the places of its steps, and the steps.
///
/// # Errors
/// When a simulation fails as such.
pub fn shrink(cell: &Cell, bugs: Bugs, found: &Found) -> anyhow::Result<(Vec<usize>, Vec<Step>)> {
    let all: Vec<Step> = chaos(cell, found.seed).0;
    let mut failure = None;
    let kept = smallest(&(0..all.len()).collect::<Vec<_>>(), |places: &[usize]| {
        match try_simulation(&of_seed(cell, bugs, found.seed, Some(places))) {
            Ok(trial) => trial.caught.intersection(&found.caught).next().is_some(),
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
