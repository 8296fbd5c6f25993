//! Any schedule of faults: never two beliefs, no orphans, and one leader once it is over.

use hustings_workloads::booth::Order;
use hustings_workloads::recipes::{RecipeKind, StepDown};
use proptest::prelude::*;

use crate::support::{Bench, Kind, election};

const CANDIDATES: usize = 4;

#[derive(Clone, Copy, Debug)]
enum Blow {
    Disconnect(usize),
    Reconnect(usize),
    Expire(usize),
    Resign(usize),
    Back(usize),
    DropReply(usize, usize),
    DeleteFromOutside(usize),
    HoldEvents,
    ReleaseEvents,
    Wait(u64),
}

fn blows() -> impl Strategy<Value = Vec<Blow>> {
    let who = 0..CANDIDATES;
    let blow = prop_oneof![
        who.clone().prop_map(Blow::Disconnect),
        who.clone().prop_map(Blow::Reconnect),
        who.clone().prop_map(Blow::Expire),
        who.clone().prop_map(Blow::Resign),
        who.clone().prop_map(Blow::Back),
        (who.clone(), 0..KINDS.len()).prop_map(|(who, kind)| Blow::DropReply(who, kind)),
        who.prop_map(Blow::DeleteFromOutside),
        Just(Blow::HoldEvents),
        Just(Blow::ReleaseEvents),
        (1..800_u64).prop_map(Blow::Wait),
    ];
    prop::collection::vec(blow, 1..60)
}

const KINDS: [Kind; 8] =
    [Kind::Create, Kind::Delete, Kind::Children, Kind::Exists, Kind::GetAndWatch, Kind::Get, Kind::Set, Kind::Sync];

fn strike(bench: &mut Bench, blow: Blow, election: &hustings_workloads::recipes::Election) {
    match blow {
        Blow::Disconnect(i) => bench.ensemble.disconnect(bench.session(i)),
        Blow::Reconnect(i) => bench.ensemble.reconnect(bench.session(i)),
        // An ensemble ends only sessions that it does not hear from, and their clients see that first.
        Blow::Expire(i) => {
            bench.ensemble.disconnect(bench.session(i));
            bench.run();
            bench.ensemble.expire(bench.session(i));
        }
        Blow::Resign(i) => bench.order(i, Order::Resign),
        Blow::Back(i) if bench.departure(i).is_some() => {
            // The host closes the session of one who has departed.
            bench.ensemble.expire(bench.session(i));
            bench.reenter(i, election);
        }
        Blow::Back(_) => {}
        Blow::DropReply(i, kind) => bench.ensemble.drop_reply(bench.session(i), KINDS[kind], ""),
        // From outside, and so without a warning: only followers, whose belief is not at stake.
        Blow::DeleteFromOutside(i) if !bench.believers().contains(&i) => {
            for path in bench.ensemble.owned_by(bench.session(i)) {
                bench.ensemble.remove(&path);
            }
        }
        Blow::DeleteFromOutside(_) => {}
        Blow::HoldEvents => bench.ensemble.hold_events(),
        Blow::ReleaseEvents => bench.ensemble.release_events(),
        Blow::Wait(ms) => bench.advance_ms(ms),
    }
    bench.run();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_two_never_lead_and_in_the_end_one_does(blows in blows(), which in 0..4_usize) {
        let recipe = RecipeKind::all().nth(which).unwrap();
        let election = election(recipe, StepDown::OnDisconnect);
        let mut bench = Bench::with(CANDIDATES, &election);
        for blow in blows {
            strike(&mut bench, blow, &election);
            prop_assert!(bench.believers_max() <= 1, "{recipe}: two lead after {blow:?}");
        }
        bench.ensemble.release_events();
        bench.ensemble.clear_hooks();
        bench.clear_orders();
        for round in 0..3 {
            for i in 0..CANDIDATES {
                bench.ensemble.reconnect(bench.session(i));
                bench.advance_ms(2_000);
                if round < 2 {
                    strike(&mut bench, Blow::Back(i), &election);
                }
            }
        }
        prop_assert_eq!(bench.believers().len(), 1, "{} has no leader", recipe);
        prop_assert_eq!(bench.believers_max(), 1);
        let standing = bench.ensemble.paths("/election/g0").len();
        let most = if recipe.is_lock() { 2 } else { CANDIDATES };
        prop_assert!(standing <= most, "{}: {:?}", recipe, bench.ensemble.paths("/election/g0"));
    }
}
