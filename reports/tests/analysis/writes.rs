//! Stale writes, fences, and a coordinator with wrong judgements.

use crate::*;

#[test]
fn a_stale_write_counts_in_the_unfenced_ledger_and_is_stopped_by_the_fence() {
    let verdict = |fencing, expected| {
        let mut cell = pause(30_005, &[30_002]);
        (cell.info.fencing, cell.info.expect.stale_writes) = (fencing, expected);
        let summary = cell.summary();
        let writes = &summary.writes;
        assert_eq!((writes.unfenced.seen, writes.fenced_off, writes.past_fence.seen), (1, 1, 0));
        assert_eq!(summary.timelines[0].stale_writes, [(ms(30_002), 0, true)]);
        check(&summary, "stale-writes").verdict
    };
    assert_eq!(verdict(Fencing::Fenced, Expectation::None), Pass);
    assert_eq!(verdict(Fencing::Unfenced, Expectation::None), Fail);
    assert_eq!(verdict(Fencing::Unfenced, Expectation::Some), Pass);
    assert_eq!(verdict(Fencing::Fenced, Expectation::Some), Fail);
    assert_eq!(verdict(Fencing::Unfenced, Expectation::Any), Pass);
}

/// Stale writes, and excused ones, with the verdict of a cell that only allows excused ones.
fn stale_and_excused(mut cell: Cell, resource: Fencing) -> (u64, u64, Verdict) {
    (cell.info.fencing, cell.info.expect.stale_writes) = (resource, Expectation::Excused);
    let summary = cell.summary();
    (summary.writes.unfenced.seen, summary.writes.excused, check(&summary, "stale-writes").verdict)
}

#[test]
fn a_stale_write_is_excused_by_what_happened_to_its_own_leader_a_moment_ago_and_by_nothing_else() {
    for resource in [Fencing::Fenced, Fencing::Unfenced] {
        let woken = pause(30_005, &[30_002, 30_004]);
        assert_eq!(stale_and_excused(woken, resource), (2, 2, Pass));
        // It goes on for long after waking.
        let late = pause(30_000 + T, &[30_002, 30_000 + T / 2]);
        assert_eq!(stale_and_excused(late, resource), (2, 1, Fail));
        // Another candidate was stopped, or its session was forcibly ended.
        for kind in [FaultKind::Pause, FaultKind::Expire] {
            let mut cell = partition(25_600);
            cell.lasting(kind, 2, &[0], (24_000, 24_300));
            cell.write(0, 0, 24_320);
            assert_eq!(stale_and_excused(cell, resource), (1, 0, Fail), "{kind}");
        }
    }
}

#[test]
fn the_same_token_from_another_incarnation_gets_past_the_fence_and_fails() {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
    cell.write(0, 1, 20_000);
    let (czxid, cand) = (cell.czxid(0, 1), cell.cand(0, 1));
    cell.coordinator.push(Event::Write {
        t: ms(20_001),
        sent: Some(ms(20_001)),
        seq: 0,
        group: 0,
        cand,
        host: 1,
        czxid,
        session: i64::MAX,
        unfenced_stale: false,
        fenced_rejected: false,
        fenced_stale: false,
    });
    let summary = cell.summary();
    assert_eq!(summary.writes.past_fence.seen, 1);
    assert_eq!(check(&summary, "stale-writes").verdict, Fail);
}

#[test]
fn a_fence_refuses_the_old_token_from_then_on() {
    let mut cell = Cell::new("lock-race", 1, 3, FaultKind::None);
    let (old_czxid, old_session) = (cell.czxid(0, 0), cell.session(0, 0));
    let how = FencingMethod::Resource;
    cell.coordinator.push(Event::Fence { t: ms(20_000), group: 0, by: 1, old_czxid, old_session, how, done: true });
    cell.write(0, 0, 20_001);
    let summary = cell.summary();
    assert_eq!((summary.writes.fenced_off, summary.writes.unfenced.seen), (1, 0));
    assert_eq!(check(&summary, "stale-writes").verdict, Pass);
}

