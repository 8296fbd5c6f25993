//! A result that a harness stall may explain is inconclusive instead of failed, and names the stalled process.

use super::finding::Finding;
use super::words::moment;
use crate::index::{Fault, Index, Stall};
use hustings_record::words::duration;

/// Fails, or is inconclusive if there is a stall that may explain it.
pub(super) fn fail_unless_stalled<S>(finding: &mut Finding<S>, index: &Index<'_>, stall: Option<&Stall>, text: String) {
    match stall {
        Some(stall) => finding.inconclusive_by_stall(format!("{text}{}", did_not_run(index, stall))),
        None => finding.fail(text),
    }
}

/// What may be why a fault was not seen to take effect, as it is added to a text. None: nothing, or the fault was seen.
pub(super) fn kept_from_verification(index: &Index<'_>, fault: &Fault<'_>) -> Option<String> {
    let short = || {
        let kept = index.short_stalls_against_verification(fault)?;
        Some(format!("; its target or a server did not run for {} of that time and the T before", duration(kept)))
    };
    index.stall_against_verification(fault).map(|stall| did_not_run(index, stall)).or_else(short)
}

/// `; proxy-0 did not run for 3.00 s from +1.924 s`.
pub(super) fn did_not_run(index: &Index<'_>, stall: &Stall) -> String {
    format!("; {} did not run for {} from {}", stall.who, duration(stall.own), moment(index, stall.from))
}
