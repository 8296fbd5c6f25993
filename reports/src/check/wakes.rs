//! What a recipe's declaration comes to for one loss and for one wake-up: how many had to be woken, given who stood and could be
//! told, and how many requests they may have sent.

use crate::index::{Fault, Index, Lost, Notice, Place, Wakes};
use crate::stats::spans::Span;
use hustings_record::{FanOut, FaultKind, LeadLoss, Nanos, ProcessFate};

/// What is written down of one moment by several writers may be so far apart.
const EDGE_NS: Nanos = 250_000_000;

/// Least and most.
pub(super) struct Range {
    pub(super) least: u64,
    pub(super) most: u64,
}

/// How many the loss had to wake. None: nothing is promised.
pub(super) fn expected(index: &Index<'_>, lost: &Lost<'_>) -> Option<Range> {
    let leader = index.info.leader_wakes()?;
    // Where the group was made anew all went at once and numbers began anew: what is told of a follower's name may be of another
    // znode.
    let anew = |fault: &Fault<'_>| fault.kind.facts().leads == LeadLoss::Anew;
    if lost.lead.is_none() && index.faults.of_group(lost.group).any(anew) {
        return None;
    }
    // Told at once, or at some time while it went.
    let at = lost.first().map_or(lost.gone, |t| (t, t));
    let (mut least, most) = match lost.lead {
        Some(_) => promised(index, lost, leader, at),
        None => {
            let (mut least, mut most) = promised(index, lost, index.info.declared?.follower_wakes, at);
            // With nobody before it, it was to lead next: others may have watched it for that.
            if is_head(index, lost, at) {
                let as_leader = promised(index, lost, leader, at);
                (least, most) = (least.min(as_leader.0), most.max(as_leader.1));
            }
            (least, most)
        }
    };
    // A session's clock may have been restarted by a new leader of the ensemble.
    let expires = lost.gone.1 - lost.gone.0 > index.tick;
    if !lost.certain || lost.lead.is_none() && expires && index.faults.on_servers().next().is_some() {
        least = 0;
    }
    Some(Range { least, most })
}

/// Whether nobody stood before this one for certain.
fn is_head(index: &Index<'_>, lost: &Lost<'_>, at: Span) -> bool {
    let places = index.places.of_group(lost.group).iter().take_while(|place| place.czxid < lost.czxid);
    !places.into_iter().any(|place| place.from <= at.0 && at.1 <= place.there_until)
}

/// Least and most others that a declaration wakes at `at`, given who stood and could be told.
fn promised(index: &Index<'_>, lost: &Lost<'_>, promise: FanOut, at: Span) -> (u64, u64) {
    match promise {
        FanOut::None => (0, 0),
        FanOut::AllOthers => {
            let others = index.candidates.of_group(lost.group).iter().copied().filter(|&cand| cand != lost.cand);
            others.fold((0, 0), |(least, most), cand| match reach(index, lost, cand, at) {
                Reach::Certain => (least + 1, most + 1),
                Reach::Possible => (least, most + 1),
                Reach::None => (least, most),
            })
        }
        FanOut::One => next_in_line(index, lost, at),
    }
}

