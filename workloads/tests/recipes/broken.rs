//! The broken recipes do what they are there to show.

use hustings_workloads::booth::{Departure, Order};
use hustings_workloads::coordination::SessionEnd;
use hustings_workloads::recipes::{RecipeKind, StepDown};

use crate::support::{Bench, Entry, election};

#[test]
fn without_the_relist_the_death_of_one_in_the_middle_makes_two_leaders() {
    let mut bench = Bench::with(3, &election(RecipeKind::NoRelist, StepDown::OnDisconnect));
    bench.order(1, Order::Resign);
    bench.run();
    assert_eq!(bench.believers(), [0, 2]);
    let mut bench = Bench::with(3, &election(RecipeKind::PredecessorWatch, StepDown::OnDisconnect));
    bench.order(1, Order::Resign);
    bench.run();
    assert_eq!(bench.believers(), [0]);
}

#[test]
fn a_leader_that_ignores_the_loss_of_its_session_leads_beside_the_next_for_a_bounded_time() {
    let mut bench = Bench::with(2, &election(RecipeKind::IgnoresSessionLoss, StepDown::OnDisconnect));
    bench.ensemble.disconnect(bench.session(0));
    bench.run();
    assert_eq!(bench.believers(), [0]);
    bench.ensemble.expire(bench.session(0));
    bench.advance_ms(2_900);
    assert_eq!(bench.believers(), [0, 1]);
    bench.advance_ms(200);
    assert_eq!(bench.believers(), [1]);
    assert_eq!(bench.departure(0), Some(Departure::SessionEnded(SessionEnd::Expired)));
}

#[test]
fn even_the_deaf_obey_an_order() {
    let mut bench = Bench::with(1, &election(RecipeKind::IgnoresSessionLoss, StepDown::OnDisconnect));
    bench.ensemble.expire(bench.session(0));
    bench.run();
    bench.order(0, Order::Stop);
    bench.advance_ms(2_000);
    assert!(bench.believers().is_empty());
    assert_eq!(bench.departure(0), Some(Departure::Stopped));
    assert_eq!(bench.count(0, |e| matches!(e, Entry::Revoke { .. })), 1);
}
