//! How many requests a wake-up may cause: what the recipe declares, and more for what meanwhile makes it look again.

use std::collections::BTreeSet;

use super::reach::connected;
use super::wakes::wakes;
use crate::index::{EDGE_NS, Fault, Index, Notice, Wakes, number};
use crate::stats::spans::Span;
use hustings_record::{LeadLoss, Nanos};

/// How many requests a notification may cause whose candidate settled at a time. None: not judged.
pub(crate) fn limit<'i, 'a>(
    index: &'i Index<'a>,
    promised: u64,
) -> impl Fn(&Notice<'_>, Nanos) -> Option<u64> + use<'i, 'a> {
    let wakes = wakes(index);
    move |notice, settled| asks_at_most(index, &wakes, notice, settled, promised)
}

/// Whether a fault or a stall kept the candidate, or the answers to it, waiting: what it knows may be too old then to act on.
fn held_up(index: &Index<'_>, cand: u32, host: u16, span: Span) -> bool {
    let mut stalls = index.lives.stalls.iter().filter(|stall| stall.host == Some(host) && stall.own > index.tick / 10);
    index.deafened_since(cand, span).is_some() || stalls.any(|stall| stall.from <= span.1 && span.0 <= stall.to)
}

/// Requests that one wake-up may cause: each other one that goes meanwhile may make it look once more. None: its connection was
/// lost meanwhile, or it was held up, and questions were put again.
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
    // What it had to ask for because its own znode was gone, or it was to go, was not caused by this.
    if !numbers_tell(index, group) || index.candidates.stands_anew(notice.cand, span) || left(index, notice.cand, span)
    {
        return None;
    }
    let gone = wakes.gone_in(group, (notice.t.saturating_sub(EDGE_NS), settled + EDGE_NS));
    // Some may have had their turn before anybody knew, and were hit.
    let hit = index.candidates.of_group(group).iter().copied().filter(|&cand| {
        let mut faults = index.faults.on_cand_in(cand, recently).filter(|_| cand != notice.cand);
        faults.any(|fault| fault.acts_in(recently))
    });
    let meanwhile: BTreeSet<u32> = gone.map(|lost| lost.cand).chain(hit).collect();
    // Owners that nobody else knew of, too.
    let intervals = index.intervals.within(group, (recently.0, settled)).filter(|interval| interval.session.is_some());
    let owners = intervals.filter(|interval| interval.span.1 <= settled).count();
    let meanwhile = meanwhile.len().max(owners).max(1) as u64;
    // One of them is what it was told of. And an answer that is older than T/3 is no ground to lead on: it asks again, once
    // more for a server that may lag.
    let again = (settled - notice.t) / (index.timeout_or_asked() / 3).max(1);
    Some(promised * meanwhile + (promised + 1) * again)
}

/// Whether the candidate left within `span`.
fn left(index: &Index<'_>, cand: u32, span: Span) -> bool {
    let departures = index.candidates.departures.get(&cand).into_iter().flatten();
    departures.into_iter().any(|left| span.0 <= left.t && left.t <= span.1)
}

/// Whether the numbers of a group's znodes tell who came first. Once the parent's counter has come to its end, every znode has
/// to be asked for its czxid.
fn numbers_tell(index: &Index<'_>, group: u32) -> bool {
    let stands = index.candidates.of_group(group).iter().filter_map(|cand| index.candidates.stands.get(cand)).flatten();
    let numbers = stands.filter_map(|stand| number(stand.node?));
    numbers.into_iter().all(|number| (0..i32::MAX).contains(&number))
}
