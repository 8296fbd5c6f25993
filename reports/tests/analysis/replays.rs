//! Replays: the selection of groups, the order of their events, and their small size.

use crate::*;
use hustings_reports::replay::{Replay, ReplayEvent, WalkThroughKind, WatchedNode};

fn replays(cell: Cell) -> Vec<Replay> {
    summarise(&cell.record()).replays
}

fn one(cell: Cell) -> Replay {
    let mut replays = replays(cell);
    assert_eq!(replays.len(), 1);
    replays.remove(0)
}

fn crashed(recipe: &str, groups: u32, hosts: u16) -> Cell {
    let mut cell = Cell::new(recipe, groups, hosts, FaultKind::Crash);
    cell.crash(20_000, 300);
    cell
}

/// A follower's host is killed, and the candidate behind it is notified.
fn gap(recipe: &str) -> Cell {
    let mut cell = Cell::new(recipe, 1, 4, FaultKind::Crash);
    cell.inject(FaultKind::Crash, 1, &[0], 20_000, None);
    let node = cell.node(0, 1);
    cell.kill(1, 20_000);
    cell.notify(0, 2, &node, 20_000 + T);
    cell
}

/// The steps of a walk.
fn walk(replay: &Replay, kind: WalkThroughKind) -> Vec<&ReplayEvent> {
    let walk = replay.walks.iter().find(|walk| walk.kind == kind).expect("the walk");
    replay.steps[walk.from..=walk.to].iter().map(|step| &step.what).collect()
}

fn told(steps: &[&ReplayEvent]) -> Vec<(Vec<usize>, u64, Option<usize>)> {
    let told = steps.iter().filter_map(|what| match what {
        ReplayEvent::Told { who, others, of, .. } => Some((who.clone(), *others, *of)),
        _ => None,
    });
    told.collect()
}

/// The believers at the end.
fn leaders(replay: &Replay) -> Vec<usize> {
    let mut leaders = Vec::new();
    for step in &replay.steps {
        match step.what {
            ReplayEvent::Leads { who, .. } => leaders.push(who),
            ReplayEvent::Yields { who, .. } => leaders.retain(|leader| *leader != who),
            _ => {}
        }
    }
    leaders
}

#[test]
fn a_leader_dies_and_its_successor_alone_is_told() {
    let replay = one(crashed("predecessor-watch", 2, 4));
    assert_eq!((replay.cast.len(), replay.others, replay.left_out), (4, 0, 0));
    let joined = walk(&replay, WalkThroughKind::JoinAndElect);
    let stood = joined.iter().filter(|what| matches!(what, ReplayEvent::Stood { .. })).count();
    let chain = joined.iter().filter_map(|what| match what {
        ReplayEvent::Waits { who, watches, .. } => Some((*who, *watches)),
        _ => None,
    });
    let member = WatchedNode::Member;
    assert_eq!((stood, chain.collect::<Vec<_>>()), (4, vec![(1, member(0)), (2, member(1)), (3, member(2))]));
    let lost = walk(&replay, WalkThroughKind::LeaderDies);
    assert!(matches!(lost[0], ReplayEvent::Fault { kind: FaultKind::Crash, who, verified: true, .. } if *who == [0]));
    assert_eq!(told(&lost), [(vec![1], 0, Some(0))]);
    assert!(
        matches!(lost.last(), Some(ReplayEvent::Wrote { who: 1, refused: false } | ReplayEvent::Owns { .. })),
        "{lost:#?}"
    );
    assert_eq!(leaders(&replay), [1]);
}

#[test]
fn a_herd_is_told_in_one_step() {
    let replay = one(crashed("naive", 2, 4));
    assert_eq!(told(&walk(&replay, WalkThroughKind::LeaderDies)), [(vec![1, 2, 3], 0, Some(0))]);
    let lock = one(crashed("lock-race", 2, 4));
    assert_eq!(told(&walk(&lock, WalkThroughKind::LeaderDies))[0].0, [1, 2, 3]);
}

#[test]
fn a_middle_one_dies_and_whoever_is_behind_it_watches_the_one_before_it() {
    let replay = one(gap("predecessor-watch"));
    let lost = walk(&replay, WalkThroughKind::MiddleDies);
    assert_eq!(told(&lost), [(vec![2], 0, Some(1))]);
    assert!(
        matches!(lost.last(), Some(ReplayEvent::Waits { who: 2, watches: WatchedNode::Member(0), .. })),
        "{lost:#?}"
    );
    assert_eq!(leaders(&replay), [0]);
    assert!(replays(gap("naive")).is_empty(), "where a follower's loss wakes nobody it leaves no trace");
}

#[test]
fn a_fault_without_a_verification_is_shown_as_such_and_makes_no_walk() {
    let mut cell = crashed("predecessor-watch", 1, 4);
    let id = cell.fault(FaultKind::Disconnect, 2, &[0], 30_000, None);
    cell.verification(id, VerificationStage::Injected, 30_001, false, Vec::new());
    let replay = one(cell);
    let unverified =
        |what: &ReplayEvent| matches!(what, ReplayEvent::Fault { kind: FaultKind::Disconnect, verified: false, .. });
    assert!(replay.steps.iter().any(|step| unverified(&step.what)));
    assert!(!walk(&replay, WalkThroughKind::LeaderDies).into_iter().any(unverified));
}

#[test]
fn nothing_is_replayed_where_nothing_was_lost() {
    assert!(replays(Cell::new("predecessor-watch", 2, 4, FaultKind::None)).is_empty());
}

#[test]
fn of_a_large_group_few_are_shown_and_the_rest_is_counted() {
    let replay = one(crashed("naive", 1, 300));
    assert_eq!((replay.cast.len(), replay.others), (10, 290));
    let told = told(&walk(&replay, WalkThroughKind::LeaderDies));
    assert_eq!((told.len(), told[0].0.len(), told[0].1), (1, 9, 290));
    assert!(replay.steps.len() <= 200);
}

#[test]
fn what_there_is_no_room_for_is_counted() {
    let mut cell = Cell::new("predecessor-watch", 1, 4, FaultKind::Resign);
    cell.resign(0, 12_000);
    for at in 0..400 {
        cell.inject(FaultKind::Disconnect, 2, &[0], 20_000 + at * 100, None);
    }
    let replay = one(cell);
    assert_eq!(replay.steps.len(), 200);
    assert!(replay.left_out > 200, "{}", replay.left_out);
    assert!(replay.walks.iter().all(|walk| walk.from <= walk.to && walk.to < 200));
}

#[test]
fn replays_of_a_run_are_few_and_of_every_recipe() {
    let mut record = crashed("predecessor-watch", 2, 4).record();
    record.cells.clear();
    for index in 0..60 {
        let recipe = ["predecessor-watch", "naive", "lock-race"][index as usize % 3];
        let mut cell = crashed(recipe, 2, 4);
        cell.info.index = index;
        record.cells.extend(cell.record().cells);
    }
    let replays = summarise(&record).replays;
    let cells: Vec<u32> = replays.iter().map(|replay| replay.cell).collect();
    assert_eq!(cells, [0, 1, 2], "each recipe once: they all show the same");
}
