//! The cases: each known bug of elections with the fixed schedule that shows it, and what it must be caught with. A checker that
//! lets one through is the one that is wrong.
//!
//! Every bug here was seen in the field or is of a kind that was. What a session hides from recipes is told otherwise than it
//! was seen: a session that is over is over for good, so that a bug of those who carry a znode's name from one session to the
//! next is shown by a process that is killed and comes back.

use crate::model::Bugs;
use crate::recipes::{RecipeKind, StepDown};
use crate::scenario::{Cell, Scenario, ScenarioError};
use crate::simulation::script::{Caught, Request, Step, What, When};

use super::*;

/// A bug, how to show it, and what it must be caught with. One group, a host for each candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case {
    /// The recipe's name without `broken:`; that of a bug of the servers begins with `server-`.
    pub name: &'static str,
    pub recipe: RecipeKind,
    /// The recipe that shows nothing of it on the same schedule and the same servers. `None`: no recipe can help it, and the
    /// same one shows nothing on servers without the bug.
    pub sound: Option<RecipeKind>,
    /// What goes wrong, in one line.
    pub wrong: &'static str,
    /// Where it, or its like, was seen.
    pub seen_in: &'static str,
    pub schedule: &'static [Step],
    /// All of this must be seen. More may be.
    pub caught: &'static [Caught],
    pub candidates: u32,
    pub servers: u32,
    pub timeout_ms: u64,
    pub tick_ms: u64,
    pub step_down: StepDown,
    /// What is switched on in the servers.
    pub bugs: Bugs,
    /// How long it goes on after the schedule.
    pub run_ms: u64,
}

impl Case {
    /// The cell of one of the two recipes, which [`Simulation`](crate::simulation::Simulation) takes together with the
    /// schedule.
    ///
    /// # Errors
    /// When this is no valid scenario, which would be an error of the case.
    pub fn cell(&self, recipe: RecipeKind) -> Result<Cell, ScenarioError> {
        let Self { name, candidates, servers, timeout_ms, tick_ms, step_down, run_ms, .. } = self;
        let text = format!(
            "name = \"{name}\"\nallow_broken = true\n\
             [ensemble]\nservers = {servers}\ntick_ms = {tick_ms}\n\
             [election]\nrecipe = \"{recipe}\"\nstep_down = \"{step_down}\"\nsession_timeout_ms = {timeout_ms}\n\
             groups = 1\nhosts = {candidates}\ncandidates_per_group = {candidates}\n\
             [phases]\ndrain_ms = {run_ms}\ndrain_max_ms = {run_ms}\n\
             [[expect]]\nfan_out = \"{}\"\n",
            recipe.promised_fan_out().name(),
        );
        Ok(Scenario::parse(&text, name, &[])?.cells().remove(0))
    }

    /// A case of a recipe, with what is usual: three candidates on three servers, T = 2 s.
    pub(super) const fn of(name: &'static str, recipe: RecipeKind, sound: RecipeKind) -> Self {
        Self {
            name,
            recipe,
            sound: Some(sound),
            wrong: "",
            seen_in: "",
            schedule: &[],
            caught: &[],
            candidates: 3,
            servers: 3,
            timeout_ms: 2_000,
            tick_ms: 100,
            step_down: StepDown::OnDisconnect,
            bugs: NO_BUGS,
            run_ms: 15_000,
        }
    }
}

pub(super) const NO_BUGS: Bugs = Bugs { keep_ephemerals: false, forget_missed_events: false };

/// A step so long after everybody has joined.
pub(super) const fn at(ms: u64, what: What) -> Step {
    Step { when: When::At(ms), what }
}

/// A step at a candidate's `nth` request of a kind from its start.
pub(super) const fn sent(cand: u32, kind: Request, part: &'static str, nth: u32, what: What) -> Step {
    Step { when: When::Sent { cand, kind, part, nth, after_ms: None }, what }
}

/// A step at a candidate's first request of a kind so long after everybody has joined.
pub(super) const fn sent_after(after_ms: u64, cand: u32, kind: Request, part: &'static str, what: What) -> Step {
    Step { when: When::Sent { cand, kind, part, nth: 1, after_ms: Some(after_ms) }, what }
}

/// Every case there is.
#[must_use]
pub fn cases() -> &'static [Case] {
    CASES
}

const CASES: &[Case] = &[
    abandons_contender::CASE,
    adopts_closing_session::CASE,
    breadcrumb_retry::CASE,
    cancel_before_flag::CASE,
    exists_on_vanished::CASE,
    forgets_session_end::CASE,
    ignores_session_loss::CASE,
    interleaved_reconnects::CASE,
    lease_not_renewed::CASE,
    leaves_before_it_stops::CASE,
    leaves_on_failed_release::CASE,
    lock_by_name::CASE,
    no_guid::CASE,
    no_own_check::CASE,
    no_recheck_after_wait::CASE,
    no_relist::CASE,
    recreates_after_close::CASE,
    resets_instead_of_relisting::CASE,
    sequence_as_token::CASE,
    servers::KEEPS_EPHEMERALS,
    silent_watch_end::CASE,
    slow_step_down::CASE,
    sorts_as_text::CASE,
    timer_from_suspended::CASE,
    trusts_watches::CASE,
    wakes_everybody::CASE,
    wall_clock_timer::CASE,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_broken_recipe_has_a_case_of_its_name_and_every_case_says_what_it_shows() {
        let broken: BTreeSet<&str> = RecipeKind::all().filter_map(|kind| kind.name().strip_prefix("broken:")).collect();
        let of_recipes: BTreeSet<&str> =
            cases().iter().filter(|case| case.recipe.is_broken()).map(|case| case.name).collect();
        assert_eq!(broken, of_recipes);
        for case in cases() {
            let of_servers = case.name.starts_with("server-");
            assert!(of_servers || case.recipe.name() == format!("broken:{}", case.name), "{}", case.name);
            assert!(of_servers || case.sound.is_some_and(|sound| !sound.is_broken()), "{}", case.name);
            assert!(!case.wrong.is_empty() && !case.seen_in.is_empty() && !case.caught.is_empty(), "{}", case.name);
        }
    }

    #[test]
    fn steps_are_about_candidates_that_there_are_and_within_a_minute() {
        for case in cases() {
            for step in case.schedule {
                let (who, when) = match step.when {
                    When::At(ms) => (0, ms),
                    When::Sent { cand, after_ms, .. } => (cand, after_ms.unwrap_or(0)),
                    When::Leads { cand, .. } => (cand, 0),
                };
                assert!(who < case.candidates && when < 60_000, "{}: {step:?}", case.name);
            }
        }
    }

    #[test]
    fn every_case_makes_a_cell_for_both_its_recipes() {
        for case in cases() {
            for recipe in std::iter::once(case.recipe).chain(case.sound) {
                let cell = case.cell(recipe).unwrap_or_else(|error| panic!("{}: {error}", case.name));
                assert_eq!((cell.recipe, cell.step_down), (recipe, case.step_down));
                assert_eq!(
                    (cell.candidates(), cell.timeout_granted_ms()),
                    (u64::from(case.candidates), case.timeout_ms)
                );
            }
        }
    }

    #[test]
    fn everything_that_can_be_caught_is_caught_in_some_case() {
        let caught: BTreeSet<Caught> = cases().iter().flat_map(|case| case.caught).copied().collect();
        assert_eq!(caught.len(), 7, "{caught:?}");
    }
}
