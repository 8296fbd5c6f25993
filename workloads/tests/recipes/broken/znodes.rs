//! Those that leave znodes behind or have none, and elections without a leader.

use hustings_workloads::booth::{Departure, Order};
use hustings_workloads::coordination::SessionEnd;
use hustings_workloads::recipes::{RecipeKind, StepDown};

use super::{both, come_back, flap, owned};
use crate::support::{Bench, Kind, election};

/// Long enough for everybody to have done what there is to do.
const LONG_MS: u64 = 5_000;

const BREADCRUMB: &str = "/election/g0/breadcrumb";

#[test]
fn a_create_that_is_simply_made_again_leaves_a_znode_that_nobody_leads_on() {
    let (broken, sound) = both("no-guid", |recipe| {
        let mut bench = super::bench(1, recipe);
        let second = bench.enter(&election(recipe, StepDown::OnDisconnect));
        bench.ensemble.drop_reply(bench.session(second), Kind::Create, "-n_");
        bench.run();
        bench.ensemble.reconnect(bench.session(second));
        bench.advance_ms(100);
        bench.enter(&election(recipe, StepDown::OnDisconnect));
        bench.run();
        bench.order(0, Order::Resign);
        bench.advance_ms(LONG_MS);
        bench
    });
    assert_eq!((broken.believers(), owned(&broken, 1).len()), (vec![], 2));
    assert_eq!((sound.believers(), owned(&sound, 1).len()), (vec![1], 1));
}

#[test]
fn a_release_that_failed_and_is_not_repeated_keeps_the_lead() {
    let (broken, sound) = both("leaves-on-failed-release", |recipe| {
        let mut bench = super::bench(2, recipe);
        let id = bench.session(0);
        bench.ensemble.before(id, Kind::Delete, "-n_", move |ensemble| ensemble.disconnect(id));
        bench.order(0, Order::Resign);
        bench.run();
        bench.ensemble.reconnect(id);
        bench.advance_ms(LONG_MS);
        assert!(matches!(bench.departure(0), Some(Departure::Resigned { left: Some(_) })), "{recipe}");
        bench
    });
    assert_eq!((broken.believers(), owned(&broken, 0).len()), (vec![], 1));
    assert_eq!((sound.believers(), owned(&sound, 0).len()), (vec![1], 0));
}

#[test]
fn a_notification_under_way_makes_the_znode_anew_after_the_farewell() {
    let (broken, sound) = both("recreates-after-close", |recipe| {
        let mut bench = super::bench(3, recipe);
        let tell = bench.messenger(1);
        bench.ensemble.before(bench.session(1), Kind::Children, "", move |_| tell(Order::Resign));
        bench.order(0, Order::Resign);
        bench.advance_ms(500);
        assert_eq!(bench.believers(), [2], "{recipe}");
        come_back(&mut bench, 0, recipe);
        bench.order(2, Order::Resign);
        bench.advance_ms(LONG_MS);
        assert!(matches!(bench.departure(1), Some(Departure::Resigned { .. })), "{recipe}");
        bench
    });
    assert_eq!((broken.believers(), owned(&broken, 1).len()), (vec![], 1));
    assert_eq!((sound.believers(), owned(&sound, 1).len()), (vec![0], 0));
}

#[test]
fn a_try_whose_clean_up_failed_stays_in_the_queue() {
    let (broken, sound) = both("abandons-contender", |recipe| {
        let mut bench = super::bench(3, recipe);
        let id = bench.session(1);
        bench.ensemble.before(id, Kind::Delete, "-n_", move |ensemble| ensemble.disconnect(id));
        bench.advance_ms(900);
        bench.ensemble.reconnect(id);
        bench.advance_ms(100);
        bench.order(0, Order::Resign);
        bench.advance_ms(LONG_MS);
        bench
    });
    assert_eq!((broken.believers(), owned(&broken, 1).len()), (vec![], 2));
    assert_eq!((sound.believers(), owned(&sound, 1).len()), (vec![1], 1));
}

#[test]
fn one_that_takes_the_end_of_its_session_for_a_lost_connection_waits_for_ever() {
    let (broken, sound) = both("forgets-session-end", |recipe| {
        let mut bench = super::bench(1, recipe);
        let id = bench.session(0);
        bench.ensemble.before(id, Kind::Create, "-n_", move |ensemble| ensemble.expire(id));
        bench.ensemble.remove(&owned(&bench, 0)[0]);
        bench.advance_ms(LONG_MS);
        assert!(bench.believers().is_empty() && owned(&bench, 0).is_empty(), "{recipe}");
        bench
    });
    assert_eq!(broken.departure(0), None);
    assert_eq!(sound.departure(0), Some(Departure::SessionEnded(SessionEnd::Expired)));
}

