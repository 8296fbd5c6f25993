//! What a stall of the harness may have brought about is no failure: it is inconclusive, and names who did not run.

use super::finding::Finding;
use super::words::moment;
use crate::index::{Index, Stall};
use hustings_record::words::duration;

/// Fails, unless there is a stall that it may have come of.
pub(super) fn fail_unless_stalled<S>(finding: &mut Finding<S>, index: &Index<'_>, stall: Option<&Stall>, text: String) {
    match stall {
        Some(stall) => finding.inconclusive_by_stall(format!("{text}{}", did_not_run(index, stall))),
        None => finding.fail(text),
    }
}

/// `; proxy-0 did not run for 3.00 s from +1.924 s`.
pub(super) fn did_not_run(index: &Index<'_>, stall: &Stall) -> String {
    format!("; {} did not run for {} from {}", stall.who, duration(stall.own), moment(index, stall.from))
}