#[test]
fn a_coordinator_that_judges_otherwise_fails_the_harness() {
    let mut record = Cell::new("naive", 1, 3, FaultKind::None).record();
    for event in &mut record.cells[0].segments[0].events {
        if let Event::Write { fenced_rejected, .. } = event {
            *fenced_rejected = true;
        }
    }
    let summary = hustings_reports::analysis::summarise(&record);
    let found = check(&summary.cells[0], "stale-writes");
    assert_eq!(found.verdict, Fail);
    assert!(found.details[0].starts_with("harness"));
}

#[test]
fn missing_writes_and_no_writes_are_inconclusive() {
    let mut cell = Cell::new("naive", 1, 3, FaultKind::None);
    cell.coordinator.retain(|e| !matches!(e, Event::Write { .. }));
    assert_eq!(cell.verdict("stale-writes"), Inconclusive);

    let mut cell = Cell::new("naive", 1, 3, FaultKind::None);
    (20..24).for_each(|s| cell.write(0, 0, s * 1_000));
    let mut record = cell.record();
    let events = &mut record.cells[0].segments[0].events;
    let gone = events.iter().position(|e| matches!(e, Event::Write { seq: 52, .. })).unwrap();
    events.remove(gone);
    let summary = hustings_reports::analysis::summarise(&record);
    assert_eq!(check(&summary.cells[0], "stale-writes").verdict, Inconclusive);
}

/// Writes of the only leader just before it resigned, and of its successor; the coordinator reads the second one first.
fn read_in_the_wrong_order(stall: Option<(u64, u64)>, sent: u64) -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Resign);
    let (czxid, session) = (cell.czxid(0, 0), cell.session(0, 0));
    cell.resign(0, 20_000);
    cell.info.fencing = Fencing::Unfenced;
    let events = &mut cell.coordinator;
    events.retain(|event| !matches!(event, Event::Write { t, .. } if *t > ms(20_000)));
    events.extend(stall.map(|(from, to)| Event::Stall { from: ms(from), to: ms(to), ran_ns: 0, program: false }));
    cell.write(0, 1, 20_300);
    cell.write(0, 0, 20_301);
    let mut writes = cell.coordinator.iter_mut().rev().filter_map(|event| match event {
        Event::Write { sent, czxid, session, .. } => Some((sent, czxid, session)),
        _ => None,
    });
    let (late, early) = (writes.next().unwrap(), writes.next().unwrap());
    (*late.0, *late.1, *late.2) = (Some(ms(sent)), czxid, session);
    *early.0 = Some(ms(20_006));
    cell
}

#[test]
fn a_rightful_write_that_only_the_coordinator_put_behind_anothers_is_left_out() {
    let stalled = read_in_the_wrong_order(Some((20_000, 20_299)), 20_000);
    let summary = stalled.summary();
    let (writes, found) = (&summary.writes, check(&summary, "stale-writes"));
    assert_eq!((writes.misread, writes.unfenced.seen, writes.unfenced.n, writes.total), (1, 0, 0, 2));
    assert_eq!(found.verdict, Inconclusive, "{found:#?}");
    let judged = |stall, sent| read_in_the_wrong_order(stall, sent).summary();
    for (stall, sent, why) in [
        (None, 20_000, "nothing held the coordinator up"),
        (Some((20_000, 20_100)), 20_000, "it ran for most of the way"),
        (Some((20_000, 20_299)), 20_100, "it was sent after the successor's: a zombie's"),
        (Some((21_000, 21_500)), 20_000, "it stalled at another time"),
    ] {
        let summary = judged(stall, sent);
        assert_eq!((summary.writes.misread, summary.writes.unfenced.seen), (0, 1), "{why}");
        assert_eq!(check(&summary, "stale-writes").verdict, Fail, "{why}");
    }
}
