//! A result that a harness stall may explain is inconclusive instead of failed, and names the stalled process.

use super::finding::Finding;
use super::words::moment;
use crate::index::{Fault, Index, Stall};
use hustings_record::numbers::nanos;
use hustings_record::words::duration;
use hustings_record::{Nanos, ORDER_AT_MOST};

/// Fails, or is inconclusive if there is a stall that may explain it.
pub(super) fn fail_unless_stalled<S>(finding: &mut Finding<S>, index: &Index<'_>, stall: Option<&Stall>, text: String) {
    match stall {
        Some(stall) => finding.inconclusive_by_stall(format!("{text}{}", did_not_run(index, stall))),
        None => finding.fail(text),
    }
}

/// Inconclusive: the harness contradicts itself. If it stalled for long, a repetition without that may not.
pub(super) fn contradicts_itself<S>(finding: &mut Finding<S>, index: &Index<'_>, text: String) {
    if index.has_stalled() { finding.inconclusive_by_stall(text) } else { finding.inconclusive(text) }
}

/// What may be why a fault was not seen to take effect, as it is added to a text: its target may have lost what the fault was to take,
/// or may still have been busy with the fault before. An order to a candidate that got no answer at all is explained only by stalls
/// that took more than half of the wait: one with its effects, or all together. None: nothing, or the fault was seen.
pub(super) fn kept_from_verification(index: &Index<'_>, fault: &Fault<'_>) -> Option<String> {
    let unseen = fault.injected.as_ref().filter(|injected| !injected.verified)?;
    let waited = unseen.to.saturating_sub(fault.t);
    let is_unanswered = fault.kind.hits_candidates() && waited >= nanos(ORDER_AT_MOST);
    let takes_most = |stall: &Stall| {
        let over = stall.to.saturating_add(index.stall_effect()).min(unseen.to);
        2 * over.saturating_sub(stall.from.max(fault.t)) > waited
    };
    let explains = |stall: &Stall| !is_unanswered || takes_most(stall);
    if let Some(stall) = index.confounding_stall_where(&fault.met, (fault.t, unseen.to), explains) {
        return Some(did_not_run(index, stall));
    }
    let kept = index.not_running(&fault.met, (fault.t.saturating_sub(index.timeout_or_asked()), unseen.to));
    let text = || format!("; its target or a server did not run for {} of that time and the T before", duration(kept));
    (kept > index.stall_limit() && (!is_unanswered || 2 * kept > waited)).then(text)
}

/// A client that waits least for answers gives its connection up after T divided by this (kazoo, for the answer to its ping).
const GIVES_UP_PER_T: Nanos = 3;

/// What may have cost a client on this host its connection or its session at this moment, as it is added to a text: one long
/// stall, of its own process or of one that others depend on (such as the one that runs its links), or many short ones, also of
/// servers, that took half of the time after which a client may give up. None: nothing.
pub(crate) fn kept_from_contact(index: &Index<'_>, host: u16, at: Nanos) -> Option<String> {
    if let Some(stall) = index.confounding_stall(&[host], (at, at)) {
        return Some(did_not_run(index, stall));
    }
    let gives_up_after = index.timeout_or_asked() / GIVES_UP_PER_T;
    let kept = index.not_running(&[host], (at.saturating_sub(gives_up_after), at));
    let text = || {
        let (kept, before) = (duration(kept), duration(gives_up_after));
        format!("; its process, one that others depend on, or a server did not run for {kept} of the {before} before")
    };
    (2 * kept > gives_up_after).then(text)
}

/// `; proxy-0 did not run for 3.00 s from +1.924 s`.
pub(super) fn did_not_run(index: &Index<'_>, stall: &Stall) -> String {
    format!("; {} did not run for {} from {}", stall.who, duration(stall.own), moment(index, stall.from))
}
