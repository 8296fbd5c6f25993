//! Limit of requests per wake-up: the recipe's declaration, plus more for each event that makes the candidate look
//! again.

use std::collections::BTreeSet;

use super::notification_certainty::connected;
use super::wakes::wakes;
use crate::index::{EDGE_NS, Fault, Index, Notice, Wakes, number};
use crate::stats::spans::Span;
use hustings_record::{LeadLoss, Nanos};

/// Limit of requests for a notification whose candidate settled at a given time. None: not judged.
pub(crate) fn limit<'i, 'a>(
    index: &'i Index<'a>,
    promised: u64,
) -> impl Fn(&Notice<'_>, Nanos) -> Option<u64> + use<'i, 'a> {
    let wakes = wakes(index);
    move |notice, settled| asks_at_most(index, &wakes, notice, settled, promised)
}

/// Whether a fault or a stall delayed the candidate or its responses, so that its knowledge may be too old to act on.
fn held_up(index: &Index<'_>, cand: u32, host: u16, span: Span) -> bool {
    let mut stalls = index.lives.stalls.iter().filter(|stall| stall.host == Some(host) && stall.own > index.tick / 10);
    index.deafened_since(cand, span).is_some() || stalls.any(|stall| stall.from <= span.1 && span.0 <= stall.to)
}

/// Limit of requests for one wake-up: each other departure meanwhile may make the candidate look once more. None if it
/// lost its connection or was held up, since it then repeated its requests.
pub(super) fn asks_at_most(
    index: &Index<'_>,
    wakes: &Wakes<'_>,
    notice: &Notice<'_>,
    settled: Nanos,
    promised: u64,
) -> Option<u64> {
    if !connected(index, notice.session, (notice.t.saturating_sub(EDGE_NS), settled)) {
        return None;
    }
    let candidate = index.candidates.all.get(&notice.cand)?;
    let (group, span) = (candidate.group, (notice.t, settled));
    let recently = (span.0.saturating_sub(EDGE_NS), settled);
    if held_up(index, notice.cand, candidate.host, recently) {
        return None;
    }
    let anew = |fault: &Fault<'_>| fault.kind.facts().leads == LeadLoss::Anew && fault.acts_in(recently);
    if index.faults.on_group_in(group, recently).any(anew) {
        return None;
    }
    // Requests for the loss of its own znode, or for its departure, are not caused by this notification.
    if !numbers_give_order(index, group)
        || index.candidates.enrols_again(notice.cand, span)
        || left(index, notice.cand, span)
    {
        return None;
    }
    let gone = wakes.gone_in(group, (notice.t.saturating_sub(EDGE_NS), settled + EDGE_NS));
    // Candidates hit by a fault may have led before their loss was known.
    let hit = index.candidates.of_group(group).iter().copied().filter(|&cand| {
        let mut faults = index.faults.on_cand_in(cand, recently).filter(|_| cand != notice.cand);
        faults.any(|fault| fault.acts_in(recently))
    });
    let meanwhile: BTreeSet<u32> = gone.map(|lost| lost.cand).chain(hit).collect();
    // Owners that no other candidate knew of count too.
    let intervals = index.intervals.within(group, (recently.0, settled)).filter(|interval| interval.session.is_some());
    let owners = intervals.filter(|interval| interval.span.1 <= settled).count();
    let meanwhile = meanwhile.len().max(owners).max(1) as u64;
    // One of them is the loss it was notified of. An answer older than T/3 is no basis to lead: the candidate asks
    // again, with one request more for a server that may lag.
    let again = (settled - notice.t) / (index.timeout_or_asked() / 3).max(1);
    Some(promised * meanwhile + (promised + 1) * again)
}

/// Whether the candidate left within `span`.
fn left(index: &Index<'_>, cand: u32, span: Span) -> bool {
    let departures = index.candidates.departures.get(&cand).into_iter().flatten();
    departures.into_iter().any(|left| span.0 <= left.t && left.t <= span.1)
}

/// Whether the sequence numbers of a group's znodes give their order. Once the parent's counter has reached its end,
/// only the czxid of each znode does.
fn numbers_give_order(index: &Index<'_>, group: u32) -> bool {
    let stands = index.candidates.of_group(group).iter().filter_map(|cand| index.candidates.stands.get(cand)).flatten();
    let numbers = stands.filter_map(|stand| number(stand.node?));
    numbers.into_iter().all(|number| (0..i32::MAX).contains(&number))
}
