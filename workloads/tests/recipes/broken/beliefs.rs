//! Those that make two leaders.

use hustings_workloads::booth::{Departure, Order};
use hustings_workloads::coordination::SessionEnd;
use hustings_workloads::recipes::{RecipeKind, StepDown};

use super::{both, come_back, flap, owned, tokens};
use crate::support::{Bench, Entry, Kind, election};

const AT_ONCE: StepDown = StepDown::OnDisconnect;

#[test]
fn without_the_relist_the_death_of_one_in_the_middle_makes_two_leaders() {
    let (broken, sound) = both("no-relist", |recipe| {
        let mut bench = super::bench(3, recipe);
        bench.order(1, Order::Resign);
        bench.run();
        bench
    });
    assert_eq!((broken.believers(), sound.believers()), (vec![0, 2], vec![0]));
}

#[test]
fn a_leader_that_ignores_the_loss_of_its_session_leads_beside_the_next_for_a_bounded_time() {
    let mut bench = Bench::with(2, &election(RecipeKind::IgnoresSessionLoss, AT_ONCE));
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
    for recipe in [RecipeKind::IgnoresSessionLoss, RecipeKind::SilentWatchEnd] {
        let mut bench = Bench::with(1, &election(recipe, AT_ONCE));
        bench.ensemble.expire(bench.session(0));
        bench.run();
        bench.order(0, Order::Stop);
        bench.advance_ms(2_000);
        assert!(bench.believers().is_empty(), "{recipe}");
        assert_eq!(bench.departure(0), Some(Departure::Stopped), "{recipe}");
        assert_eq!(bench.count(0, |e| matches!(e, Entry::Revoke { .. })), 1, "{recipe}");
    }
}

#[test]
fn one_that_comes_back_and_adopts_what_bears_its_name_leads_on_what_is_about_to_go() {
    for name in ["adopts-closing-session", "lock-by-name"] {
        let (broken, sound) = both(name, |recipe| {
            let mut bench = super::bench(3, recipe);
            let last_life = bench.session(0);
            bench.kill(0);
            come_back(&mut bench, 0, recipe);
            bench.ensemble.hold_events_of(bench.session(0));
            bench.ensemble.expire(last_life);
            bench.run();
            bench
        });
        assert_eq!(broken.believers().len(), 2, "{name}");
        assert_eq!((sound.believers(), sound.believers_max()), (vec![1], 1), "{name}");
    }
}

#[test]
fn two_handlers_of_reconnects_leave_a_leader_without_its_znode() {
    let (broken, sound) = both("interleaved-reconnects", |recipe| {
        let mut bench = super::bench(3, recipe);
        flap(&mut bench, 0);
        bench.advance_ms(100);
        flap(&mut bench, 0);
        bench.advance_ms(1_000);
        bench
    });
    assert_eq!((broken.believers(), sound.believers()), (vec![0, 1], vec![0]));
    assert_eq!(sound.believers_max(), 1);
    let led_on = tokens(&broken, 0).pop().unwrap();
    assert!(led_on < tokens(&broken, 1)[0], "what it writes is stale");
}

#[test]
fn one_that_steps_down_late_is_overtaken_by_the_end_of_its_session() {
    for name in ["timer-from-suspended", "slow-step-down"] {
        let (broken, sound) = both(name, |recipe| {
            let mut bench = super::bench(2, recipe);
            // The loss is seen 0.4 T after the ensemble last heard of it.
            bench.ensemble.disconnect(bench.session(0));
            bench.advance_ms(610);
            bench.ensemble.expire_untold(bench.session(0));
            bench.run();
            bench
        });
        assert_eq!((broken.believers(), sound.believers()), (vec![0, 1], vec![1]), "{name}");
        assert_eq!(sound.believers_max(), 1);
    }
}

