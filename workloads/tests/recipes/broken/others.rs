//! Those that are safe and always have a leader, and are wrong all the same.

use hustings_workloads::booth::{Order, RevokeReason};
use hustings_workloads::recipes::StepDown;

use super::{both, tokens};
use crate::support::{Bench, Entry, election};

#[test]
fn tokens_made_of_sequence_numbers_go_back_at_the_wrap() {
    let (broken, sound) = both("sequence-as-token", |recipe| {
        let mut bench = Bench::new();
        bench.ensemble.set_counter("/election/g0", i32::MAX - 1);
        for _ in 0..3 {
            bench.enter(&election(recipe, StepDown::OnDisconnect));
            bench.run();
        }
        for index in [0, 1] {
            bench.order(index, Order::Resign);
            bench.run();
        }
        assert_eq!((bench.believers(), bench.believers_max()), (vec![2], 1), "{recipe}");
        bench
    });
    assert!(tokens(&broken, 0)[0] < tokens(&broken, 1)[0] && tokens(&broken, 2)[0] < tokens(&broken, 0)[0]);
    assert!(tokens(&sound, 0)[0] < tokens(&sound, 1)[0] && tokens(&sound, 1)[0] < tokens(&sound, 2)[0]);
}

#[test]
fn where_everybody_watches_the_head_its_loss_wakes_everybody() {
    let (broken, sound) = both("wakes-everybody", |recipe| {
        let mut bench = super::bench(5, recipe);
        bench.clear_journal();
        bench.ensemble.expire(bench.session(0));
        bench.run();
        assert_eq!((bench.believers(), bench.believers_max()), (vec![1], 1), "{recipe}");
        bench
    });
    assert_eq!((broken.others_notified(0), sound.others_notified(0)), (4, 1));
}

#[test]
fn a_lease_that_nobody_renews_hands_the_lead_over_without_a_cause() {
    let (broken, sound) = both("lease-not-renewed", |recipe| {
        let mut bench = super::bench(2, recipe);
        bench.advance_ms(1_000);
        assert_eq!(bench.believers_max(), 1, "{recipe}");
        bench
    });
    let stepped_down = |entry: &Entry| matches!(entry, Entry::Revoke { reason: RevokeReason::SteppedDown, .. });
    assert_eq!((broken.believers(), broken.count(0, stepped_down)), (vec![1], 1));
    assert_eq!((sound.believers(), sound.count(0, stepped_down)), (vec![0], 0));
}
