//! Lost connections, lost sessions, lost znodes, under each step-down policy.

use hustings_record::{Event, StepDown};
use hustings_workloads::coordination::{SessionEnd, WatchEvent};
use hustings_workloads::host::{Departure, Order, RevokeReason};
use hustings_workloads::model::Bugs;
use hustings_workloads::recipes::RecipeKind;
use hustings_workloads::schedule::ScheduledRequest;

use hustings_workloads::simulation::bench::{Bench, JournalEntry, election};

fn revokes(bench: &Bench, index: usize) -> Vec<RevokeReason> {
    let reason = |entry: &JournalEntry| {
        if let JournalEntry::Said(Event::Revoke { reason, .. }) = entry { Some(*reason) } else { None }
    };
    bench.journal(index).iter().filter_map(reason).collect()
}

fn tokens(bench: &Bench, index: usize) -> Vec<i64> {
    let token = |entry: &JournalEntry| {
        if let JournalEntry::Said(Event::Grant { czxid, .. }) = entry { Some(*czxid) } else { None }
    };
    bench.journal(index).iter().filter_map(token).collect()
}

#[test]
fn on_disconnect_the_belief_ends_at_once_and_comes_back_as_a_new_term_with_the_same_token() {
    for recipe in RecipeKind::sound() {
        let mut bench = Bench::with(3, &election(recipe, StepDown::OnDisconnect));
        bench.disconnect(0);
        bench.run();
        assert!(bench.believers().is_empty(), "{recipe}");
        assert_eq!(bench.owned(0).len(), 1, "{recipe} keeps its znode");
        bench.reconnect(0);
        bench.advance_ms(500);
        assert_eq!(bench.believers(), [0], "{recipe}");
        assert_eq!(revokes(&bench, 0), [RevokeReason::SteppedDown]);
        let tokens = tokens(&bench, 0);
        assert!(tokens.len() == 2 && tokens[0] == tokens[1], "{recipe}: {tokens:?}");
    }
}

#[test]
fn on_expiry_a_lead_outlives_a_lost_connection() {
    for recipe in RecipeKind::sound() {
        let mut bench = Bench::with(3, &election(recipe, StepDown::OnExpiry));
        bench.disconnect(0);
        bench.advance_ms(900);
        assert_eq!(bench.believers(), [0], "{recipe}");
        bench.reconnect(0);
        bench.advance_ms(900);
        assert_eq!((bench.believers(), tokens(&bench, 0).len()), (vec![0], 1), "{recipe}");
    }
}

#[test]
fn on_expiry_two_lead_while_the_old_leader_does_not_know() {
    let mut bench = Bench::with(2, &election(RecipeKind::PredecessorWatch, StepDown::OnExpiry));
    bench.disconnect(0);
    bench.run();
    bench.expire_untold(0);
    bench.run();
    assert_eq!(bench.believers(), [0, 1], "known to be unsafe");
    bench.reconnect(0);
    bench.run();
    assert_eq!(bench.believers(), [1]);
    assert_eq!(revokes(&bench, 0), [RevokeReason::SessionEnded]);
}

#[test]
fn after_a_fraction_of_t_the_belief_ends_unless_the_connection_is_back() {
    for recipe in RecipeKind::sound() {
        let mut bench = Bench::with(2, &election(recipe, StepDown::After(0.5)));
        bench.disconnect(0);
        bench.advance_ms(990);
        assert_eq!(bench.believers(), [0], "{recipe}");
        bench.reconnect(0);
        bench.advance_ms(2_000);
        assert_eq!((bench.believers(), tokens(&bench, 0).len()), (vec![0], 1), "{recipe} kept its term");
        bench.disconnect(0);
        bench.advance_ms(1_010);
        assert!(bench.believers().is_empty(), "{recipe}");
        assert_eq!(revokes(&bench, 0), [RevokeReason::SteppedDown]);
    }
}

#[test]
fn an_owner_check_without_an_answer_does_not_stop_the_clock_of_the_step_down() {
    let mut bench = Bench::with(1, &election(RecipeKind::PredecessorWatch, StepDown::After(0.5)));
    let id = 0;
    bench.disconnect(id);
    bench.advance_ms(200);
    bench.before(id, ScheduledRequest::Exists, "", move |ground| ground.silence(id));
    bench.before(id, ScheduledRequest::Sync, "", move |ground| ground.silence(id));
    bench.reconnect(id);
    bench.advance_ms(810);
    assert!(bench.believers().is_empty());
}

#[test]
fn a_leader_whose_znode_went_while_it_was_away_is_deposed() {
    for step_down in [StepDown::OnExpiry, StepDown::After(1.3)] {
        for recipe in RecipeKind::sound() {
            let mut bench = Bench::with(1, &election(recipe, step_down));
            let path = bench.owned(0).remove(0);
            bench.disconnect(0);
            bench.run();
            bench.remove(&path);
            bench.run();
            bench.reconnect(0);
            bench.advance_ms(100);
            assert_eq!(revokes(&bench, 0), [RevokeReason::Deposed], "{recipe}");
            bench.advance_ms(1_000);
            assert_eq!(bench.believers(), [0], "{recipe} stood anew");
            assert_ne!(tokens(&bench, 0)[0], tokens(&bench, 0)[1]);
        }
    }
}

