//! What a recipe's declaration comes to for one loss: how many had to be woken, given who stood and could be told.

use std::collections::BTreeSet;

use super::reach::{EDGE_NS, Reach, connected, is_deafened, reach};
use crate::index::{Fault, Index, Lost, Notice, Outcome, Place, number};
use crate::stats::spans::Span;
use hustings_record::{FanOut, LeadLoss, Nanos};

/// Least and most.
pub(super) struct Range {
    pub(super) least: u64,
    pub(super) most: u64,
}

/// How many the loss had to wake. `before`: the lead that its group had lost shortly before. None: nothing is promised.
pub(super) fn expected(index: &Index<'_>, before: Option<&Lost<'_>>, lost: &Lost<'_>) -> Option<Range> {
    let leader = index.info.leader_wakes()?;
    // Where the group was made anew all went at once and numbers began anew: what is told of a follower's name may be of another
    // znode.
    let anew = |fault: &Fault<'_>| fault.kind.facts().leads == LeadLoss::Anew;
    if lost.lead.is_none() && index.faults.of_group(lost.group).any(anew) {
        return None;
    }
    let at = when(lost);
    let (mut least, most) = match lost.lead {
        Some(_) => promised(index, (before, lost), leader, at),
        None => {
            let (mut least, mut most) = promised(index, (before, lost), index.info.declared?.follower_wakes, at);
            // With nobody before it, it was to lead next: others may have watched it for that.
            if is_head(index, lost, at) {
                let as_leader = promised(index, (before, lost), leader, at);
                (least, most) = (least.min(as_leader.0), most.max(as_leader.1));
            }
            (least, most)
        }
    };
    // A session's clock may have been restarted by a new leader of the ensemble.
    let expires = lost.gone.1 - lost.gone.0 > index.tick;
    let most = most + of_a_namesake(index, lost);
    if !lost.certain
        || is_cut_short(index, lost, at)
        || lost.lead.is_none() && expires && index.faults.on_servers().next().is_some()
    {
        least = 0;
    }
    Some(Range { least, most })
}

/// Whether another lead of the same name came and went before everybody can have been told of this one, and was no loss to a
/// fault that is proven: its owner never led, or went by itself.
fn is_cut_short(index: &Index<'_>, lost: &Lost<'_>, at: Span) -> bool {
    let Some(place) = lost.lead else { return false };
    let (loss, later) = (&index.losses.all[place], &index.losses.all[place + 1..]);
    let mut of_group = later.iter().take_while(|next| next.group == loss.group);
    let next = of_group.find(|next| next.outcome != Outcome::Survived);
    loss.until < at.1 + EDGE_NS && next.is_none_or(|next| next.effect > loss.until)
}

/// How many were told of another znode of the same name that had gone before: they could not be told then, or it went just now.
fn of_a_namesake(index: &Index<'_>, lost: &Lost<'_>) -> u64 {
    let Some(before) = index.namesakes.before(lost.group, lost.node, lost.czxid) else { return 0 };
    let reigns = index.reigns.of_group(lost.group).iter();
    let owned = reigns.filter(|reign| reign.czxid.is_some_and(|czxid| before.0 <= czxid && czxid < lost.czxid));
    let gone = owned.map(|reign| reign.span.1).max();
    let untold = |notice: &Notice<'_>, gone: Nanos| {
        let soon = (gone.saturating_sub(EDGE_NS), notice.t);
        notice.t <= gone + EDGE_NS && !index.notices.told_between(notice.cand, soon)
    };
    let late = |notice: &&Notice<'_>| {
        gone.is_some_and(|gone| untold(notice, gone)) || is_deafened(index, notice.cand, (before.1, lost.gone.0))
    };
    lost.told.iter().filter(late).count() as u64
}

