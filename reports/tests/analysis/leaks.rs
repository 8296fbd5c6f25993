//! What servers still hold of candidates that have gone on, in cells of any age.

use std::collections::BTreeMap;

use crate::participation::{list_at, rightly_held};
use crate::*;

const NAME: &str = "participation";
/// The cell begins at 0.4 s. What is out of use counts as left behind after 2 T, two ticks and a second: 11 s.
const YOUNG: u64 = 8_000;
const OLD: u64 = 20_000;

/// The verdict, the entries left behind, whether all leaks were looked for, and the headline.
fn judged(cell: Cell) -> ((Verdict, u64, bool), String) {
    let summary = cell.summary();
    let end = summary.standing.end.expect("it was recorded");
    let check = check(&summary, NAME);
    let left = end.sessions_left + end.znodes_left + end.watches_left;
    ((check.verdict, left, end.leaks_judged), check.headline.clone())
}

#[test]
fn a_cell_that_is_too_short_for_the_sessions_that_candidates_left_behind_says_so() {
    let left_behind = |asked: u64| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
        let old = cell.session(0, 2);
        cell.left(0, 2, 5_000, Departure::SessionEnded(SessionEnd::Expired));
        cell.join(0, 2, 5_100);
        let mut holds = rightly_held(&cell);
        holds.sessions.insert(old);
        list_at(&mut cell, asked, &[1, 2, 3], holds);
        judged(cell)
    };
    let (found, headline) = left_behind(OLD);
    assert_eq!(found, (Fail, 1, true));
    assert!(headline.ends_with("1 sessions, znodes and watches left behind"), "{headline}");
    let (found, headline) = left_behind(YOUNG);
    assert_eq!(found, (Pass, 0, false));
    assert!(headline.ends_with("other leaks were not looked for: the cell was too short"), "{headline}");
}

#[test]
fn what_nobody_stands_by_is_a_leak_of_a_session_in_use_in_a_cell_of_any_age() {
    let name = || "/election/g0/n_0000009999".to_owned();
    let listed = |asked: u64, change: &dyn Fn(&Cell, &mut Holdings)| {
        let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::None);
        let mut holds = rightly_held(&cell);
        change(&cell, &mut holds);
        list_at(&mut cell, asked, &[1, 2, 3], holds);
        judged(cell).0
    };
    let znode = |cell: &Cell, holds: &mut Holdings| _ = holds.ephemerals.insert(name(), cell.session(0, 1));
    let watch = |cell: &Cell, holds: &mut Holdings| _ = holds.watches.insert(name(), [cell.session(0, 1)].into());
    let nobodys = |_: &Cell, holds: &mut Holdings| _ = holds.ephemerals.insert(name(), 99);
    assert_eq!([YOUNG, OLD].map(|asked| listed(asked, &znode)), [(Fail, 1, false), (Fail, 1, true)]);
    assert_eq!([YOUNG, OLD].map(|asked| listed(asked, &watch)), [(Fail, 1, false), (Fail, 1, true)]);
    // No host reported this session: it may be of a process that died just now.
    assert_eq!([YOUNG, OLD].map(|asked| listed(asked, &nobodys)), [(Pass, 0, false), (Fail, 1, true)]);
}

/// The leader resigns at 5 s and enrols again under the same session. At 8 s, the first servers still list its old
/// znode, and the others do not.
fn resigned(with: &[u32], without: &[u32]) -> (Verdict, u64, bool) {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Resign);
    let (cand, session, old) = (cell.cand(0, 0), cell.session(0, 0), cell.node(0, 0));
    cell.inject(FaultKind::Resign, 0, &[0], 5_000, None);
    cell.revoke(0, 0, 5_001, RevokeReason::Resigned);
    cell.left(0, 0, 5_004, Departure::Resigned { delete: Some((ms(5_002), ms(5_003))) });
    cell.wake(0, &old, 5_003);
    cell.lead(0, 1, 5_005);
    cell.renew(0, 0);
    let (node, czxid) = (Some(cell.node(0, 0)), Some(cell.czxid(0, 0)));
    cell.host(0).extend([
        Event::Joined { t: ms(5_150), cand, session, node, czxid },
        Event::Settled { t: ms(5_150), cand, session, requests: 2 },
    ]);
    let path = |node: &str| format!("/election/g0/{node}");
    let watch = |watched, by| (path(&cell.node(0, watched)), [cell.session(0, by)].into());
    let holds = Holdings { watches: BTreeMap::from([watch(1, 2), watch(2, 0)]), ..rightly_held(&cell) };
    let mut kept = holds.clone();
    kept.ephemerals.insert(path(&old), session);
    list_at(&mut cell, YOUNG, with, kept);
    list_at(&mut cell, YOUNG, without, holds);
    judged(cell).0
}

#[test]
fn a_znode_whose_deletion_was_answered_is_a_leak_at_once_where_all_servers_list_it() {
    assert_eq!(resigned(&[], &[1, 2, 3]), (Pass, 0, false));
    assert_eq!(resigned(&[1, 2, 3], &[]), (Fail, 1, false));
    assert_eq!(resigned(&[1], &[2, 3]), (Pass, 0, false), "it may be behind the others");
}
