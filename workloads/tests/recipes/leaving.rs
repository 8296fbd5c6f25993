//! Leaving by order, with and without faults.

use hustings_record::{Event, StepDown};
use hustings_workloads::host::{Departure, Order};
use hustings_workloads::recipes::RecipeKind;

use hustings_workloads::schedule::ScheduledRequest;
use hustings_workloads::simulation::bench::{Bench, JournalEntry, election};

#[test]
fn a_leader_that_resigns_leaves_nothing_and_says_when_its_znode_went() {
    for recipe in RecipeKind::sound() {
        let mut bench = Bench::with(1, &election(recipe, StepDown::OnDisconnect));
        bench.order(0, Order::Resign);
        bench.run();
        let Some(Departure::Resigned { delete: Some((sent, answered)) }) = bench.departure(0) else {
            panic!("{recipe}: {:?}", bench.departure(0))
        };
        assert!(sent < answered);
        assert!(bench.paths("/election/g0").is_empty(), "{recipe}");
        assert_eq!(bench.watches(), 0, "{recipe}");
    }
}

#[test]
fn the_watch_on_its_own_znode_is_told_of_when_it_goes() {
    for recipe in RecipeKind::sound() {
        let mut bench = Bench::with(1, &election(recipe, StepDown::OnDisconnect));
        bench.order(0, Order::Resign);
        bench.run();
        assert_eq!(bench.count(0, |e| matches!(e, JournalEntry::Said(Event::Notified { .. }))), 1, "{recipe}");
    }
}

#[test]
fn a_delete_that_never_arrived_is_sent_again_when_the_connection_is_back() {
    for recipe in RecipeKind::sound() {
        let mut bench = Bench::with(2, &election(recipe, StepDown::OnDisconnect));
        let id = 0;
        let own = bench.owned(id).remove(0);
        bench.before(id, ScheduledRequest::Delete, &own, move |ground| ground.disconnect(id));
        bench.order(0, Order::Resign);
        bench.advance_ms(300);
        assert!(bench.has(&own), "{recipe}");
        bench.reconnect(id);
        bench.advance_ms(500);
        assert!(bench.owned(id).is_empty(), "{recipe}");
        assert_eq!(bench.believers(), [1], "{recipe}");
        assert!(matches!(bench.departure(0), Some(Departure::Resigned { delete: Some(_) })), "{recipe}");
    }
}

#[test]
fn a_delete_whose_answer_was_lost_never_hits_the_next_holder_of_the_lock() {
    for recipe in RecipeKind::sound() {
        let mut bench = Bench::with(2, &election(recipe, StepDown::OnDisconnect));
        let id = 0;
        let own = bench.owned(id).remove(0);
        bench.drop_reply(id, ScheduledRequest::Delete, &own);
        bench.order(0, Order::Resign);
        bench.advance_ms(300);
        assert_eq!(bench.believers(), [1], "{recipe}");
        bench.reconnect(id);
        bench.advance_ms(500);
        assert_eq!(bench.owned(1).len(), 1, "{recipe}");
        assert_eq!(bench.believers(), [1], "{recipe}");
        assert_eq!(bench.count(1, |e| matches!(e, JournalEntry::Said(Event::Revoke { .. }))), 0, "{recipe}");
        // That the znode is later found missing does not confirm its deletion.
        assert_eq!(bench.departure(0), Some(Departure::Resigned { delete: None }), "{recipe}");
    }
}

#[test]
fn with_the_ensemble_gone_a_resign_ends_within_two_seconds_and_says_what_it_left() {
    for recipe in RecipeKind::sound() {
        for silent in [false, true] {
            let mut bench = Bench::with(1, &election(recipe, StepDown::OnExpiry));
            if silent {
                bench.silence(0);
            } else {
                bench.disconnect(0);
            }
            bench.order(0, Order::Resign);
            bench.run();
            assert!(bench.believers().is_empty(), "{recipe}: the belief ends at once");
            bench.advance_ms(2_000);
            assert_eq!(bench.departure(0), Some(Departure::Resigned { delete: None }), "{recipe}");
            let left = |e: &JournalEntry| matches!(e, JournalEntry::Said(Event::Note { text, .. }) if text.starts_with("left its znode"));
            assert_eq!(bench.count(0, left), 1);
        }
    }
}