#[test]
fn a_timer_on_the_wall_clock_is_right_until_that_is_set_back() {
    let play = |recipe, set_back| {
        let mut bench = Bench::with(2, &election(recipe, StepDown::After(0.5)));
        bench.ensemble.disconnect(bench.session(0));
        bench.advance_ms(100);
        bench.hall.set_back.set(set_back);
        bench.advance_ms(510);
        bench.ensemble.expire_untold(bench.session(0));
        bench.run();
        bench
    };
    let hour = 3_600_000_000_000;
    let (broken, sound) = both("wall-clock-timer", |recipe| play(recipe, hour));
    assert_eq!((broken.believers(), sound.believers()), (vec![0, 1], vec![1]));
    assert_eq!(play(RecipeKind::WallClockTimer, 0).believers(), [1]);
}

#[test]
fn a_cancellation_between_acquiring_and_believing_is_lost() {
    let (broken, sound) = both("cancel-before-flag", |recipe| {
        let mut bench = super::bench(3, recipe);
        bench.order(0, Order::Resign);
        bench.advance_ms(100);
        bench.ensemble.expire(bench.session(1));
        bench.advance_ms(1_000);
        bench
    });
    assert_eq!((broken.believers(), sound.believers()), (vec![1, 2], vec![2]));
    assert_eq!(sound.believers_max(), 1);
}

#[test]
fn a_watch_that_ends_without_a_word_leaves_a_leader_that_hears_nothing() {
    let (broken, sound) = both("silent-watch-end", |recipe| {
        let mut bench = super::bench(2, recipe);
        bench.ensemble.disconnect(bench.session(0));
        bench.run();
        bench.ensemble.expire(bench.session(0));
        bench.advance_ms(10_000);
        bench
    });
    assert_eq!((broken.believers(), sound.believers()), (vec![0, 1], vec![1]));
}

#[test]
fn one_that_does_not_look_for_its_znode_leads_without_it() {
    let (broken, sound) = both("no-own-check", |recipe| {
        let mut bench = super::bench(1, recipe);
        let second = bench.enter(&election(recipe, AT_ONCE));
        let id = bench.session(second);
        bench.ensemble.before(id, Kind::Children, "", move |ensemble| {
            ensemble.owned_by(id).iter().for_each(|path| {
                ensemble.remove(path);
            });
        });
        bench.run();
        bench.enter(&election(recipe, AT_ONCE));
        bench.advance_ms(500);
        bench.order(0, Order::Resign);
        bench.advance_ms(500);
        bench
    });
    assert_eq!((broken.believers(), sound.believers()), (vec![1, 2], vec![2]));
    assert!(owned(&broken, 1).is_empty());
}

#[test]
fn one_whose_session_ends_while_it_waits_leads_when_it_wakes() {
    let (broken, sound) = both("no-recheck-after-wait", |recipe| {
        let mut bench = super::bench(3, recipe);
        bench.ensemble.expire(bench.session(1));
        bench.advance_ms(5_000);
        bench
    });
    assert_eq!((broken.believers(), sound.believers()), (vec![0, 1], vec![0]));
}

#[test]
fn sorted_as_text_the_first_after_the_wrap_comes_before_all() {
    let (broken, sound) = both("sorts-as-text", |recipe| {
        let mut bench = Bench::new();
        bench.ensemble.set_counter("/election/g0", i32::MAX - 2);
        for _ in 0..3 {
            bench.enter(&election(recipe, AT_ONCE));
            bench.run();
        }
        assert_eq!(bench.believers(), [0]);
        bench.ensemble.expire(bench.session(2));
        bench.run();
        come_back(&mut bench, 2, recipe);
        bench
    });
    assert_eq!((broken.believers(), sound.believers()), (vec![0, 2], vec![0]));
}

#[test]
fn one_that_gives_its_znode_back_first_leads_beside_its_successor() {
    let (broken, sound) = both("leaves-before-it-stops", |recipe| {
        let mut bench = super::bench(2, recipe);
        bench.ensemble.hold_reply(bench.session(0), Kind::Delete, "-n_");
        bench.order(0, Order::Resign);
        bench.advance_ms(1_000);
        bench
    });
    assert_eq!((broken.believers(), sound.believers()), (vec![0, 1], vec![1]));
    assert_eq!(sound.believers_max(), 1);
}
