//! The succession of leaders, and the candidates that it wakes: the same for all recipes.

use hustings_record::{Event, FanOut, StepDown};
use hustings_workloads::coordination::SessionEnd;
use hustings_workloads::host::{Departure, Order};
use hustings_workloads::recipes::RecipeKind;

use hustings_workloads::simulation::bench::{Bench, JournalEntry, election};

#[test]
fn a_sole_candidate_leads_by_an_ephemeral_znode_and_says_nothing_more() {
    for recipe in RecipeKind::sound() {
        let mut bench = Bench::with(1, &election(recipe, StepDown::OnDisconnect));
        bench.advance_ms(5_000);
        assert_eq!(bench.believers(), [0], "{recipe}");
        assert_eq!(bench.owned(0).len(), 1, "{recipe}");
        let told: Vec<JournalEntry> = bench.journal(0);
        assert!(
            matches!(
                told.as_slice(),
                [
                    JournalEntry::Said(Event::Joined { .. }),
                    JournalEntry::Said(Event::Grant { term: 0, .. }),
                    JournalEntry::Believes(Some(_)),
                    JournalEntry::Said(Event::Granted { term: 0, .. }),
                    JournalEntry::Said(Event::Settled { .. })
                ]
            ),
            "{recipe}: {told:?}"
        );
    }
}

#[test]
fn a_grant_names_the_znode_and_the_session_that_own_the_lead() {
    for recipe in RecipeKind::sound() {
        let mut bench = Bench::with(2, &election(recipe, StepDown::OnDisconnect));
        let journal = bench.journal(0);
        let Some(JournalEntry::Said(Event::Grant { czxid, session, node, .. })) =
            journal.iter().find(|e| matches!(e, JournalEntry::Said(Event::Grant { .. })))
        else {
            panic!("{recipe}: no grant")
        };
        assert_eq!(*session, bench.session(0));
        assert_eq!(bench.owned(0), [format!("/election/g0/{node}")]);
        assert_eq!(bench.leader(recipe).unwrap().unwrap().czxid, *czxid);
    }
}

#[test]
fn when_the_leaders_session_expires_exactly_one_other_leads() {
    for recipe in RecipeKind::sound() {
        let mut bench = Bench::with(10, &election(recipe, StepDown::OnExpiry));
        bench.expire(0);
        bench.advance_ms(200);
        assert_eq!(bench.believers().len(), 1, "{recipe}");
        assert_ne!(bench.believers(), [0], "{recipe}");
        assert_eq!(bench.departure(0), Some(Departure::SessionEnded(SessionEnd::Expired)));
    }
}

#[test]
fn a_leaders_loss_wakes_as_many_as_the_recipe_promises() {
    for recipe in RecipeKind::sound() {
        for n in [2, 10, 50] {
            let mut bench = Bench::with(n, &election(recipe, StepDown::OnDisconnect));
            bench.clear_journal();
            bench.order(0, Order::Resign);
            bench.advance_ms(300);
            let promised = match recipe.declares().leader_wakes {
                FanOut::One => 1,
                FanOut::Two => 2.min(n - 1),
                FanOut::AllOthers => n - 1,
                FanOut::None => 0,
            };
            assert_eq!(bench.others_notified(0), promised, "{recipe} at {n}");
            assert_eq!(bench.believers().len(), 1, "{recipe} at {n}");
        }
    }
}

#[test]
fn every_notification_is_settled() {
    for recipe in RecipeKind::sound() {
        let mut bench = Bench::with(6, &election(recipe, StepDown::OnDisconnect));
        bench.clear_journal();
        bench.order(0, Order::Resign);
        bench.advance_ms(300);
        for i in 0..6 {
            let notified = bench.count(i, |e| matches!(e, JournalEntry::Said(Event::Notified { .. })));
            assert_eq!(
                bench.count(i, |e| matches!(e, JournalEntry::Said(Event::Settled { .. }))),
                usize::from(notified > 0),
                "{recipe}: {i}"
            );
        }
    }
}

#[test]
fn what_is_settled_says_how_many_requests_it_took() {
    // Requests to join as leader and as follower, and at the leader's loss for the next one and another notified one.
    // Each lists and watches; for the lock it tries, and the new holder reads and writes the breadcrumb before the
    // owner check.
    for (recipe, expected) in [
        (RecipeKind::PredecessorWatch, [vec![2], vec![2, 2], vec![2]]),
        (RecipeKind::Naive, [vec![2], vec![2, 2], vec![2, 2]]),
        (RecipeKind::LockRace, [vec![3], vec![1, 4], vec![1, 2]]),
    ] {
        let mut bench = Bench::with(3, &election(recipe, StepDown::OnDisconnect));
        bench.order(0, Order::Resign);
        bench.run();
        let [leader] = bench.believers().try_into().unwrap();
        let settled = |entry: &JournalEntry| match entry {
            JournalEntry::Said(Event::Settled { requests, .. }) => Some(*requests),
            _ => None,
        };
        let of = |index: usize| bench.journal(index).iter().filter_map(settled).collect::<Vec<_>>();
        let joined = of(0)[..1].to_vec();
        assert_eq!([joined, of(leader), of(3 - leader)], expected, "{recipe}");
    }
}

#[test]
fn one_who_stands_again_follows() {
    for recipe in RecipeKind::sound() {
        let election = election(recipe, StepDown::OnDisconnect);
        let mut bench = Bench::with(3, &election);
        bench.order(0, Order::Resign);
        bench.advance_ms(300);
        let leader = bench.believers();
        bench.reenter(0, &election);
        bench.advance_ms(1_000);
        assert_eq!(bench.believers(), leader, "{recipe}");
        assert_eq!(bench.believers_max(), 1, "{recipe}");
    }
}

#[test]
fn terms_of_one_candidate_never_share_a_number() {
    let election = election(RecipeKind::PredecessorWatch, StepDown::OnDisconnect);
    let mut bench = Bench::with(1, &election);
    for _ in 0..3 {
        bench.order(0, Order::Resign);
        bench.run();
        bench.reenter(0, &election);
        bench.run();
    }
    let term = |entry: &JournalEntry| {
        if let JournalEntry::Said(Event::Grant { term, .. }) = entry { Some(*term) } else { None }
    };
    let terms: Vec<u32> = bench.journal(0).iter().filter_map(term).collect();
    assert_eq!(terms, [0, 1, 2, 3]);
}

#[test]
fn the_report_of_a_grant_comes_before_the_belief_and_that_of_a_revoke_after_it() {
    let mut bench = Bench::with(1, &election(RecipeKind::LockRace, StepDown::OnDisconnect));
    bench.order(0, Order::Resign);
    bench.run();
    let order: Vec<&str> = bench
        .journal(0)
        .iter()
        .filter_map(|entry| match entry {
            JournalEntry::Said(Event::Grant { .. }) => Some("grant"),
            JournalEntry::Believes(Some(_)) => Some("believe"),
            JournalEntry::Said(Event::Granted { .. }) => Some("granted"),
            JournalEntry::Believes(None) => Some("disbelieve"),
            JournalEntry::Said(Event::Revoke { .. }) => Some("revoke"),
            _ => None,
        })
        .collect();
    assert_eq!(order, ["grant", "believe", "granted", "disbelieve", "revoke"]);
}
