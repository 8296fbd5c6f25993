//! Patterns that random steps alone rarely produce: faults that last or coincide. Some schedules have one in addition.

use hustings_record::Direction;
use hustings_record::numbers::to_usize;
use rand::RngExt as _;
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use rand_chacha::ChaCha8Rng;

use crate::scenario::Cell;
use crate::schedule::{Action, LEADER, SERVER_LEADER, ScheduledRequest, ServerOutageKind, Step, StepTrigger};

/// Percentage of schedules with each of the patterns.
const PERCENT: u32 = 10;
/// Links are slowed by less than T divided by this. A client then still gets a session before it gives up, and an
/// action of five requests does not fail because of the link.
pub(super) const SLOWEST_PER_T: u64 = 45;
/// Number of writes of each candidate whose answers a lossy network loses.
const LOST_WRITES: u32 = 16;
const ROUNDS: u64 = 14;
/// A pattern begins within this many session timeouts.
const BEGIN_T: u64 = 2;

const WRITES: [ScheduledRequest; 3] = [ScheduledRequest::Create, ScheduledRequest::Set, ScheduledRequest::Delete];
const READS: [ScheduledRequest; 3] = [ScheduledRequest::Children, ScheduledRequest::Exists, ScheduledRequest::Get];

/// The steps of one of the patterns, or none.
pub(super) fn pattern(cell: &Cell, rng: &mut ChaCha8Rng) -> Vec<Step> {
    let t_ms = cell.timeout_granted_ms();
    let begin_ms = rng.random_range(0..BEGIN_T * t_ms);
    let mut cands: Vec<u32> = (0..u32::try_from(cell.candidates()).unwrap_or(u32::MAX)).collect();
    cands.shuffle(rng);
    match (rng.random_range(0..100) / PERCENT, &cands[..]) {
        (0, all) => lossy(all, begin_ms, rng),
        (1, all @ [_, _, ..]) => vanishing(all, begin_ms, t_ms, rng),
        (2, all @ [_, _, _, ..]) => far_away(all, begin_ms, t_ms, rng),
        (3, all) => taking_leadership(all, begin_ms, t_ms, rng),
        (4, _) => harmed_in_turn(cell, begin_ms, rng),
        _ => Vec::new(),
    }
}

/// A network that loses the answer to every second write of one kind, from all these candidates, for a long time.
fn lossy(cands: &[u32], begin_ms: u64, rng: &mut ChaCha8Rng) -> Vec<Step> {
    let kind = WRITES.choose(rng).copied().unwrap_or(ScheduledRequest::Set);
    let after_ms = rng.random_bool(0.5).then_some(begin_ms);
    let each = cands.iter().flat_map(|&cand| (1..2 * LOST_WRITES).step_by(2).map(move |nth| (cand, nth)));
    let lost = each.map(|(cand, nth)| {
        let when = StepTrigger::Sent { cand, kind, part: "", nth, after_ms };
        Step { when, action: Action::LoseReply }
    });
    lost.collect()
}

/// Repeatedly, one candidate has to look again, and while its request is in flight another one gives up its place.
/// Either two take turns, or one looks and all others go.
fn vanishing(cands: &[u32], begin_ms: u64, t_ms: u64, rng: &mut ChaCha8Rng) -> Vec<Step> {
    let in_turn = rng.random_bool(0.5);
    let (first, others) = (cands[0], &cands[1..]);
    let kind = READS.choose(rng).copied().unwrap_or(ScheduledRequest::Get);
    let round_ms = rng.random_range(t_ms / 4..t_ms);
    let late_ms = rng.random_range(1..t_ms / 10);
    let round = |round: u64| {
        let at_ms = begin_ms + round * round_ms;
        let other = if in_turn { others[0] } else { others[to_usize(round) % others.len()] };
        let (looks, goes) = if in_turn && round % 2 == 1 { (other, first) } else { (first, other) };
        let asked = StepTrigger::Sent { cand: looks, kind, part: "", nth: 1, after_ms: Some(at_ms) };
        [
            Step { when: StepTrigger::At(at_ms), action: Action::Disconnect(looks) },
            Step { when: asked, action: Action::DelayRequest(late_ms) },
            Step { when: asked, action: Action::Resign(goes) },
        ]
    };
    (0..ROUNDS).flat_map(round).collect()
}

