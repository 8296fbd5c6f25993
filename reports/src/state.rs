//! What a reader is told of a cell, a check or the run: a verdict, or *unsafe, as expected*, which is a pass that must not
//! look like one. That word is kept for what the scenario says must be unsafe: a race of milliseconds that it allows is none.

use serde::Serialize;

use crate::check::{Section as _, Testability};
use crate::summary::{CellSummary, CheckResult, SplitBrain, Summary, Writes};
use crate::verdict::Verdict;
use hustings_record::{CellInfo, Expectation, Nanos};

/// An overlap longer than this share of T is no race of who hears first.
const BRIEF_PART: u64 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    Pass,
    /// Of a check: it passed, and would have passed whatever had been altered in the record.
    Untestable,
    Unsafe,
    Inconclusive,
    Fail,
}

impl State {
    pub(crate) fn of_cell(cell: &CellSummary) -> Self {
        Self::of(cell.verdict, cell.unsafe_as_expected, &cell.info)
    }

    pub(crate) fn of_check(cell: &CellSummary, check: &CheckResult) -> Self {
        let expect = &cell.info.expect;
        let must = match check.name.as_str() {
            SplitBrain::NAME => expect.overlap == Expectation::Some,
            Writes::NAME => expect.stale_writes == Expectation::Some,
            _ => must_be_unsafe(&cell.info),
        };
        match (Self::told(check.verdict, check.unsafe_as_expected && must), &check.testability) {
            (Self::Pass, Some(Testability::NotTestableHere(_))) => Self::Untestable,
            (state, _) => state,
        }
    }

    /// Of a run with this overall verdict. A run without a single cell has shown nothing, whatever its verdict says.
    pub(crate) fn of_run(summary: &Summary, verdict: Verdict) -> Self {
        if summary.cells.is_empty() {
            return Self::told(verdict.merge(Verdict::Inconclusive), false);
        }
        // What a broken recipe of the self-test shows says nothing of the sound ones.
        let sound = summary.cells.iter().filter(|cell| !cell.info.self_test);
        Self::told(verdict, sound.map(Self::of_cell).any(|state| state == Self::Unsafe))
    }

    /// Of a cell, or of several repetitions of it, of whose verdict and sight of what is unsafe this is the word.
    pub(crate) fn of(verdict: Verdict, unsafe_seen: bool, info: &CellInfo) -> Self {
        Self::told(verdict, unsafe_seen && must_be_unsafe(info))
    }

    pub(crate) fn told(verdict: Verdict, unsafe_as_expected: bool) -> Self {
        match verdict {
            Verdict::Pass if unsafe_as_expected => Self::Unsafe,
            Verdict::Pass => Self::Pass,
            Verdict::Inconclusive => Self::Inconclusive,
            Verdict::Fail => Self::Fail,
        }
    }

    /// Whether a reader has to look at it.
    pub(crate) fn is_open_or_failed(self) -> bool {
        matches!(self, Self::Inconclusive | Self::Fail)
    }

    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Untestable => "not testable here",
            Self::Unsafe => "unsafe, as expected",
            Self::Inconclusive => "inconclusive",
            Self::Fail => "fail",
        }
    }

    /// Told apart by shape too, for those who do not see the colour.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Pass => "✓",
            Self::Untestable => "–",
            Self::Unsafe => "▲",
            Self::Inconclusive => "?",
            Self::Fail => "✗",
        }
    }

    /// Class in the style sheet.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Untestable => "untestable",
            Self::Unsafe => "unsafe",
            Self::Inconclusive => "inconclusive",
            Self::Fail => "fail",
        }
    }
}

/// Whether the scenario says that something unsafe must be seen here; broken recipes are there for that.
fn must_be_unsafe(info: &CellInfo) -> bool {
    info.self_test || [info.expect.overlap, info.expect.stale_writes].contains(&Expectation::Some)
}

/// Whether overlaps were seen, and none of them lasted longer than a race of who hears first may: T/10. How loudly they are shown
/// rests on that, and on whether they may be there at all.
pub(crate) fn overlaps_briefly(cell: &CellSummary) -> bool {
    let t: Nanos = cell.timeout_ms.unwrap_or(cell.info.timeout_asked_ms).saturating_mul(1_000_000);
    cell.split_brain.active.seen > 0 && cell.split_brain.active_max_ns <= t / BRIEF_PART
}

/// A state as the templates want it.
#[derive(Serialize)]
pub(crate) struct StateBadge {
    #[serde(skip)]
    pub(crate) state: State,
    pub(crate) words: &'static str,
    pub(crate) sign: &'static str,
    pub(crate) class: &'static str,
}

impl From<State> for StateBadge {
    fn from(state: State) -> Self {
        Self { state, words: state.words(), sign: state.sign(), class: state.class() }
    }
}