#[test]
fn a_leader_whose_znode_is_deleted_from_outside_is_deposed_at_once_and_stands_anew() {
    for recipe in RecipeKind::sound() {
        let mut bench = Bench::with(3, &election(recipe, StepDown::OnExpiry));
        let path = bench.owned(0).remove(0);
        bench.remove(&path);
        bench.run();
        assert!(!bench.believers().contains(&0), "{recipe}");
        assert_eq!(revokes(&bench, 0), [RevokeReason::Deposed], "{recipe}");
        let of_own = |e: &JournalEntry| matches!(e, JournalEntry::Said(Event::Notified { node, kind: WatchEvent::Deleted, .. }) if path.ends_with(node));
        assert_eq!(bench.count(0, of_own), 1, "{recipe}");
        bench.advance_ms(1_000);
        assert_eq!(bench.believers().len(), 1, "{recipe}");
        assert!(bench.departure(0).is_none());
    }
}

#[test]
fn data_written_to_the_leaders_znode_ends_nothing_and_the_watch_is_armed_again() {
    let mut bench = Bench::with(1, &election(RecipeKind::PredecessorWatch, StepDown::OnDisconnect));
    let path = bench.owned(0).remove(0);
    bench.set(&path, "x");
    bench.run();
    assert_eq!((bench.believers(), tokens(&bench, 0).len()), (vec![0], 1));
    bench.remove(&path);
    bench.run();
    assert_eq!(revokes(&bench, 0), [RevokeReason::Deposed]);
}

#[test]
fn a_follower_does_nothing_about_a_lost_connection() {
    for recipe in [RecipeKind::PredecessorWatch, RecipeKind::Naive, RecipeKind::LockRace] {
        let mut bench = Bench::with(2, &election(recipe, StepDown::OnDisconnect));
        bench.clear_journal();
        bench.disconnect(1);
        bench.advance_ms(1_000);
        bench.reconnect(1);
        bench.advance_ms(1_000);
        assert!(bench.journal(1).is_empty(), "{recipe}");
        assert_eq!(bench.believers(), [0]);
    }
}

#[test]
fn a_watch_that_a_reconnect_lost_is_made_up_for_by_looking_again() {
    for recipe in [RecipeKind::PredecessorWatch, RecipeKind::Naive, RecipeKind::LockRace] {
        let forgetful = || {
            let mut bench = Bench::on(Bugs { forget_missed_events: true, ..Bugs::default() });
            bench.enter_all(2, &election(recipe, StepDown::OnDisconnect));
            bench
        };
        let mut bench = forgetful();
        bench.disconnect(1);
        bench.run();
        bench.expire(0);
        bench.run();
        bench.reconnect(1);
        bench.advance_ms(100);
        assert_eq!(bench.believers(), [1], "{recipe}: gone meanwhile");

        let mut bench = forgetful();
        bench.disconnect(1);
        bench.run();
        bench.reconnect(1);
        bench.run();
        bench.expire(0);
        bench.advance_ms(100);
        assert_eq!(bench.believers(), [1], "{recipe}: gone afterwards");
    }
}

#[test]
fn two_quick_disconnects_leave_one_znode_and_one_belief() {
    for recipe in RecipeKind::sound() {
        let mut bench = Bench::with(2, &election(recipe, StepDown::OnDisconnect));
        let id = 0;
        for _ in 0..2 {
            bench.flap(id);
            bench.run();
        }
        bench.advance_ms(1_000);
        assert_eq!(bench.owned(id).len(), 1, "{recipe}");
        assert_eq!((bench.believers(), bench.believers_max()), (vec![0], 1), "{recipe}");
    }
}

#[test]
fn a_disconnect_nobody_saw_is_followed_by_an_owner_check() {
    let mut bench = Bench::with(1, &election(RecipeKind::PredecessorWatch, StepDown::OnExpiry));
    let id = 0;
    let requests = bench.requests(id);
    bench.flap(id);
    bench.run();
    assert!(bench.requests(id) > requests);
    assert_eq!(bench.believers(), [0]);
}

#[test]
fn an_expired_follower_departs_and_the_leader_stays() {
    let mut bench = Bench::with(3, &election(RecipeKind::Naive, StepDown::OnDisconnect));
    bench.expire(2);
    bench.run();
    assert_eq!(bench.departure(2), Some(Departure::SessionEnded(SessionEnd::Expired)));
    assert_eq!(bench.believers(), [0]);
}

#[test]
fn at_most_one_of_ten_leads_when_all_lose_their_connection_and_exactly_one_afterwards() {
    for recipe in RecipeKind::sound() {
        let mut bench = Bench::with(10, &election(recipe, StepDown::OnDisconnect));
        for i in 0..10 {
            bench.disconnect(i);
        }
        bench.advance_ms(500);
        assert!(bench.believers().is_empty(), "{recipe}");
        for i in (0..10).rev() {
            bench.reconnect(i);
            bench.run();
        }
        bench.advance_ms(500);
        assert_eq!((bench.believers().len(), bench.believers_max()), (1, 1), "{recipe}");
        bench.order(0, Order::Stop);
        bench.run();
        assert_eq!(bench.departure(0), Some(Departure::Stopped));
    }
}