/// Whether the candidate was told of the loss before only after that, if at all: its watch was not armed again by then.
fn is_yet_to_hear(index: &Index<'_>, before: &Lost<'_>, cand: u32, at: Nanos) -> bool {
    let stood_before = index.candidates.standing(cand, at).is_some_and(|stand| stand.from <= before.gone.1);
    stood_before && before.cand != cand && !before.told.iter().any(|notice| notice.cand == cand && notice.t < at)
}

/// When the znode went. Whoever is told first is told soon after, unless everybody who could be was held up.
fn when(lost: &Lost<'_>) -> Span {
    let (from, by) = lost.gone;
    match lost.first().filter(|first| (from..=by).contains(first)) {
        Some(first) => (from.max(first.saturating_sub(EDGE_NS)), first),
        None => lost.gone,
    }
}

/// Whether nobody stood before this one for certain.
fn is_head(index: &Index<'_>, lost: &Lost<'_>, at: Span) -> bool {
    !index.places.there(lost.group, at).any(|place| place.czxid < lost.czxid)
}

/// Least and most others that a declaration wakes at `at`, given who stood and could be told.
fn promised(
    index: &Index<'_>,
    (before, lost): (Option<&Lost<'_>>, &Lost<'_>),
    promise: FanOut,
    at: Span,
) -> (u64, u64) {
    let untold = |cand: u32| before.is_some_and(|before| is_yet_to_hear(index, before, cand, at.1));
    match promise {
        FanOut::None => (0, 0),
        FanOut::AllOthers => {
            let others = index.candidates.of_group(lost.group).iter().copied().filter(|&cand| cand != lost.cand);
            others.fold((0, 0), |(least, most), cand| match reach(index, lost, cand, at) {
                Reach::Certain if !untold(cand) => (least + 1, most + 1),
                Reach::Certain | Reach::Possible => (least, most + 1),
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
            (unsure, maybe) = (Some(place), maybe + 1);
            continue;
        }
        let reach = reach(index, lost, place.cand, at);
        // One that was woken late, or cut off, may keep its watch for longer than its znode.
        if !place.is_there(at) {
            maybe += u64::from(!matches!(reach, Reach::None));
            unsure = Some(place);
            continue;
        }
        return match (unsure, reach) {
            (None, Reach::Possible) => (0, 1),
            (_, Reach::None) => (0, maybe),
            // Between the two may be one that nobody ever heard of.
            (None, Reach::Certain)
                if index.create_may_be_lost(lost.group, at.1) && leaves_a_gap(index, lost, place) =>
            {
                (0, maybe + 1)
            }
            (None, Reach::Certain) => (1, 1),
            // It watches the one before it, until it has looked again.
            (Some(before), _) if !looked_since(index, place, (before.there_until, at.1)) => (0, maybe),
            (Some(_), _) => (0, maybe + 1),
        };
    }
    (0, maybe)
}

/// Whether numbers between the lost znode's and this one's are nobody's that is known. At the end of the counter they do not go up,
/// and tell nothing.
fn leaves_a_gap(index: &Index<'_>, lost: &Lost<'_>, place: &Place<'_>) -> bool {
    let (Some(first), Some(last)) = (number(lost.node), number(place.node)) else { return false };
    if last <= first || last == i32::MAX {
        return true;
    }
    let between = |other: &&Place<'_>| {
        let numbered = number(other.node).is_some_and(|number| first < number && number < last);
        numbered && lost.czxid < other.czxid && other.czxid < place.czxid
    };
    let known: BTreeSet<&str> =
        index.places.of_group(lost.group).iter().filter(between).map(|other| other.node).collect();
    (known.len() as i64) < i64::from(last) - i64::from(first) - 1
}

/// Whether the candidate may have looked at the queue within `span`: it joined, was told something, or came back.
fn looked_since(index: &Index<'_>, place: &Place<'_>, span: Span) -> bool {
    place.from >= span.0
        || index.notices.busy(place.cand, place.from, span.0)
        || index.notices.told_between(place.cand, span)
        || !connected(index, place.session, span)
}
