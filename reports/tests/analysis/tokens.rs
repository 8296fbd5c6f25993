//! Tokens: of writes as sent, of grants compared with the observer's view of their znodes, and unknown ones.

use crate::*;

/// Host 0 resigns at 20 s and enrols again, as does host 1 at 30 s: host 0 leads twice, by two znodes and sessions.
fn leads_twice() -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Resign);
    cell.resign(0, 20_000);
    cell.inject(FaultKind::Resign, 1, &[0], 30_000, None);
    let node = cell.node(0, 1);
    cell.revoke(0, 1, 30_001, RevokeReason::Resigned);
    cell.left(0, 1, 30_004, Departure::Resigned { delete: Some((ms(30_002), ms(30_003))) });
    cell.notify(0, 2, &node, 30_003);
    cell.lead(0, 2, 30_005);
    cell.join(0, 1, 30_020);
    cell.inject(FaultKind::Resign, 2, &[0], 40_000, None);
    let node = cell.node(0, 2);
    cell.revoke(0, 2, 40_001, RevokeReason::Resigned);
    cell.left(0, 2, 40_004, Departure::Resigned { delete: Some((ms(40_002), ms(40_003))) });
    cell.notify(0, 0, &node, 40_003);
    cell.lead(0, 0, 40_005);
    cell.join(0, 2, 40_020);
    cell
}

/// One more write of host 0's second lead, with this token.
fn writing(czxid: impl Fn(&Cell) -> i64, sent: Option<u64>, at: u64) -> Cell {
    let mut cell = leads_twice();
    let token = czxid(&cell);
    cell.write(0, 0, at);
    let Some(Event::Write { sent: stamp, czxid, .. }) = cell.coordinator.last_mut() else { unreachable!("a write") };
    (*stamp, *czxid) = (sent.map(ms), token);
    cell
}

/// The token of host 0's first lead.
fn first(cell: &Cell) -> i64 {
    let grant = |event: &Event| if let Event::Grant { czxid, .. } = event { Some(*czxid) } else { None };
    cell.events_of(0).iter().find_map(grant).expect("a grant")
}

/// Host 0 writes in its second lead with the token of its first.
pub(crate) fn writes_with_first_token() -> Cell {
    writing(first, Some(50_000), 50_001)
}

/// Host 0 reports the znode of its first lead for its second one.
pub(crate) fn grants_by_first_token() -> Cell {
    let mut cell = leads_twice();
    let token = first(&cell);
    if let Some(Event::Grant { czxid, .. }) = last_grant(&mut cell) {
        *czxid = token;
    }
    cell
}

fn last_grant(cell: &mut Cell) -> Option<&mut Event> {
    cell.host(0).iter_mut().rev().find(|event| matches!(event, Event::Grant { .. }))
}

#[test]
fn a_write_with_another_token_than_its_own_lead_s_is_a_finding_with_a_fence_and_without() {
    let judged = |cell: Cell| cell.verdict("write-tokens");
    assert_eq!(judged(leads_twice()), Pass);
    for fencing in [Fencing::Fenced, Fencing::Unfenced] {
        for token in [first, |_: &Cell| i64::MAX >> 8, |cell: &Cell| cell.czxid(0, 1)] {
            for sent in [Some(50_000), None] {
                let mut cell = writing(token, sent, 50_001);
                cell.info.fencing = fencing;
                let summary = cell.summary();
                let found = check(&summary, "write-tokens");
                assert_eq!((found.verdict, summary.write_tokens.foreign), (Fail, 1), "{found:?}");
                assert_eq!(found.rests_on, [EvidenceSource::Effect]);
            }
        }
    }
}

#[test]
fn what_was_under_way_when_the_next_lead_began_bears_its_own_lead_s_token() {
    assert_eq!(writing(first, Some(19_000), 40_010).verdict("write-tokens"), Pass);
    let mut soon = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
    let (token, session) = (soon.czxid(0, 0), soon.session(0, 0));
    soon.revoke(0, 0, 20_000, RevokeReason::SteppedDown);
    soon.join(0, 0, 20_100);
    soon.lead(0, 0, 20_200);
    soon.write(0, 0, 20_300);
    let Some(Event::Write { sent, czxid, session: of, .. }) = soon.coordinator.last_mut() else {
        unreachable!("a write")
    };
    (*sent, *czxid, *of) = (None, token, session);
    assert_eq!(soon.verdict("write-tokens"), Pass, "nobody knows when it was sent");
}

#[test]
fn a_grant_with_another_token_than_its_own_znode_s_is_a_finding() {
    let granted = |token: fn(&Cell) -> i64, node: Option<&str>| {
        let mut cell = leads_twice();
        let token = token(&cell);
        let Some(Event::Grant { czxid, node: named, .. }) = last_grant(&mut cell) else { unreachable!("a grant") };
        *czxid = token;
        node.into_iter().for_each(|node| node.clone_into(named));
        let summary = cell.summary();
        (check(&summary, "grant-tokens").verdict, summary.grant_tokens.wrong)
    };
    assert_eq!(granted(|cell| cell.czxid(0, 0), None), (Pass, 0));
    assert_eq!(granted(first, None), (Fail, 1), "that of an earlier znode");
    assert_eq!(granted(|_| 77, None), (Fail, 1), "that of none");
    assert_eq!(granted(|_| 77, Some("")), (Fail, 1), "its session owned the lead by another one");
    assert_eq!(granted(|cell| cell.czxid(0, 1), Some("")), (Fail, 1), "that of somebody else");
}

