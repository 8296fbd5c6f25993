//! A recipe's declaration applied to one loss: how many candidates had to be woken, given those enrolled and reachable.

use std::collections::BTreeSet;

use super::notification_certainty::{NotificationCertainty, connected, reach};
use super::tolerance::{Tolerance, WaitStep};
use crate::index::{EDGE_NS, Fault, Index, LossOutcome, LossWakeUps, Notice, QueuePlace, Wakes, number};
use crate::stats::spans::Span;
use hustings_record::{FanOut, LeadLoss, Nanos};

/// Least and most, and why they differ.
#[derive(Default)]
pub(super) struct WakeRange {
    pub(super) least: u64,
    pub(super) most: u64,
    pub(super) doubts: Vec<&'static str>,
}

/// All wake-ups of the cell, given how long a notification takes in it.
pub(super) fn wakes<'a>(index: &Index<'a>) -> Wakes<'a> {
    Wakes::new(index, Tolerance::of(index).step(WaitStep::Notify, index.span))
}

/// How many candidates the loss had to wake. `before`: the group's previous loss of leadership. None: nothing is
/// promised.
pub(super) fn expected(
    index: &Index<'_>,
    before: Option<&LossWakeUps<'_>>,
    lost: &LossWakeUps<'_>,
) -> Option<WakeRange> {
    let leader = index.info.leader_wakes()?;
    // If the group was recreated, all znodes went at once and numbering restarted. A notification of a follower's name
    // may then concern another znode.
    let last = lost.told.iter().map(|notice| notice.t).fold(lost.gone.1, Nanos::max);
    let anew = |fault: &Fault<'_>| fault.kind.facts().leads == LeadLoss::Anew && fault.t <= last + EDGE_NS;
    if lost.by_fault.is_none() && index.faults.of_group(lost.group).any(anew) {
        return None;
    }
    let at = when(lost);
    let mut range = if lost.led {
        promised(index, (before, lost), leader, at)
    } else {
        let mut range = promised(index, (before, lost), index.info.declared?.follower_wakes, at);
        // The head of the queue leads next: others may have watched it for that.
        if is_head(index, lost, at) {
            let as_leader = promised(index, (before, lost), leader, at);
            (range.least, range.most) = (range.least.min(as_leader.least), range.most.max(as_leader.most));
            range.doubts.push("others may have watched it as the next to lead");
        }
        range
    };
    // A session's clock may have been restarted by a new leader of the ensemble.
    let expires = lost.gone.1 - lost.gone.0 > index.tick;
    range.most += of_a_namesake(index, lost);
    let doubts = [
        (!lost.certain, "its znode is not known to have gone within the window"),
        (
            is_cut_short(index, lost, at),
            "another lead of the same name came and went, or the measured time was over, before everybody can have been told",
        ),
        (
            !lost.led && expires && index.faults.on_servers().next().is_some(),
            "servers may have restarted its session's clock",
        ),
    ];
    if let Some(doubt) = doubts.into_iter().find(|doubt| doubt.0) {
        range.least = 0;
        range.doubts.push(doubt.1);
    }
    Some(range)
}

/// Whether another ownership of the same name came and went before all notifications of this one can have arrived. No
/// verified fault ended it: its owner never led, or left by itself.
fn is_cut_short(index: &Index<'_>, lost: &LossWakeUps<'_>, at: Span) -> bool {
    if !lost.led {
        return false;
    }
    let (first, of_group) = index.losses.of_group(lost.group);
    let later = match lost.by_fault {
        Some(place) => place + 1 - first,
        None => of_group.partition_point(|loss| loss.effect <= lost.gone.0),
    };
    let next = of_group[later..].iter().find(|next| next.outcome != LossOutcome::Survived);
    lost.until < at.1 + EDGE_NS && next.is_none_or(|next| next.effect > lost.until)
}

/// Notifications of an earlier znode of the same name: their candidates could not be notified then, or it was deleted
/// just now.
fn of_a_namesake(index: &Index<'_>, lost: &LossWakeUps<'_>) -> u64 {
    let Some(before) = index.duplicate_names.before(lost.group, lost.node, lost.czxid) else { return 0 };
    let intervals = index.intervals.of_group(lost.group).iter();
    let owned =
        intervals.filter(|interval| interval.czxid.is_some_and(|czxid| before.0 <= czxid && czxid < lost.czxid));
    let gone = owned.map(|interval| interval.span.1).max();
    let untold = |notice: &Notice<'_>, gone: Nanos| {
        let soon = (gone.saturating_sub(EDGE_NS), notice.t);
        notice.t <= gone + EDGE_NS && !index.notices.notified_between(notice.cand, soon)
    };
    let late = |notice: &&Notice<'_>| {
        gone.is_some_and(|gone| untold(notice, gone))
            || index.deafened_since(notice.cand, (before.1, lost.gone.0)).is_some()
    };
    lost.told.iter().filter(late).count() as u64
}

/// Whether the candidate was not notified of the previous loss before `at`: its watch was not armed again by then.
fn is_not_yet_notified(index: &Index<'_>, before: &LossWakeUps<'_>, cand: u32, at: Nanos) -> bool {
    let enrolled_before = index.candidates.standing(cand, at).is_some_and(|stand| stand.from <= before.gone.1);
    enrolled_before && before.cand != cand && !before.told.iter().any(|notice| notice.cand == cand && notice.t < at)
}

/// When the znode was deleted. The first notification follows soon, unless all candidates that could receive it were
/// held up.
fn when(lost: &LossWakeUps<'_>) -> Span {
    let (from, by) = lost.gone;
    match lost.first().filter(|first| (from..=by).contains(first)) {
        Some(first) => (from.max(first.saturating_sub(EDGE_NS)), first),
        None => lost.gone,
    }
}

