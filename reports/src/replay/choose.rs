//! Which groups of a cell are worth a replay: the first whose leader is lost to a verified fault and followed by another, where
//! the leader's process ends before all others; and the first in which a follower with others around it is lost, and nobody's
//! lead changes.

use super::members::ReplayMembers;
use super::model::{Replay, ReplayEvent, ReplayStep, WalkThrough, WalkThroughKind};
use super::queue::Queue;
use super::steps::{step_of_notification, steps};
use crate::index::{Fault, Index, Loss, QueuePlace};
use hustings_record::{FanOut, FaultKind, Nanos, ProcessFate, WatchEvent};

/// How well a fault shows what dies: the process itself, its session, or only its lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LossKind {
    Process,
    Session,
    Lead,
}

fn death(kind: FaultKind) -> LossKind {
    match (kind.facts().process, kind.facts().lets_sessions_expire) {
        (ProcessFate::Ended, _) => LossKind::Process,
        (_, true) => LossKind::Session,
        (_, false) => LossKind::Lead,
    }
}

/// A leader that was lost, and who followed.
#[derive(Clone, Copy)]
struct LeaderLoss {
    group: u32,
    fault: u32,
    loser: u32,
    successor: u32,
    /// When the next one led for certain.
    led: Nanos,
    death: LossKind,
}

/// A follower that was lost, who was told, and whom that one watches next.
#[derive(Clone, Copy)]
struct FollowerLoss {
    group: u32,
    fault: u32,
    lost: u32,
    before: u32,
    after: u32,
    death: LossKind,
}

/// The replays of a cell, each with what it shows best.
pub(super) fn replays(index: &Index<'_>) -> Vec<(LossKind, WalkThroughKind, Replay)> {
    let (leader_loss, gap) = (leader_loss(index), gap(index));
    let mut replays = Vec::new();
    if let Some(leader_loss) = leader_loss {
        let gap = gap.filter(|gap| gap.group == leader_loss.group);
        replays.extend(
            replay(index, leader_loss.group, Some(leader_loss), gap)
                .map(|one| (leader_loss.death, WalkThroughKind::LeaderDies, one)),
        );
    }
    if let Some(gap) = gap.filter(|gap| leader_loss.is_none_or(|leader_loss| leader_loss.group != gap.group)) {
        replays
            .extend(replay(index, gap.group, None, Some(gap)).map(|one| (gap.death, WalkThroughKind::MiddleDies, one)));
    }
    replays
}

fn leader_loss(index: &Index<'_>) -> Option<LeaderLoss> {
    let of = |(loss, successor): (&Loss, usize)| {
        let (fault, term, next) =
            (&index.faults.all[loss.fault], &index.terms.all[loss.term], &index.terms.all[successor]);
        let (loser, successor) = (term.cand, next.cand);
        let (led, death) = (next.granted?, death(fault.kind));
        (loser != successor)
            .then_some((loss.effect, LeaderLoss { group: loss.group, fault: fault.id, loser, successor, led, death }))
    };
    let leader_losses = index.losses.completed().filter_map(of);
    leader_losses
        .min_by_key(|(effect, leader_loss)| (leader_loss.death, *effect, leader_loss.group))
        .map(|(_, leader_loss)| leader_loss)
}

fn gap(index: &Index<'_>) -> Option<FollowerLoss> {
    // Where the loss of a follower wakes nobody it leaves no trace.
    if index.info.declared.is_none_or(|declared| declared.follower_wakes != FanOut::One) {
        return None;
    }
    let faults = index.faults.all.iter().filter(|fault| fault.verified() && !fault.kind.hits_servers());
    let gaps =
        faults.filter_map(|fault| Some((fault.t, fault.cands.iter().find_map(|&cand| gap_of(index, fault, cand))?)));
    gaps.min_by_key(|(t, gap)| (gap.death, *t, gap.group)).map(|(_, gap)| gap)
}

/// The gap that this fault tore where the candidate stood, if others stood before and behind it and no lead changed meanwhile.
fn gap_of(index: &Index<'_>, fault: &Fault<'_>, cand: u32) -> Option<FollowerLoss> {
    let group = index.candidates.all.get(&cand)?.group;
    let at = (fault.t, fault.t);
    let there: Vec<&QueuePlace<'_>> = index.places.of_group(group).iter().filter(|place| place.is_there(at)).collect();
    let own = there.iter().position(|place| place.cand == cand)?;
    let (before, lost, after) = (there.get(own.checked_sub(1)?)?, there[own], there.get(own + 1)?);
    let told = index.notices.of_group(group).iter();
    let mut told = told.filter(|n| n.kind == WatchEvent::Deleted && n.node == lost.node && n.t >= fault.t);
    let notice = told.find(|notice| notice.cand == after.cand)?;
    let settled = index.notices.handled(notice)?.t;
    let terms = index.terms.of_group(group).iter().map(|&term| &index.terms.all[term]);
    let mut moved = terms.filter(|term| {
        let within = |t: Nanos| fault.t <= t && t <= settled;
        within(term.grant) || within(term.ended.0)
    });
    let stays = moved.next().is_none()
        && settled < index.observed_until()
        && !fault.hits(before.cand)
        && !fault.hits(after.cand);
    let gap = FollowerLoss {
        group,
        fault: fault.id,
        lost: cand,
        before: before.cand,
        after: after.cand,
        death: death(fault.kind),
    };
    stays.then_some(gap)
}