#[test]
fn an_order_between_a_create_and_its_answer_leaves_nothing_behind() {
    for recipe in RecipeKind::sound() {
        let mut bench = Bench::with(1, &election(recipe, StepDown::OnDisconnect));
        bench.order(0, Order::Resign);
        bench.run();
        let late = bench.enter(&election(recipe, StepDown::OnDisconnect));
        bench.hold_reply(late, ScheduledRequest::Create, "/election/g0/");
        bench.run();
        assert_eq!(bench.owned(late).len(), 1);
        bench.order(late, Order::Resign);
        bench.run();
        bench.release(late);
        bench.run();
        assert!(matches!(bench.departure(late), Some(Departure::Resigned { .. })), "{recipe}");
        assert!(bench.paths("/election/g0").is_empty(), "{recipe}");
        assert_eq!(bench.count(late, |e| matches!(e, JournalEntry::Said(Event::Grant { .. }))), 0, "{recipe}");
    }
}

#[test]
fn an_order_in_the_middle_of_a_lost_create_leaves_nothing_behind() {
    for recipe in RecipeKind::sound() {
        let mut bench = Bench::new();
        let only = bench.enter(&election(recipe, StepDown::OnDisconnect));
        bench.drop_reply(only, ScheduledRequest::Create, "/election/g0/");
        bench.run();
        bench.order(only, Order::Stop);
        bench.run();
        bench.reconnect(only);
        bench.advance_ms(1_000);
        assert_eq!(bench.departure(only), Some(Departure::Stopped), "{recipe}");
        assert!(bench.paths("/election/g0").is_empty(), "{recipe}");
    }
}

#[test]
fn an_order_before_everything_makes_nothing() {
    for recipe in RecipeKind::sound() {
        let mut bench = Bench::new();
        let only = bench.enter(&election(recipe, StepDown::OnDisconnect));
        bench.order(only, Order::Stop);
        bench.run();
        assert_eq!((bench.departure(only), bench.requests(only)), (Some(Departure::Stopped), 0), "{recipe}");
    }
}

#[test]
fn a_follower_that_has_gone_does_not_come_back_when_what_it_watched_goes() {
    for recipe in RecipeKind::sound() {
        let mut bench = Bench::with(2, &election(recipe, StepDown::OnDisconnect));
        bench.hold_answers(1);
        bench.order(0, Order::Resign);
        bench.run();
        bench.order(1, Order::Resign);
        bench.run();
        bench.release(1);
        bench.advance_ms(2_000);
        assert!(matches!(bench.departure(1), Some(Departure::Resigned { .. })), "{recipe}");
        assert!(bench.paths("/election/g0").is_empty(), "{recipe}");
    }
}

#[test]
fn a_session_that_ends_while_it_leaves_ends_the_leaving() {
    for recipe in RecipeKind::sound() {
        let mut bench = Bench::with(1, &election(recipe, StepDown::OnDisconnect));
        let id = 0;
        bench.disconnect(id);
        bench.order(0, Order::Resign);
        bench.run();
        bench.expire(id);
        bench.run();
        assert_eq!(bench.departure(0), Some(Departure::Resigned { delete: None }), "{recipe}");
    }
}

#[test]
fn one_whose_lock_went_while_it_was_away_does_not_delete_the_next_holders() {
    for recipe in [RecipeKind::LockRace, RecipeKind::PollRace] {
        let mut bench = Bench::with(3, &election(recipe, StepDown::OnDisconnect));
        let id = 0;
        bench.disconnect(id);
        bench.run();
        bench.remove("/election/g0/lock");
        bench.advance_ms(300);
        let [next] = bench.believers().try_into().unwrap();
        bench.order(0, Order::Resign);
        bench.run();
        bench.reconnect(id);
        bench.advance_ms(500);
        assert_eq!(bench.believers(), [next], "{recipe}");
        assert_eq!(bench.count(next, |e| matches!(e, JournalEntry::Said(Event::Revoke { .. }))), 0, "{recipe}");
    }
}