/// Whether no candidate was certainly ahead of this one.
fn is_head(index: &Index<'_>, lost: &LossWakeUps<'_>, at: Span) -> bool {
    !index.places.there(lost.group, at).any(|place| place.czxid < lost.czxid)
}

/// Other candidates that a declaration wakes at `at`, given those enrolled and reachable.
fn promised(
    index: &Index<'_>,
    (before, lost): (Option<&LossWakeUps<'_>>, &LossWakeUps<'_>),
    promise: FanOut,
    at: Span,
) -> WakeRange {
    let untold = |cand: u32| before.is_some_and(|before| is_not_yet_notified(index, before, cand, at.1));
    match promise {
        FanOut::None => WakeRange::default(),
        FanOut::AllOthers => {
            let mut range = WakeRange::default();
            for &cand in index.candidates.of_group(lost.group).iter().filter(|&&cand| cand != lost.cand) {
                let doubt = match reach(index, lost, cand, at) {
                    NotificationCertainty::None if is_notified_late(index, lost, cand) => {
                        Some("it enrolled after others had been told")
                    }
                    NotificationCertainty::None => continue,
                    NotificationCertainty::Certain => {
                        untold(cand).then_some("it was yet to be told of the loss before")
                    }
                    NotificationCertainty::Possible(doubt) => Some(doubt),
                };
                range.most += 1;
                range.least += u64::from(doubt.is_none());
                range.doubts.extend(doubt);
            }
            range
        }
        FanOut::One => next_in_line(index, lost, at, 1),
        FanOut::Two => next_in_line(index, lost, at, 2),
    }
}

/// Whether a candidate that enrolled after others were notified was notified too: by a server that was behind theirs, after
/// a loss without a fault on the leader.
fn is_notified_late(index: &Index<'_>, lost: &LossWakeUps<'_>, cand: u32) -> bool {
    let is_enrolled = |notice: &Notice<'_>| index.candidates.standing(cand, notice.t).is_some();
    lost.by_fault.is_none() && lost.told.iter().any(|notice| notice.cand == cand && is_enrolled(notice))
}

/// The queue is in czxid order; the next `watchers` behind the lost znode watch it. An ended candidate's znode stays
/// for a while, and candidates behind it are not notified of changes ahead of it.
fn next_in_line(index: &Index<'_>, lost: &LossWakeUps<'_>, at: Span, watchers: usize) -> WakeRange {
    let places = index.places.of_group(lost.group);
    let behind = &places[places.partition_point(|place| place.czxid <= lost.czxid)..];
    let between = "znodes between may have gone";
    let (mut range, mut certain, mut unsure) = (WakeRange::default(), 0, None::<&QueuePlace<'_>>);
    for place in behind.iter().filter(|place| place.cand != lost.cand) {
        if place.gone_by.is_some_and(|by| by < at.0) {
            continue;
        }
        if place.from > at.1 {
            // Its znode existed before those behind it, but its owner did not know yet.
            (unsure, range.most) = (Some(place), range.most + 1);
            continue;
        }
        let reach = reach(index, lost, place.cand, at);
        // A candidate woken late, or cut off, may keep its watch longer than its znode.
        if !place.is_there(at) {
            range.most += u64::from(!matches!(reach, NotificationCertainty::None));
            unsure = Some(place);
            continue;
        }
        certain += 1;
        let (least, most, doubt) = match (unsure, reach) {
            (_, NotificationCertainty::None) => (0, 0, Some(between)),
            (None, NotificationCertainty::Possible(doubt)) => (0, 1, Some(doubt)),
            // An unknown znode may lie between the two.
            (None, NotificationCertainty::Certain)
                if index.unanswered_creates.possible(lost.group, (at.1, at.1)) && leaves_a_gap(index, lost, place) =>
            {
                (0, 1, Some("a znode of a create whose answer was lost may be between"))
            }
            (None, NotificationCertainty::Certain) => (1, 1, None),
            // It watches the znodes ahead of it until it looks again.
            (Some(before), _) if !looked_since(index, place, (before.there_until, at.1)) => (0, 0, Some(between)),
            (Some(_), _) => (0, 1, Some(between)),
        };
        (range.least, range.most) = (range.least + least, range.most + most);
        range.doubts.extend(doubt);
        if certain == watchers {
            break;
        }
    }
    if certain == 0 {
        range.doubts.push("nobody is known to have stood behind it for certain");
    }
    if range.least == range.most {
        range.doubts.clear();
    }
    range
}

/// Whether numbers between the two znodes belong to no known candidate. At the end of the counter they do not increase,
/// and give no information.
fn leaves_a_gap(index: &Index<'_>, lost: &LossWakeUps<'_>, place: &QueuePlace<'_>) -> bool {
    let (Some(first), Some(last)) = (number(lost.node), number(place.node)) else { return false };
    if last <= first || last == i32::MAX {
        return true;
    }
    let between = |other: &&QueuePlace<'_>| {
        let numbered = number(other.node).is_some_and(|number| first < number && number < last);
        numbered && lost.czxid < other.czxid && other.czxid < place.czxid
    };
    let known: BTreeSet<&str> =
        index.places.of_group(lost.group).iter().filter(between).map(|other| other.node).collect();
    (known.len() as i64) < i64::from(last) - i64::from(first) - 1
}

/// Whether the candidate may have looked at the queue within `span`: it joined, was notified, or reconnected.
fn looked_since(index: &Index<'_>, place: &QueuePlace<'_>, span: Span) -> bool {
    place.from >= span.0
        || index.notices.busy(place.cand, place.from, span.0)
        || index.notices.notified_between(place.cand, span)
        || !connected(index, place.session, span)
}
