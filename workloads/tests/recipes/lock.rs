//! The lock recipes: the lock's owner, the breadcrumb, fencing before leading.

use hustings_record::{Event, StepDown};
use hustings_workloads::host::Order;
use hustings_workloads::recipes::{Election, RecipeKind};

use hustings_workloads::schedule::ScheduledRequest;
use hustings_workloads::simulation::bench::{Bench, JournalEntry, election};

const BREADCRUMB: &str = "/election/g0/breadcrumb";
const LOCK: &str = "/election/g0/lock";

fn race() -> Election {
    election(RecipeKind::LockRace, StepDown::OnDisconnect)
}

fn fenced(bench: &Bench, index: usize) -> Vec<u32> {
    let old = |entry: &JournalEntry| if let JournalEntry::Fences(old) = entry { Some(old.candidate) } else { None };
    bench.journal(index).iter().filter_map(old).collect()
}

#[test]
fn a_crash_leaves_the_breadcrumb_and_the_next_fences_the_old_leader_before_it_leads() {
    let mut bench = Bench::with(2, &race());
    bench.expire(0);
    bench.run();
    assert_eq!(bench.believers(), [1]);
    let tells = |e: &JournalEntry| matches!(e, JournalEntry::Fences(_) | JournalEntry::Said(Event::Grant { .. }));
    let order: Vec<JournalEntry> = bench.journal(1).into_iter().filter(tells).collect();
    assert!(
        matches!(order.as_slice(), [JournalEntry::Fences(old), JournalEntry::Said(Event::Grant { .. })] if old.candidate == 0)
    );
    assert!(bench.data(BREADCRUMB).unwrap().starts_with("1 1 "), "it names the new leader");
}

#[test]
fn a_graceful_resign_takes_the_breadcrumb_along_and_nobody_is_fenced() {
    let mut bench = Bench::with(2, &race());
    bench.order(0, Order::Resign);
    bench.run();
    assert_eq!(bench.believers(), [1]);
    assert!(fenced(&bench, 1).is_empty());
}

#[test]
fn nobody_fences_itself() {
    let mut bench = Bench::with(1, &race());
    bench.expire(0);
    bench.run();
    bench.reenter(0, &race());
    bench.run();
    assert_eq!(bench.believers(), [0]);
    assert!(fenced(&bench, 0).is_empty());
}

#[test]
fn one_who_cannot_fence_gives_the_lock_back_and_tries_again() {
    let mut bench = Bench::with(2, &race());
    bench.let_fencing_fail(true);
    bench.expire(0);
    bench.advance_ms(500);
    assert!(bench.believers().is_empty());
    assert!(!bench.has(LOCK));
    bench.advance_ms(3_000);
    let tries = fenced(&bench, 1).len();
    assert!((3..=4).contains(&tries), "{tries} tries in 3.5 s");
    bench.let_fencing_fail(false);
    bench.advance_ms(1_100);
    assert_eq!(bench.believers(), [1]);
}

#[test]
fn a_breadcrumb_whose_answer_was_lost_is_read_again_and_not_fought_over() {
    let mut bench = Bench::with(2, &race());
    let id = 1;
    bench.drop_reply(id, ScheduledRequest::Set, BREADCRUMB);
    bench.expire(0);
    bench.run();
    assert!(bench.believers().is_empty(), "no answer, no belief");
    bench.reconnect(id);
    bench.advance_ms(200);
    assert_eq!((bench.believers(), bench.believers_max()), (vec![1], 1));
    assert_eq!(fenced(&bench, 1), [0]);
}

#[test]
fn the_first_breadcrumb_of_all_survives_a_lost_answer_too() {
    let mut bench = Bench::new();
    let only = bench.enter(&race());
    bench.drop_reply(only, ScheduledRequest::Create, BREADCRUMB);
    bench.run();
    bench.reconnect(only);
    bench.advance_ms(200);
    assert_eq!(bench.believers(), [only]);
    bench.order(only, Order::Resign);
    bench.run();
    assert!(bench.paths("/election/g0").is_empty());
}

#[test]
fn one_who_finds_the_breadcrumb_changed_under_it_rejoins() {
    let mut bench = Bench::with(2, &race());
    bench.before(1, ScheduledRequest::Set, BREADCRUMB, |ground| {
        ground.set(BREADCRUMB, "7 7 1 1");
    });
    bench.expire(0);
    bench.advance_ms(500);
    assert!(bench.believers().is_empty());
    bench.advance_ms(1_000);
    assert_eq!(bench.believers(), [1]);
    assert_eq!(fenced(&bench, 1), [0, 7]);
}

#[test]
fn a_breadcrumb_that_names_nobody_keeps_everybody_from_leading() {
    let mut bench = Bench::with(1, &race());
    bench.set(BREADCRUMB, "<script>");
    bench.run();
    bench.expire(0);
    let late = bench.enter(&race());
    bench.advance_ms(3_000);
    assert!(bench.believers().is_empty());
    bench.remove(BREADCRUMB);
    bench.advance_ms(1_100);
    assert_eq!(bench.believers(), [late]);
}

#[test]
fn after_a_lost_create_the_owner_of_the_lock_decides() {
    for recipe in [RecipeKind::LockRace, RecipeKind::PollRace] {
        let election = election(recipe, StepDown::OnDisconnect);
        let mut bench = Bench::new();
        let first = bench.enter(&election);
        bench.drop_reply(first, ScheduledRequest::Create, LOCK);
        bench.run();
        let second = bench.enter(&election);
        bench.run();
        assert!(bench.believers().is_empty(), "{recipe}: the lock is there, its owner does not know");
        bench.reconnect(first);
        bench.advance_ms(300);
        assert_eq!(bench.believers(), [first], "{recipe}");
        let id = second;
        bench.flap(id);
        bench.advance_ms(300);
        assert_eq!(bench.believers(), [first], "{recipe}");
    }
}

#[test]
fn two_candidates_under_one_session_do_not_take_each_others_lock_for_their_own() {
    for recipe in RecipeKind::all().filter(|recipe| !recipe.is_broken()) {
        let election = election(recipe, StepDown::OnDisconnect);
        let mut bench = Bench::with(1, &election);
        let first = 0;
        let second = bench.enter_beside(first, &election);
        bench.advance_ms(500);
        assert_eq!((bench.believers(), bench.believers_max()), (vec![first], 1), "{recipe}");
        bench.order(first, Order::Resign);
        bench.advance_ms(500);
        assert_eq!((bench.believers(), bench.believers_max()), (vec![second], 1), "{recipe}");
    }
}

#[test]
fn pollers_watch_nothing_but_their_own_lead_and_take_over_within_an_interval() {
    let mut bench = Bench::with(5, &election(RecipeKind::PollRace, StepDown::OnDisconnect));
    bench.advance_ms(1_000);
    assert_eq!(bench.watches(), 1);
    let requests = |bench: &Bench| (0..5).map(|index| bench.requests(index)).sum::<u64>();
    let before = requests(&bench);
    bench.advance_ms(1_000);
    assert!((36..=44).contains(&(requests(&bench) - before)), "four tries at every 100 ms");
    bench.expire(0);
    bench.advance_ms(110);
    assert_eq!(bench.believers().len(), 1);
}