fn replay(index: &Index<'_>, group: u32, leader_loss: Option<LeaderLoss>, gap: Option<FollowerLoss>) -> Option<Replay> {
    let queue = Queue::new(index, group);
    let of_loss = leader_loss.into_iter().flat_map(|leader_loss| [leader_loss.loser, leader_loss.successor]);
    let about: Vec<u32> = of_loss.chain(gap.into_iter().flat_map(|gap| [gap.lost, gap.after, gap.before])).collect();
    let cast = ReplayMembers::new(index, group, &queue, &about);
    let (from, steps, left_out) = steps(index, group, &queue, &cast);
    let mut walks: Vec<WalkThrough> = join_and_elect(&steps).into_iter().collect();
    walks.extend(leader_loss.and_then(|leader_loss| leader_dies(&steps, &cast, &leader_loss, from)));
    walks.extend(gap.and_then(|gap| middle_dies(&steps, &cast, &gap)));
    let told = |walk: &WalkThrough| walk.kind != WalkThroughKind::JoinAndElect;
    let (cell, group) = (index.info.index, index.group_name(group));
    let (cast, others) = (cast.members, cast.others);
    walks.iter().any(told).then_some(Replay { cell, group, from, cast, others, steps, left_out, walks })
}

fn fault_at(steps: &[ReplayStep], fault: u32) -> Option<usize> {
    steps.iter().position(|step| matches!(&step.what, ReplayEvent::Fault { id, .. } if *id == fault))
}

/// Until the first fault.
fn join_and_elect(steps: &[ReplayStep]) -> Option<WalkThrough> {
    let fault = steps.iter().position(|step| matches!(step.what, ReplayEvent::Fault { .. })).unwrap_or(steps.len());
    let to = fault.checked_sub(1)?;
    let elected = steps[..fault].iter().any(|step| matches!(step.what, ReplayEvent::Leads { .. }));
    elected.then_some(WalkThrough { kind: WalkThroughKind::JoinAndElect, from: 0, to })
}

/// From the fault to the first write of the next leader, and until those who were woken wait again.
fn leader_dies(
    steps: &[ReplayStep],
    cast: &ReplayMembers,
    leader_loss: &LeaderLoss,
    origin: Nanos,
) -> Option<WalkThrough> {
    let from = fault_at(steps, leader_loss.fault)?;
    let next = cast.place(leader_loss.successor)?;
    let led = steps.iter().position(|step| {
        step.at + origin >= leader_loss.led && matches!(step.what, ReplayEvent::Leads { who, .. } if who == next)
    })?;
    let after = steps.iter().enumerate().skip(led);
    let over = |step: &ReplayStep| matches!(step.what, ReplayEvent::Yields { .. } | ReplayEvent::Fault { .. });
    let mut until = after.take_while(|(_, step)| !over(step));
    let wrote = |step: &ReplayStep| matches!(step.what, ReplayEvent::Wrote { who, refused: false } if who == next);
    let mut to = until.find(|(_, step)| wrote(step)).map_or(led, |(place, _)| place);
    while steps
        .get(to + 1)
        .is_some_and(|step| matches!(step.what, ReplayEvent::Waits { .. } | ReplayEvent::Owns { .. }))
    {
        to += 1;
    }
    (from < to).then_some(WalkThrough { kind: WalkThroughKind::LeaderDies, from, to })
}

/// From the fault until the one behind the gap waits again.
fn middle_dies(steps: &[ReplayStep], cast: &ReplayMembers, gap: &FollowerLoss) -> Option<WalkThrough> {
    let from = fault_at(steps, gap.fault)?;
    let (lost, after) = (cast.place(gap.lost)?, cast.place(gap.after)?);
    let told = step_of_notification(steps, from, lost)?;
    let waits = |step: &ReplayStep| matches!(step.what, ReplayEvent::Waits { who, .. } if who == after);
    let to = told + steps[told..].iter().position(waits)?;
    Some(WalkThrough { kind: WalkThroughKind::MiddleDies, from, to })
}
