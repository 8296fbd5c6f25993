//! Writes that nothing but the coordinator put where they are: what waits in several sockets while it does not run is read in any
//! order, and a write that was sent before another's may come after it in the resource's order.

use std::collections::BTreeSet;

use crate::index::{Index, Term, Work};
use crate::stats::spans::{Span, total, union, within};
use hustings_record::Nanos;

/// Numbers of the stale writes that were sent by the only leader before all of those that make them stale, and on whose way the
/// coordinator stood still for half of the time or more.
pub(super) fn misread(index: &Index<'_>) -> BTreeSet<u64> {
    let stalls = index.lives.stalls.iter().filter(|stall| stall.host.is_none());
    let stalls = union(stalls.map(|stall| (stall.from, stall.to)).collect());
    let stale = index.writing.all.iter().filter(|work| work.found.stale);
    stale.filter(|work| is_misread(index, work, &stalls)).map(|work| work.seq).collect()
}

fn is_misread(index: &Index<'_>, work: &Work, stalls: &[Span]) -> bool {
    let (Some(sent), Some(rival_sent)) = (work.sent, work.rival_sent) else { return false };
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
