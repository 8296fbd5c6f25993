//! Stale writes that the harness's own stalls may explain. Writes that queue in several sockets during a stall of the
//! coordinator are read in any order. A write may then follow a rival's although it was sent first. A leader whose
//! process stalled believes for a moment on waking, like one that a fault stopped.

use std::collections::BTreeSet;

use crate::index::{Index, ResourceWrite, Term};
use crate::stats::spans::{Span, total, union, within};
use hustings_record::Nanos;

/// Numbers of two kinds of stale writes. Of the first, the only leader sent them before all those that make them stale,
/// and the coordinator stalled for at least half of their transit. The second are of a leader waking from a stall.
pub(super) fn misread(index: &Index<'_>) -> BTreeSet<u64> {
    let stalls = index.lives.stalls.iter().filter(|stall| stall.host.is_none());
    let stalls = union(stalls.map(|stall| (stall.from, stall.to)).collect());
    let misread = |work: &ResourceWrite, rival_sent: &Option<Nanos>| {
        is_misread(index, work, *rival_sent, &stalls) || is_on_waking(index, work)
    };
    index.writing.stale().filter(|(work, rival_sent)| misread(work, rival_sent)).map(|(work, _)| work.seq).collect()
}

/// Whether its writer's process stalled for longer than T/10, until at most T/5 before the write arrived.
fn is_on_waking(index: &Index<'_>, work: &ResourceWrite) -> bool {
    let timeout = index.timeout_or_asked();
    let mut stalls = index.lives.long_stalls(timeout / 10).filter(|stall| stall.host == Some(work.host));
    stalls.any(|stall| stall.from <= work.t && work.t <= stall.to + timeout / 5)
}

fn is_misread(index: &Index<'_>, work: &ResourceWrite, rival_sent: Option<Nanos>, stalls: &[Span]) -> bool {
    let (Some(sent), Some(rival_sent)) = (work.sent, rival_sent) else { return false };
    let stalled = total(&within(stalls, (sent, work.t)));
    sent.saturating_add(index.epsilon) < rival_sent
        && stalled > 0
        && 2 * stalled >= work.t.saturating_sub(sent)
        && led_alone(index, work, sent)
}

/// Whether the sender certainly led by its token at `at`, and certainly no other candidate of its group did.
fn led_alone(index: &Index<'_>, work: &ResourceWrite, at: Nanos) -> bool {
    let terms = || index.terms.of_group(work.group).iter().map(|&term| &index.terms.all[term]);
    let own = |term: &&Term<'_>| (term.incarnation(), term.czxid) == ((work.cand, work.session), work.czxid);
    let led = terms().filter(own).any(|term| term.definite().is_some_and(|c| c.0 <= at && at <= c.1));
    let mut others = terms().filter(|term| !own(term)).map(Term::possible);
    led && !others.any(|p| p.0 <= at.saturating_add(index.epsilon) && at <= p.1.saturating_add(index.epsilon))
}
