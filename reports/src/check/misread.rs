//! Stale writes that stalls of the harness's own may have made so. What waits in several sockets while the coordinator does not
//! run is read in any order, and a write that was sent before another's may come after it in the resource's order. A leader
//! whose process did not run believes for a moment on waking, like one that a fault has stopped.

use std::collections::BTreeSet;

use crate::index::{Index, Term, Work};
use crate::stats::spans::{Span, total, union, within};
use hustings_record::Nanos;

/// Numbers of the stale writes that were sent by the only leader before all of those that make them stale, and on whose way the
/// coordinator stood still for half of the time or more; and of those that are of a leader on waking from a stall.
pub(super) fn misread(index: &Index<'_>) -> BTreeSet<u64> {
    let stalls = index.lives.stalls.iter().filter(|stall| stall.host.is_none());
    let stalls = union(stalls.map(|stall| (stall.from, stall.to)).collect());
    let misread = |work: &Work, rival_sent: &Option<Nanos>| {
        is_misread(index, work, *rival_sent, &stalls) || is_on_waking(index, work)
    };
    index.writing.stale().filter(|(work, rival_sent)| misread(work, rival_sent)).map(|(work, _)| work.seq).collect()
}

/// Whether its writer's process stalled for longer than T/10, and went on less than T/5 before it came to the resource.
fn is_on_waking(index: &Index<'_>, work: &Work) -> bool {
    let timeout = index.timeout_or_asked();
    let mut stalls = index.lives.long_stalls(timeout / 10).filter(|stall| stall.host == Some(work.host));
    stalls.any(|stall| stall.from <= work.t && work.t <= stall.to + timeout / 5)
}

fn is_misread(index: &Index<'_>, work: &Work, rival_sent: Option<Nanos>, stalls: &[Span]) -> bool {
    let (Some(sent), Some(rival_sent)) = (work.sent, rival_sent) else { return false };
    let stalled = total(&within(stalls, (sent, work.t)));
    sent.saturating_add(index.epsilon) < rival_sent
        && stalled > 0
        && 2 * stalled >= work.t.saturating_sub(sent)
        && led_alone(index, work, sent)
}

/// Whether the sender certainly led by its token at `at`, and certainly nobody else in its group.
fn led_alone(index: &Index<'_>, work: &Work, at: Nanos) -> bool {
    let terms = || index.terms.of_group(work.group).iter().map(|&term| &index.terms.all[term]);
    let own = |term: &&Term<'_>| (term.incarnation(), term.czxid) == ((work.cand, work.session), work.czxid);
    let led = terms().filter(own).any(|term| term.definite().is_some_and(|c| c.0 <= at && at <= c.1));
    let mut others = terms().filter(|term| !own(term)).map(Term::possible);
    led && !others.any(|p| p.0 <= at.saturating_add(index.epsilon) && at <= p.1.saturating_add(index.epsilon))
}
