//! The cases: each known bug of elections, with the fixed schedule that shows it and the findings that must catch it. A
//! check that lets one through is itself wrong.
//!
//! Every bug here was seen in the field, or is of a kind that was. A bug that sessions hide from recipes is shown in
//! another way. An ended session never returns here. So a process that is killed and comes back shows the bug of
//! carrying a znode's name from one session to the next.

pub use hustings_record::FindingKind;
use hustings_record::StepDown;

use crate::model::Bugs;
use crate::recipes::kind::RecipeKind;
use crate::schedule::{Action, ScheduledRequest, Step, StepTrigger};

/// A bug, how to show it, and the findings that must catch it. One group, one host per candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case {
    /// The recipe's name without `broken:`; names of server bugs begin with `server-`.
    pub name: &'static str,
    pub recipe: RecipeKind,
    /// The recipe that does not show the bug on the same schedule and servers. `None`: no recipe can avoid it, and the
    /// same one does not show it on servers without the bug.
    pub sound: Option<RecipeKind>,
    /// The bug, in one line.
    pub wrong: &'static str,
    /// Where the bug, or one like it, was seen.
    pub seen_in: &'static str,
    pub schedule: &'static [Step],
    /// All of these findings must occur. More may.
    pub caught: &'static [FindingKind],
    pub candidates: u32,
    pub servers: u32,
    pub timeout_ms: u64,
    pub tick_ms: u64,
    pub step_down: StepDown,
    /// Bugs that are switched on in the servers.
    pub bugs: Bugs,
    /// How long the run continues after the schedule.
    pub run_ms: u64,
}

impl Case {
    /// A case of a recipe with the defaults: three candidates on three servers, T = 2 s.
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

/// Three candidates resign in turn, twice each: for bugs that affect one lead in five.
pub(super) const ROTATION: [Step; 6] = {
    let mut steps = [at(0, Action::Resign(0)); 6];
    let mut i = 0_u32;
    while (i as usize) < steps.len() {
        steps[i as usize] = at(1_000 + 7_000 * i as u64, Action::Resign(i % 3));
        i += 1;
    }
    steps
};

/// A step this long after all candidates have joined.
pub(super) const fn at(ms: u64, action: Action) -> Step {
    Step { when: StepTrigger::At(ms), action }
}

/// A step at a candidate's `nth` request of a kind from its start.
pub(super) const fn sent(cand: u32, kind: ScheduledRequest, part: &'static str, nth: u32, action: Action) -> Step {
    Step { when: StepTrigger::Sent { cand, kind, part, nth, after_ms: None }, action }
}

/// A step at a candidate's first request of a kind, this long after all candidates have joined.
pub(super) const fn sent_after(
    after_ms: u64,
    cand: u32,
    kind: ScheduledRequest,
    part: &'static str,
    action: Action,
) -> Step {
    Step { when: StepTrigger::Sent { cand, kind, part, nth: 1, after_ms: Some(after_ms) }, action }
}
