//! The end of an election, its beginning, and requests about it from outside.

use hustings_record::{Event, StepDown};
use hustings_workloads::host::{Departure, RevokeReason};
use hustings_workloads::model::Bugs;
use hustings_workloads::recipes::{Election, RecipeKind};

use hustings_workloads::simulation::bench::{Bench, JournalEntry, PATH, election};

fn assert_all_notified(bench: &Bench, n: usize, recipe: RecipeKind) {
    for i in 0..n {
        assert_eq!(bench.departure(i), Some(Departure::ElectionDeleted), "{recipe}: {i}");
    }
    assert!(bench.believers().is_empty(), "{recipe}");
    assert!(!bench.has("/election/g0"), "{recipe}: it stays deleted");
}

#[test]
fn when_the_election_is_deleted_everybody_is_told_and_ends() {
    for recipe in RecipeKind::sound() {
        let mut bench = Bench::with(5, &election(recipe, StepDown::OnExpiry));
        bench.delete_election(PATH).unwrap();
        bench.advance_ms(2_000);
        assert_all_notified(&bench, 5, recipe);
        let deposed =
            |e: &JournalEntry| matches!(e, JournalEntry::Said(Event::Revoke { reason: RevokeReason::Deposed, .. }));
        assert_eq!(bench.count(0, deposed), 1, "{recipe}");
    }
}

#[test]
fn a_recursive_delete_from_outside_ends_it_too() {
    for recipe in RecipeKind::sound() {
        let mut bench = Bench::with(5, &election(recipe, StepDown::OnDisconnect));
        bench.remove_all("/election/g0");
        bench.advance_ms(2_000);
        assert_all_notified(&bench, 5, recipe);
    }
}

#[test]
fn an_election_deleted_while_all_are_away_is_noticed_when_they_come_back() {
    for recipe in RecipeKind::sound() {
        let mut bench = Bench::with(3, &election(recipe, StepDown::OnDisconnect));
        for i in 0..3 {
            bench.disconnect(i);
        }
        bench.run();
        bench.remove_all("/election/g0");
        bench.run();
        for i in 0..3 {
            bench.reconnect(i);
        }
        bench.advance_ms(2_000);
        assert_all_notified(&bench, 3, recipe);
    }
}

#[test]
fn deleting_a_missing_election_is_no_error() {
    let mut bench = Bench::new();
    assert_eq!(bench.delete_election("/election/none"), Ok(()));
}

#[test]
fn a_thousand_candidates_that_come_while_the_election_is_deleted_all_end_and_the_tree_is_gone() {
    for recipe in [RecipeKind::PredecessorWatch, RecipeKind::LockRace] {
        let first = election(recipe, StepDown::OnDisconnect);
        let late = Election { create_missing: false, ..first.clone() };
        let mut bench = Bench::with(1, &first);
        for _ in 1..500 {
            bench.enter(&late);
        }
        bench.run();
        for i in 0..500 {
            bench.enter(&late);
            if i == 250 {
                bench.delete_election(PATH).unwrap();
            }
        }
        bench.advance_ms(5_000);
        assert_all_notified(&bench, 1_000, recipe);
    }
}

#[test]
fn an_election_that_is_missing_at_first_is_created_or_not_as_told() {
    for recipe in RecipeKind::sound() {
        let mut bench = Bench::bare(Bugs::default());
        let told_not_to = Election { create_missing: false, ..election(recipe, StepDown::OnDisconnect) };
        bench.enter(&told_not_to);
        bench.run();
        assert_eq!(bench.departure(0), Some(Departure::ElectionDeleted), "{recipe}");
        let mut bench = Bench::bare(Bugs::default());
        bench.enter(&election(recipe, StepDown::OnDisconnect));
        bench.run();
        assert_eq!(bench.believers(), [0], "{recipe}");
        assert!(bench.has("/election/g0"));
    }
}

#[test]
fn anybody_may_ask_who_leads() {
    for recipe in RecipeKind::sound() {
        let mut bench = Bench::bare(Bugs::default());
        assert_eq!(bench.leader(recipe), Ok(None));
        for _ in 0..3 {
            bench.enter(&election(recipe, StepDown::OnDisconnect));
            bench.run();
        }
        let lead = bench.leader(recipe).unwrap().unwrap();
        assert_eq!((lead.session, lead.who), (bench.session(0), Some((0, 0))), "{recipe}");
    }
}
