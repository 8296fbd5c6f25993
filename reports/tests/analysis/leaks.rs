//! What the servers hold at the end, and nobody needs.

use hustings_record::*;
use hustings_reports::verdict::Verdict::{Fail, Pass};

use crate::builder::{Cell, TEAR_DOWN, check, ms};
use crate::foreign::introduce;

const NAME: &str = "leaks";

/// Two groups of three.
fn holding(recipe: &str, ephemerals: u32, watches: u32) -> Cell {
    let mut cell = Cell::new(recipe, 2, 3, FaultKind::None);
    cell.held = Some((ephemerals, watches));
    cell
}

/// A znode that nobody stands behind.
pub(crate) fn leaking() -> Cell {
    holding("predecessor-watch", 7, 4)
}

#[test]
fn more_znodes_or_watches_than_candidates_and_observer_can_have_fail() {
    let summary = leaking().summary();
    assert!(summary.leaks.ephemerals.leaks() && !summary.leaks.watches.leaks(), "{:?}", summary.leaks);
    assert_eq!(check(&summary, NAME).verdict, Fail);
    // Of the watches two may be the observer's, and one on its way.
    assert_eq!(holding("predecessor-watch", 6, 9).verdict(NAME), Pass);
    assert_eq!(holding("predecessor-watch", 6, 10).verdict(NAME), Fail);
    assert_eq!(holding("lock-race", 2, 8).verdict(NAME), Pass);
    assert_eq!(holding("lock-race", 3, 8).verdict(NAME), Fail);
}

#[test]
fn what_only_the_candidates_can_hold_has_no_room_for_an_observer() {
    let mut cell = holding("predecessor-watch", 6, 8);
    let (t, per_creation, per_change) = (ms(900), Some(0.0), Some(0.0));
    cell.observer.push(Event::ObserverWeight(Box::new(ObserverWeight {
        t,
        per_deletion: 0.0,
        per_creation,
        per_change,
        counted: Vec::new(),
    })));
    assert_eq!(cell.verdict(NAME), Fail);
}

#[test]
fn the_client_library_of_a_program_may_watch_one_znode_for_itself_on_each_connection() {
    let with = |watches: u32| {
        let mut cell = holding("predecessor-watch", 6, watches);
        (0..3).for_each(|host| introduce(&mut cell, host, Grade::Report));
        cell.verdict(NAME)
    };
    assert_eq!((with(15), with(16)), (Pass, Fail), "six more than candidates of our own");
}

#[test]
fn what_has_just_changed_may_have_left_something_for_the_servers_to_clear_away() {
    let after = |stands_again: u64| {
        let mut cell = leaking();
        cell.join(0, 2, stands_again);
        cell.verdict(NAME)
    };
    assert_eq!(after(TEAR_DOWN - 2_000), Pass);
    assert_eq!(after(TEAR_DOWN - 12_000), Fail);
}

#[test]
fn servers_with_clients_of_others_are_not_judged_nor_those_that_do_not_tell() {
    let mut others = leaking();
    others.info.own_servers = false;
    let mut silent = leaking();
    silent.held = None;
    for cell in [others, silent] {
        assert!(cell.summary().checks.iter().all(|check| check.name != NAME));
    }
}
