//! Searches for known election bugs: each on the schedule that must show it, and on random ones until one does.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use hustings_workloads::model::Bugs;
use hustings_workloads::recipes::{Case, FindingKind};
use hustings_workloads::simulation::{Simulation, Timing};

use super::search::{FailingSeed, Search, search};
use super::trial::try_simulation;

/// Seed of the simulation of a fixed schedule.
const SEED: u64 = 1;

/// Result of the search for one bug.
#[derive(Clone, Debug, PartialEq)]
pub struct BugSearchResult {
    /// Expected findings that its own schedule did not show.
    pub missed: BTreeSet<FindingKind>,
    /// Findings of its sound counterpart on that schedule. There must be none.
    pub sound: BTreeSet<FindingKind>,
    /// The number of random schedules tried, and the first that showed the bug. None: none were requested.
    pub random: Option<(u64, Option<FailingSeed>)>,
}

impl BugSearchResult {
    /// Its own schedule shows it, its counterpart does not, and if requested, a random schedule shows it.
    #[must_use]
    pub fn is_caught(&self) -> bool {
        let at_random = self.random.as_ref().is_none_or(|(_, found)| found.is_some());
        self.missed.is_empty() && self.sound.is_empty() && at_random
    }
}

impl fmt::Display for BugSearchResult {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.missed.is_empty(), self.sound.is_empty()) {
            (true, true) => write!(out, "caught on its schedule")?,
            (false, _) => write!(out, "NOT CAUGHT on its schedule, which does not show {:?}", self.missed)?,
            (true, false) => write!(out, "the SOUND recipe shows {:?} on its schedule", self.sound)?,
        }
        match &self.random {
            None => Ok(()),
            Some((_, Some(found))) => write!(out, "; by seed {}, which shows {}", found.seed, names(&found.failed)),
            Some((tried, None)) => write!(out, "; by NONE of {tried} random schedules"),
        }
    }
}

/// The names, in one line.
fn names(failed: &BTreeSet<String>) -> String {
    failed.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// Searches for one bug, also on random schedules if seeds are given.
///
/// # Errors
/// A simulation fails, or the case is not a valid scenario.
pub fn hunt(case: &Case, seeds: Option<Range<u64>>) -> anyhow::Result<BugSearchResult> {
    let cell = case.cell(case.recipe)?;
    // A bug without a sound recipe is compared with servers that do not have the bug.
    let (sound, bugs) = case.sound.map_or((case.recipe, Bugs::default()), |sound| (sound, case.bugs));
    let against = (case.cell(sound)?, bugs);
    let fixed = |(cell, bugs): (_, Bugs)| {
        let schedule = Some(case.schedule.to_vec());
        try_simulation(&Simulation { cell, seed: SEED, timing: Timing::default(), bugs, schedule })
    };
    let caught = fixed((cell.clone(), case.bugs))?.caught;
    let missed = case.caught.iter().copied().filter(|wanted| !caught.contains(wanted)).collect();
    let sound = fixed(against.clone())?.caught;
    let random = match seeds {
        None => None,
        Some(seeds) => {
            // Failures of other kinds are not this bug.
            let (against, kinds) = (Some(against), case.caught.to_vec());
            let wanted =
                Search { cell, seeds, bugs: case.bugs, against, kinds, first_only: true, ask_to_end: Arc::default() };
            let searched = search(&wanted, |_| ())?;
            Some((searched.seeds, searched.found.into_iter().next()))
        }
    };
    Ok(BugSearchResult { missed, sound, random })
}