/// All candidates are equally far from the servers. One is lost for good while two others look again in turn.
fn far_away(cands: &[u32], begin_ms: u64, t_ms: u64, rng: &mut ChaCha8Rng) -> Vec<Step> {
    let by_ms = rng.random_range(t_ms / 50..t_ms / SLOWEST_PER_T);
    let kind = READS.choose(rng).copied().unwrap_or(ScheduledRequest::Get);
    let far = cands.iter().map(|&cand| Step { when: StepTrigger::At(begin_ms), action: Action::Slow { cand, by_ms } });
    let (lost, first, second) = (cands[0], cands[1], cands[2]);
    let at_ms = begin_ms + t_ms / 2;
    let behind_ms = rng.random_range(0..6 * by_ms);
    let asked = StepTrigger::Sent { cand: first, kind, part: "", nth: 1, after_ms: Some(at_ms) };
    let then = [
        Step { when: StepTrigger::At(at_ms), action: Action::Crash { cand: lost, for_ms: None } },
        Step { when: StepTrigger::At(at_ms), action: Action::Disconnect(first) },
        Step { when: StepTrigger::At(at_ms + behind_ms), action: Action::Disconnect(second) },
        Step { when: asked, action: Action::Expire(lost) },
    ];
    far.chain(then).collect()
}

/// Repeatedly the leader goes, and the next one is hit before an answer arrives. The hit follows a read that it needs
/// before it leads, or a write of its name.
fn taking_leadership(cands: &[u32], begin_ms: u64, t_ms: u64, rng: &mut ChaCha8Rng) -> Vec<Step> {
    let mut steps = Vec::new();
    for round in 0..ROUNDS / 4 {
        let at_ms = begin_ms + round * 2 * t_ms;
        let goes = if rng.random_bool(0.6) { Action::Resign(LEADER) } else { Action::Expire(LEADER) };
        steps.push(Step { when: StepTrigger::At(at_ms), action: goes });
        let kind = [ScheduledRequest::Get, ScheduledRequest::Set, ScheduledRequest::Create]
            .choose(rng)
            .copied()
            .unwrap_or(ScheduledRequest::Get);
        for &cand in cands {
            if rng.random_bool(0.4) {
                continue;
            }
            let for_ms = lasting_ms(t_ms, rng);
            let action = match rng.random_range(0..6) {
                0..=2 => Action::Pause { cand, for_ms },
                3 => Action::Expire(cand),
                4 => Action::Partition { cand, way: Direction::Both, for_ms },
                _ => Action::Crash { cand, for_ms: Some(for_ms) },
            };
            let when = StepTrigger::Sent { cand, kind, part: "", nth: 1, after_ms: Some(at_ms) };
            steps.push(Step { when, action });
        }
    }
    steps
}

/// One server after the other is under a fault, while leaders come and go.
fn harmed_in_turn(cell: &Cell, begin_ms: u64, rng: &mut ChaCha8Rng) -> Vec<Step> {
    let t_ms = cell.timeout_granted_ms();
    let mut steps = Vec::new();
    for round in 0..rng.random_range(2..=4) {
        let at_ms = begin_ms + round * 2 * t_ms;
        steps
            .push(Step { when: StepTrigger::At(at_ms), action: server_fault_action(cell, lasting_ms(t_ms, rng), rng) });
        let goes = match rng.random_range(0..3) {
            0 => Action::Resign(LEADER),
            1 => Action::Crash { cand: LEADER, for_ms: Some(lasting_ms(t_ms, rng)) },
            _ => Action::Disconnect(LEADER),
        };
        steps.push(Step { when: StepTrigger::At(at_ms + rng.random_range(0..t_ms)), action: goes });
    }
    steps
}

/// From a short interruption to longer than any timeout.
pub(super) fn lasting_ms(t_ms: u64, rng: &mut ChaCha8Rng) -> u64 {
    rng.random_range(t_ms / 20..t_ms * 5 / 2)
}

/// A fault on the servers.
pub(super) fn server_fault_action(cell: &Cell, for_ms: u64, rng: &mut ChaCha8Rng) -> Action {
    let id = if rng.random_bool(0.5) { SERVER_LEADER } else { rng.random_range(1..=cell.servers) };
    match rng.random_range(0..8) {
        0..=2 => Action::Server { id, outage: ServerOutageKind::Kill, for_ms },
        3..=4 => Action::Server { id, outage: ServerOutageKind::Pause, for_ms },
        5..=6 => Action::Server { id, outage: ServerOutageKind::Part, for_ms },
        _ => Action::RestartServers { gap_ms: rng.random_range(0..cell.timeout_granted_ms() / 4) },
    }
}