#[test]
fn two_that_begin_anew_when_their_predecessor_has_vanished_keep_each_other_from_leading() {
    let (broken, sound) = both("resets-instead-of-relisting", |recipe| {
        let mut bench = super::bench(3, recipe);
        let [gone, first, second] = [0, 1, 2].map(|index| bench.session(index));
        bench.kill(0);
        bench.ensemble.slow(first, 100, &bench.hall);
        bench.ensemble.slow(second, 100, &bench.hall);
        bench.ensemble.before(first, Kind::GetAndWatch, "-n_", move |ensemble| ensemble.expire(gone));
        // A reconnect takes a round trip, and the second one is one and a half of them behind.
        bench.ensemble.disconnect(first);
        bench.advance_ms(200);
        bench.ensemble.reconnect(first);
        bench.advance_ms(100);
        bench.ensemble.disconnect(second);
        bench.advance_ms(200);
        bench.ensemble.reconnect(second);
        bench.advance_ms(20_000);
        bench
    });
    assert_eq!((broken.believers(), sound.believers()), (vec![], vec![1]));
    assert!(broken.count(1, |entry| matches!(entry, crate::support::Entry::Joined(_))) > 20, "over and over again");
}

#[test]
fn a_breadcrumb_that_is_written_twice_is_fought_over_with_oneself() {
    let (broken, sound) = both("breadcrumb-retry", |recipe| {
        let mut bench = super::bench(3, recipe);
        bench.ensemble.expire(bench.session(0));
        for _ in 0..50 {
            bench.ensemble.clear_hooks();
            for index in 0..3 {
                bench.ensemble.drop_reply(bench.session(index), Kind::Set, BREADCRUMB);
            }
            bench.advance_ms(100);
            for index in 1..3 {
                bench.ensemble.reconnect(bench.session(index));
            }
        }
        bench
    });
    assert_eq!((broken.believers(), broken.believers_max()), (vec![], 1), "none but the first ever led");
    assert_eq!(sound.believers().len(), 1);
}

#[test]
fn a_server_that_keeps_ephemerals_keeps_the_lead_with_them() {
    for keeps in [true, false] {
        let recipe = RecipeKind::PredecessorWatch;
        let mut bench = super::bench(2, recipe);
        if keeps {
            bench.ensemble.keep_ephemerals();
        }
        bench.ensemble.expire(bench.session(0));
        bench.run();
        come_back(&mut bench, 0, recipe);
        bench.advance_ms(LONG_MS);
        assert_eq!(bench.believers(), if keeps { vec![] } else { vec![1] });
    }
}

#[test]
fn one_that_trusts_its_watch_over_a_reconnect_relies_on_the_servers() {
    let play = |recipe, forgets: bool| -> Bench {
        let mut bench = super::bench(3, recipe);
        let id = bench.session(1);
        bench.ensemble.disconnect(id);
        bench.run();
        bench.order(0, Order::Resign);
        bench.run();
        if forgets {
            bench.ensemble.forget_watches(id);
        }
        bench.ensemble.reconnect(id);
        bench.advance_ms(LONG_MS);
        bench
    };
    let (broken, sound) = both("trusts-watches", |recipe| play(recipe, true));
    assert_eq!((broken.believers(), sound.believers()), (vec![], vec![1]));
    assert_eq!(play(RecipeKind::TrustsWatches, false).believers(), [1]);
}

#[test]
fn watches_on_what_has_vanished_pile_up() {
    const ROUNDS: usize = 10;
    let (broken, sound) = both("exists-on-vanished", |recipe| {
        let mut bench = super::bench(3, recipe);
        for _ in 0..ROUNDS {
            let stand_anew = |bench: &mut Bench, index: usize| {
                owned(bench, index).iter().for_each(|path| {
                    bench.ensemble.remove(path);
                });
                flap(bench, index);
                bench.advance_ms(300);
            };
            stand_anew(&mut bench, 1);
            let predecessor = owned(&bench, 1).remove(0);
            for kind in [Kind::Exists, Kind::GetAndWatch] {
                let predecessor = predecessor.clone();
                bench.ensemble.before(bench.session(2), kind, &predecessor.clone(), move |ensemble| {
                    ensemble.remove(&predecessor);
                });
            }
            stand_anew(&mut bench, 2);
            bench.ensemble.clear_hooks();
        }
        bench
    });
    assert_eq!((broken.ensemble.watches(), sound.ensemble.watches()), (ROUNDS + 3, 3));
}
