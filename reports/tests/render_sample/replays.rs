//! Replays with every kind of event.

use hustings_record::{Departure, FaultKind, RevokeReason, SessionEnd, SessionState, WatchEvent};
use hustings_reports::replay::{
    Replay, ReplayEvent, ReplayMember, ReplayStep, WalkThrough, WalkThroughKind, WatchedNode,
};

use super::build::MS;

fn replay(cell: u32, steps: Vec<(u64, ReplayEvent)>, walks: Vec<WalkThrough>) -> Replay {
    let steps = steps.into_iter().map(|(at, what)| ReplayStep { at: at * MS, what }).collect();
    let cast = (0..3).map(|host| ReplayMember { candidate: 30 + u32::from(host), host }).collect();
    Replay { cell, group: "election-0003".into(), from: 5_000 * MS, cast, others: 7, steps, left_out: 12, walks }
}

fn node(number: u32) -> String {
    format!("00112233445566778899aabbccddeeff-n_{number:010}")
}

fn stood(who: usize) -> ReplayEvent {
    ReplayEvent::Stood { who, node: Some(node(who as u32)), session: 0x1_0000_a3f2_b000 + who as i64 }
}

/// The leader is cut off, and one of three candidates is notified.
pub(crate) fn partition(cell: u32) -> Replay {
    let (id, kind, who) = (4, FaultKind::Partition, vec![0]);
    let steps = vec![
        (0, stood(0)),
        (2, ReplayEvent::Leads { who: 0, node: node(0) }),
        (5, stood(1)),
        (7, ReplayEvent::Waits { who: 1, requests: 2, watches: WatchedNode::Member(0) }),
        (9, stood(2)),
        (11, ReplayEvent::Waits { who: 2, requests: 2, watches: WatchedNode::Member(1) }),
        (12, ReplayEvent::Owns { who: Some(0), other: false }),
        (20, ReplayEvent::Wrote { who: 0, refused: false }),
        (500, ReplayEvent::Listed { watches: vec![(1, 0), (2, 1)] }),
        (1_000, ReplayEvent::Fault { id, kind, who: who.clone(), servers: vec![1, 2], verified: true }),
        (3_400, ReplayEvent::Session { who: 0, state: SessionState::Disconnected }),
        (3_401, ReplayEvent::Yields { who: 0, reason: Some(RevokeReason::SteppedDown) }),
        (7_000, told(&[1], 0, WatchEvent::Deleted)),
        (7_003, ReplayEvent::Leads { who: 1, node: node(1) }),
        (7_004, ReplayEvent::Owns { who: Some(1), other: false }),
        (7_010, ReplayEvent::Wrote { who: 1, refused: false }),
        (9_000, ReplayEvent::Healed { id, kind, who, verified: true }),
        (9_100, ReplayEvent::Wrote { who: 0, refused: true }),
        (9_200, ReplayEvent::Session { who: 0, state: SessionState::Ended(SessionEnd::Expired) }),
        (9_201, ReplayEvent::Left { who: 0, how: Departure::SessionEnded(SessionEnd::Expired) }),
    ];
    let join = WalkThrough { kind: WalkThroughKind::JoinAndElect, from: 0, to: 8 };
    replay(cell, steps, vec![join, WalkThrough { kind: WalkThroughKind::LeaderDies, from: 9, to: 15 }])
}

fn told(who: &[usize], others: u64, kind: WatchEvent) -> ReplayEvent {
    ReplayEvent::Told { who: who.to_vec(), others, node: node(0), of: Some(0), kind, spread: 3 * MS }
}

/// The leader resigns, then fails; a follower is killed and comes back.
pub(crate) fn resignation(cell: u32) -> Replay {
    let steps = vec![
        (0, stood(0)),
        (1, ReplayEvent::Leads { who: 0, node: node(0) }),
        (2, stood(1)),
        (3, ReplayEvent::Waits { who: 1, requests: 1, watches: WatchedNode::Another }),
        (100, ReplayEvent::Fault { id: 0, kind: FaultKind::Resign, who: vec![0], servers: vec![], verified: false }),
        (101, ReplayEvent::Yields { who: 0, reason: None }),
        (102, ReplayEvent::Deleted { who: 0 }),
        (103, told(&[1, 2], 7, WatchEvent::Deleted)),
        (104, told(&[], 1, WatchEvent::Created)),
        (105, told(&[1], 0, WatchEvent::DataChanged)),
        (106, told(&[1], 0, WatchEvent::ChildrenChanged)),
        (107, ReplayEvent::Left { who: 0, how: Departure::Failed("no answer to this".into()) }),
        (108, ReplayEvent::Owns { who: None, other: true }),
        (109, ReplayEvent::Owns { who: None, other: false }),
        (200, ReplayEvent::Fault { id: 1, kind: FaultKind::Crash, who: vec![2], servers: vec![], verified: true }),
        (300, ReplayEvent::Runs { who: 2 }),
        (301, ReplayEvent::Session { who: 2, state: SessionState::Connected }),
        (302, ReplayEvent::Waits { who: 2, requests: 0, watches: WatchedNode::Nothing }),
        (400, ReplayEvent::Fault { id: 2, kind: FaultKind::ServerKill, who: vec![], servers: vec![3], verified: true }),
        (500, ReplayEvent::Healed { id: 2, kind: FaultKind::ServerKill, who: vec![], verified: false }),
        (600, ReplayEvent::Left { who: 1, how: Departure::Stopped }),
        // This index has no candidate in the cast.
        (700, ReplayEvent::Leads { who: 99, node: node(9) }),
    ];
    replay(cell, steps, vec![WalkThrough { kind: WalkThroughKind::JoinAndElect, from: 3, to: 999 }])
}
