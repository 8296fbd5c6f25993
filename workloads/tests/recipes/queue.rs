//! The queue: places, lost creates, znodes that vanish between two steps.

use hustings_record::{Event, StepDown};
use hustings_workloads::coordination::SessionEnd;
use hustings_workloads::host::{Departure, Order};
use hustings_workloads::recipes::{Election, RecipeKind};

use hustings_workloads::schedule::ScheduledRequest;
use hustings_workloads::simulation::bench::{Bench, JournalEntry, election};

fn queue() -> Election {
    election(RecipeKind::PredecessorWatch, StepDown::OnDisconnect)
}

fn own(bench: &Bench, index: usize) -> Vec<String> {
    bench.owned(index)
}

#[test]
fn five_lead_in_the_order_in_which_they_came() {
    let mut bench = Bench::with(5, &queue());
    for i in 0..5 {
        assert_eq!(bench.believers(), [i]);
        bench.order(i, Order::Resign);
        bench.run();
    }
    assert!(bench.paths("/election/g0").is_empty());
}

#[test]
fn they_lead_in_order_across_the_end_of_the_counter() {
    for recipe in [RecipeKind::PredecessorWatch, RecipeKind::Naive] {
        let election = election(recipe, StepDown::OnDisconnect);
        let mut bench = Bench::new();
        bench.count_from(i32::MAX - 1);
        for i in 0..5 {
            bench.enter(&election);
            bench.run();
            assert_eq!(bench.believers(), [0], "{i}");
        }
        for i in 0..5 {
            assert_eq!(bench.believers(), [i], "{recipe}");
            bench.expire(i);
            bench.run();
        }
    }
}

#[test]
fn a_follower_in_the_middle_goes_and_the_leader_is_left_alone() {
    let mut bench = Bench::with(5, &queue());
    bench.clear_journal();
    bench.order(2, Order::Resign);
    bench.run();
    assert_eq!(bench.believers(), [0]);
    assert!(bench.journal(0).is_empty());
    assert_eq!(bench.others_notified(2), 1);
    bench.order(1, Order::Resign);
    bench.run();
    bench.order(0, Order::Resign);
    bench.run();
    assert_eq!(bench.believers(), [3]);
}

#[test]
fn a_create_whose_answer_was_lost_leaves_one_znode_and_not_two() {
    for recipe in [RecipeKind::PredecessorWatch, RecipeKind::Naive] {
        let mut bench = Bench::with(1, &election(recipe, StepDown::OnDisconnect));
        let late = bench.enter(&election(recipe, StepDown::OnDisconnect));
        bench.drop_reply(late, ScheduledRequest::Create, "-n_");
        bench.advance_ms(500);
        assert_eq!(own(&bench, late).len(), 1);
        bench.reconnect(late);
        bench.advance_ms(500);
        assert_eq!(own(&bench, late).len(), 1);
        bench.order(0, Order::Resign);
        bench.advance_ms(500);
        assert_eq!(bench.believers(), [late]);
    }
}

#[test]
fn a_create_that_never_arrived_is_sent_again() {
    let mut bench = Bench::new();
    let only = bench.enter(&queue());
    let id = only;
    bench.before(id, ScheduledRequest::Create, "-n_", move |ground| ground.disconnect(id));
    bench.advance_ms(100);
    assert!(own(&bench, only).is_empty());
    bench.reconnect(id);
    bench.advance_ms(100);
    assert_eq!(own(&bench, only).len(), 1);
    assert_eq!(bench.believers(), [only]);
}

#[test]
fn a_znode_with_its_guid_that_another_session_owns_is_not_adopted() {
    let mut bench = Bench::with(1, &queue());
    let late = bench.enter(&queue());
    let id = late;
    bench.drop_reply(id, ScheduledRequest::Create, "-n_");
    bench.run();
    let [path] = own(&bench, late).try_into().unwrap();
    let others = path.clone();
    // The server shows the znode as one of a session that is being closed.
    bench.before(id, ScheduledRequest::Sync, "", move |ground| {
        ground.remove(&path);
        ground.put_ephemeral(&path);
    });
    bench.reconnect(id);
    bench.advance_ms(500);
    assert_eq!(own(&bench, late).len(), 1);
    assert!(!own(&bench, late).contains(&others));
    let note =
        |e: &JournalEntry| matches!(e, JournalEntry::Said(Event::Note { text, .. }) if text.contains("not adopted"));
    assert_eq!(bench.count(late, note), 1);
    bench.remove(&others);
    bench.order(0, Order::Resign);
    bench.advance_ms(500);
    assert_eq!(bench.believers(), [late]);
}