/// The queue is in the order of czxid; whoever stands behind the lost znode watches it. Who died stands there still for a while,
/// and nobody behind it hears of what is before it.
fn next_in_line(index: &Index<'_>, lost: &Lost<'_>, at: Span) -> (u64, u64) {
    let places = index.places.of_group(lost.group);
    let behind = &places[places.partition_point(|place| place.czxid <= lost.czxid)..];
    let (mut unsure, mut maybe): (Option<&Place<'_>>, u64) = (None, 0);
    for place in behind.iter().filter(|place| place.cand != lost.cand) {
        if place.gone_by.is_some_and(|by| by < at.0) {
            continue;
        }
        if place.from > at.1 {
            // It was there before whoever stands behind it, but its owner did not know yet.
            (unsure, maybe) = (Some(place), 1);
            continue;
        }
        let reach = reach(index, lost, place.cand, at);
        if !stands_for_certain(place, at) {
            maybe = maybe.max(u64::from(!matches!(reach, Reach::None)));
            unsure = Some(place);
            continue;
        }
        return match (unsure, reach) {
            (None, Reach::Certain) => (1, 1),
            (None, Reach::Possible) => (0, 1),
            (_, Reach::None) => (0, maybe),
            // It watches the one before it, until it has looked again.
            (Some(before), _) if !looked_since(index, place, (before.there_until, at.1)) => (0, maybe),
            (Some(_), _) => (0, 1),
        };
    }
    (0, maybe)
}

/// Whether the candidate may have looked at the queue within `span`: it joined, was told something, or came back.
fn looked_since(index: &Index<'_>, place: &Place<'_>, span: Span) -> bool {
    place.from >= span.0
        || index.notices.busy(place.cand, place.from, span.0)
        || index.notices.told_between(place.cand, span)
        || !connected(index, place.session, span)
}

fn stands_for_certain(place: &Place<'_>, at: Span) -> bool {
    place.from <= at.0 && at.1 <= place.there_until
}

enum Reach {
    None,
    Possible,
    Certain,
}

/// Whether what happens at some time within `at` is told to this candidate.
fn reach(index: &Index<'_>, lost: &Lost<'_>, cand: u32, at: Span) -> Reach {
    let fault = lost.lead.map(|place| &index.faults.all[index.losses.all[place].fault]);
    let hit = fault.is_some_and(|fault| fault.hits(cand));
    if hit && fault.is_some_and(|fault| fault.kind.facts().process == ProcessFate::Ended) {
        return Reach::None;
    }
    let Some(candidate) = index.candidates.all.get(&cand) else { return Reach::None };
    let (first, last) = (index.candidates.standing(cand, at.0), index.candidates.standing(cand, at.1));
    let (stand, throughout) = match (first, last) {
        (None, None) => return Reach::None,
        (Some(first), Some(last)) => (first, first.from == last.from),
        (Some(stand), None) | (None, Some(stand)) => (stand, false),
    };
    let stopped = index.faults.stops_of(candidate.host).iter().any(|s| s.0 <= at.1 && at.0 <= s.1);
    let deaf = |f: &Fault<'_>| f.kind != FaultKind::Resign && f.acts_in(at);
    // Whoever dies in that moment may not have written down that it was told.
    let dies = |f: &Fault<'_>| {
        let ended = f.kind.facts().process == ProcessFate::Ended;
        ended && at.0 <= f.active.0 && f.active.0 <= at.1 + EDGE_NS
    };
    let hit = hit || index.faults.of_cand(cand).any(|fault| deaf(fault) || dies(fault));
    // While it does what it was told before, or is told something else, its watch may not be armed.
    let busy = |at: Nanos| index.notices.busy(cand, stand.from, at);
    // What it is told of another znode about then had kept it busy, or was still on its way.
    let other = index.notices.told_of_another(lost.group, cand, lost.node, (at.0, at.1 + EDGE_NS));
    let armed = !busy(at.0) && !busy(at.1) && !index.notices.told_between(cand, at) && !other;
    if hit || stopped || !throughout || !armed || !connected(index, stand.session, at) {
        return Reach::Possible;
    }
    Reach::Certain
}

/// Whether the client of this session had a connection all along, as far as it had noticed.
fn connected(index: &Index<'_>, session: i64, at: Span) -> bool {
    let states = index.candidates.states.get(&session).map_or(&[][..], Vec::as_slice);
    index.candidates.connected(session, at.0) && !states.iter().any(|state| at.0 < state.0 && state.0 <= at.1)
}

/// Whether a fault or a stall kept the candidate, or the answers to it, waiting: what it knows may be too old then to act on.
fn held_up(index: &Index<'_>, cand: u32, host: u16, span: Span) -> bool {
    let meets = |other: Span| other.0 <= span.1 && span.0 <= other.1;
    let mut stalls = index.lives.stalls.iter().filter(|stall| stall.host == Some(host) && stall.own > index.tick / 10);
    index.faults.stops_of(host).iter().any(|stop| meets(*stop))
        || index.faults.of_cand(cand).any(|fault| fault.kind.facts().deafens && meets(fault.active))
        || stalls.any(|stall| meets((stall.from, stall.to)))
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
    if held_up(index, notice.cand, candidate.host, span) {
        return None;
    }
    if !numbers_tell(index, group) {
        return None;
    }
    let losses = &wakes.losses[wakes.losses.partition_point(|lost| lost.group < group)..];
    let meanwhile = losses
        .iter()
        .take_while(|lost| lost.group == group)
        .filter(|lost| lost.gone.0.saturating_sub(EDGE_NS) <= settled && notice.t <= lost.gone.1 + EDGE_NS);
    // One of them is what it was told of.
    Some(promised * meanwhile.count().max(1) as u64)
}

/// Whether the numbers of a group's znodes tell who came first. Once the parent's counter has come to its end, every znode has
/// to be asked for its czxid.
fn numbers_tell(index: &Index<'_>, group: u32) -> bool {
    let stands = index.candidates.of_group(group).iter().filter_map(|cand| index.candidates.stands.get(cand)).flatten();
    let numbers = stands.filter_map(|stand| stand.node?.rsplit_once("-n_")?.1.parse::<i32>().ok());
    numbers.into_iter().all(|number| (0..i32::MAX).contains(&number))
}