/// The second lead of host 0 rests on a znode whose creation was not reported, and its write has no token.
fn unheard(is_observed: bool) -> Cell {
    let mut cell = leads_twice();
    let own = cell.czxid(0, 0);
    for event in cell.host(0).iter_mut() {
        match event {
            Event::Grant { czxid, .. } if *czxid == own => *czxid = Token::UNKNOWN_CZXID,
            Event::Joined { czxid, .. } if *czxid == Some(own) => *czxid = None,
            _ => {}
        }
    }
    for event in &mut cell.coordinator {
        if let Event::Write { czxid, .. } = event
            && *czxid == own
            && !is_observed
        {
            *czxid = Token::UNKNOWN_CZXID;
        }
    }
    if !is_observed {
        for event in &mut cell.observer {
            if let Event::Owner(owner) = event
                && owner.czxid == Some(own)
            {
                owner.node = None;
            }
        }
    }
    cell
}

#[test]
fn a_token_that_the_observer_tells_is_known() {
    let summary = unheard(true).summary();
    let bad: Vec<_> = summary.checks.iter().filter(|check| check.verdict != Pass).collect();
    assert!(bad.is_empty(), "{bad:#?}");
    assert_eq!((summary.grant_tokens.unknown, summary.write_tokens.unknown), (0, 0));
}

#[test]
fn a_token_that_nobody_tells_counts_against_nobody() {
    let summary = unheard(false).summary();
    assert!(summary.checks.iter().all(|check| check.verdict < Fail), "{:#?}", summary.checks);
    assert_eq!(check(&summary, "stale-writes").verdict, Inconclusive);
    for name in ["write-tokens", "grant-tokens", "stray-writes", "ownership"] {
        assert_eq!(check(&summary, name).verdict, Pass, "{:#?}", check(&summary, name));
    }
    assert_eq!((summary.grant_tokens.unknown, summary.write_tokens.unknown), (1, 1));
    let details = &check(&summary, "grant-tokens").details;
    assert!(details[0].contains("not observed"), "{details:?}");
}

/// Host 1 owns the lead from 20 s on; host 0 believes until then.
fn believes_until(at: u64, alter: impl Fn(&mut Cell)) -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
    alter(&mut cell);
    cell.lead(0, 1, 20_000);
    cell.revoke(0, 0, at, RevokeReason::Deposed);
    cell
}

#[test]
fn whoever_could_know_believes_no_longer_than_a_moment_without_owning() {
    let verdict = |at, alter: fn(&mut Cell)| believes_until(at, alter).verdict("ownership");
    assert_eq!(verdict(20_400, |_| ()), Pass);
    assert_eq!(verdict(20_900, |_| ()), Fail, "connected");
    fn lost(cell: &mut Cell) {
        let (session, state) = (cell.session(0, 0), SessionState::Disconnected);
        cell.host(0).push(Event::State { t: ms(19_800), session, state });
    }
    assert_eq!(verdict(20_900, lost), Fail, "without a connection, but to step down at once");
    fn to_expire(cell: &mut Cell) {
        cell.info.step_down = Some(StepDown::OnExpiry);
        lost(cell);
    }
    assert_eq!(verdict(25_000, to_expire), Pass);
    assert_eq!(verdict(27_500, to_expire), Fail, "longer than any session lives");
    assert_eq!(
        verdict(22_000, |cell| {
            to_expire(cell);
            let (session, state) = (cell.session(0, 0), SessionState::Connected);
            cell.host(0).push(Event::State { t: ms(20_900), session, state });
        }),
        Fail,
        "connected again"
    );
}

#[test]
fn whoever_is_kept_from_knowing_believes_no_longer_than_until_then() {
    let verdict = |at| {
        let cell = believes_until(at, |cell| {
            cell.lasting(FaultKind::Partition, 0, &[0], (18_000, 23_000));
        });
        cell.verdict("ownership")
    };
    assert_eq!(verdict(23_400), Pass);
    assert_eq!(verdict(24_200), Fail);
}

#[test]
fn what_hits_the_servers_once_a_believer_was_to_know_excuses_nothing() {
    let hit = |at: u64| {
        let injection = |cell: &mut Cell| cell.lasting(FaultKind::ServerPartition, 0, &[], (at, at + 100));
        believes_until(24_000, injection).verdict("ownership")
    };
    assert_eq!((hit(20_200), hit(22_000)), (Pass, Fail));
}

#[test]
fn what_could_not_be_read_on_a_program_s_connections_fails_nobody() {
    for (is_unread, verdict) in [(false, Fail), (true, Inconclusive)] {
        let mut cell = believes_until(30_000, |cell| crate::foreign::introduce(cell, 0, EvidenceSource::Report));
        if is_unread {
            cell.host(0).push(Event::Unwitnessed { t: ms(25_000), lost: 0, unsound: 1 });
        }
        let summary = cell.summary();
        assert_eq!(check(&summary, "ownership").verdict, verdict);
        let details = &check(&summary, "programs").details;
        assert_eq!(details.iter().any(|line| line.contains("could be read")), is_unread, "{details:?}");
    }
}