#[test]
fn a_predecessor_that_goes_between_list_and_watch_costs_no_place_in_the_queue() {
    let mut bench = Bench::with(1, &queue());
    let (second, third) = (bench.enter(&queue()), bench.enter(&queue()));
    for late in [second, third] {
        bench.before(late, ScheduledRequest::Get, "-n_", |ground| ground.expire(0));
    }
    bench.run();
    assert_eq!(bench.believers(), [second]);
    for late in [second, third] {
        assert_eq!(bench.count(late, |e| matches!(e, JournalEntry::Said(Event::Joined { .. }))), 1, "it kept it");
    }
    let requests = bench.requests(second) + bench.requests(third);
    assert!(requests < 20, "{requests} requests");
}

#[test]
fn one_whose_znode_vanished_before_it_listed_stands_anew_and_does_not_lead_on_it() {
    let mut bench = Bench::with(1, &queue());
    let late = bench.enter(&queue());
    let id = late;
    bench.before(id, ScheduledRequest::Children, "", move |ground| {
        ground.owned(id).iter().for_each(|path| ground.remove(path));
    });
    bench.advance_ms(1_000);
    assert_eq!(bench.believers(), [0]);
    assert_eq!(bench.count(late, |e| matches!(e, JournalEntry::Said(Event::Joined { .. }))), 2);
    assert_eq!(own(&bench, late).len(), 1);
}

#[test]
fn one_who_expires_between_create_and_list_does_not_lead() {
    let mut bench = Bench::new();
    let only = bench.enter(&queue());
    let id = only;
    bench.before(id, ScheduledRequest::Children, "", move |ground| ground.expire(id));
    bench.run();
    assert_eq!(bench.departure(only), Some(Departure::SessionEnded(SessionEnd::Expired)));
    assert_eq!(bench.believers_max(), 0);
}

#[test]
fn one_who_expired_while_it_waited_does_not_lead_when_its_turn_comes() {
    let mut bench = Bench::with(2, &queue());
    let (first, second) = (0, 1);
    // Its turn comes, and its session ends before the owner check without a notification.
    bench.before(second, ScheduledRequest::Get, "-n_", move |ground| ground.expire_untold(second));
    bench.expire(first);
    bench.run();
    assert!(bench.believers().is_empty());
    bench.reconnect(second);
    bench.advance_ms(1_000);
    assert_eq!(bench.believers_max(), 1, "only the first ever led");
}

#[test]
fn an_owner_check_that_was_long_under_way_is_made_again() {
    let mut bench = Bench::new();
    let only = bench.enter(&queue());
    bench.delay(only, ScheduledRequest::Get, "-n_", 700);
    bench.advance_ms(800);
    assert_eq!(bench.believers(), [only]);
    let quick = Bench::with(1, &queue());
    assert!(bench.requests(only) > quick.requests(0), "it asked once more");
}

#[test]
fn watches_do_not_grow_with_churn() {
    for recipe in [RecipeKind::PredecessorWatch, RecipeKind::Naive, RecipeKind::LockRace] {
        let election = election(recipe, StepDown::OnDisconnect);
        let mut bench = Bench::with(4, &election);
        let watches = bench.watches();
        assert_eq!(watches, 4, "{recipe}: one each");
        for round in 0..20 {
            let goes = if round % 2 == 0 { bench.believers()[0] } else { round % 4 };
            bench.order(goes, Order::Resign);
            bench.advance_ms(200);
            bench.reenter(goes, &election);
            bench.advance_ms(200);
            assert_eq!(bench.watches(), watches, "{recipe} after {round}");
        }
    }
}

#[test]
fn a_late_notification_of_an_older_watch_does_no_harm() {
    let mut bench = Bench::with(3, &queue());
    bench.hold_answers(1);
    bench.expire(0);
    bench.run();
    assert!(bench.believers().is_empty(), "it is on its way");
    // Notified by the reconnect first; the event in flight on the old connection arrives afterwards.
    bench.disconnect(1);
    bench.reconnect(1);
    bench.advance_ms(500);
    assert_eq!(bench.believers(), [1]);
    assert_eq!(bench.count(1, |e| matches!(e, JournalEntry::Said(Event::Grant { .. }))), 1);
    assert_eq!(bench.count(1, |e| matches!(e, JournalEntry::Said(Event::Notified { .. }))), 1);
}

#[test]
fn numbers_that_repeat_let_nobody_past_who_came_first() {
    for recipe in [RecipeKind::PredecessorWatch, RecipeKind::Naive] {
        let election = election(recipe, StepDown::OnDisconnect);
        let mut bench = Bench::new();
        bench.count_from(i32::MAX);
        for i in 0..8 {
            bench.enter(&election);
            bench.run();
            assert_eq!(bench.believers(), [0], "{recipe}: {i} joined");
        }
        let numbers: Vec<_> = (0..8).map(|i| own(&bench, i)[0].rsplit('_').next().unwrap().to_owned()).collect();
        assert!(numbers.iter().all(|number| number == "2147483647"), "{numbers:?}");
        for i in 0..8 {
            assert_eq!(bench.believers(), [i], "{recipe}");
            bench.expire(i);
            bench.run();
        }
    }
}
