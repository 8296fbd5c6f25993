//! What a reader is told of a cell, a check or the run: a verdict, or *unsafe, as expected*, which is a pass that must not
//! look like one.

use serde::Serialize;

use crate::summary::{CellSummary, CheckResult, Summary};
use crate::verdict::Verdict;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    Pass,
    Unsafe,
    Inconclusive,
    Fail,
}

impl State {
    pub(crate) fn of_cell(cell: &CellSummary) -> Self {
        Self::of(cell.verdict, cell.unsafe_as_expected)
    }

    pub(crate) fn of_check(check: &CheckResult) -> Self {
        Self::of(check.verdict, check.unsafe_as_expected)
    }

    /// A run without a single cell has shown nothing, whatever its verdict says.
    pub(crate) fn of_run(summary: &Summary) -> Self {
        if summary.cells.is_empty() {
            return Self::of(summary.verdict.merge(Verdict::Inconclusive), false);
        }
        Self::of(summary.verdict, summary.cells.iter().any(|cell| cell.unsafe_as_expected))
    }

    pub(crate) fn of(verdict: Verdict, unsafe_as_expected: bool) -> Self {
        match verdict {
            Verdict::Pass if unsafe_as_expected => Self::Unsafe,
            Verdict::Pass => Self::Pass,
            Verdict::Inconclusive => Self::Inconclusive,
            Verdict::Fail => Self::Fail,
        }
    }

    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Unsafe => "unsafe, as expected",
            Self::Inconclusive => "inconclusive",
            Self::Fail => "fail",
        }
    }

    /// Told apart by shape too, for those who do not see the colour.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Pass => "✓",
            Self::Unsafe => "▲",
            Self::Inconclusive => "?",
            Self::Fail => "✗",
        }
    }

    /// Class in the style sheet.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Unsafe => "unsafe",
            Self::Inconclusive => "inconclusive",
            Self::Fail => "fail",
        }
    }
}

/// A state as the templates want it.
#[derive(Serialize)]
pub(crate) struct Chip {
    #[serde(skip)]
    pub(crate) state: State,
    pub(crate) words: &'static str,
    pub(crate) sign: &'static str,
    pub(crate) class: &'static str,
}

impl From<State> for Chip {
    fn from(state: State) -> Self {
        Self { state, words: state.words(), sign: state.sign(), class: state.class() }
    }
}
