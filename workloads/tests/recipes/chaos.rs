//! Any schedule of faults: never two beliefs, no orphans, and one leader once it is over.

use hustings_record::StepDown;
use hustings_workloads::host::Order;
use hustings_workloads::recipes::RecipeKind;
use proptest::prelude::*;

use hustings_workloads::schedule::ScheduledRequest;
use hustings_workloads::simulation::bench::{Bench, election};

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
    HoldAnswers(usize),
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
        who.clone().prop_map(Blow::DeleteFromOutside),
        who.prop_map(Blow::HoldAnswers),
        (1..800_u64).prop_map(Blow::Wait),
    ];
    prop::collection::vec(blow, 1..60)
}

const KINDS: [ScheduledRequest; 7] = [
    ScheduledRequest::Create,
    ScheduledRequest::Delete,
    ScheduledRequest::Children,
    ScheduledRequest::Exists,
    ScheduledRequest::Get,
    ScheduledRequest::Set,
    ScheduledRequest::Sync,
];

fn injection(bench: &mut Bench, blow: Blow, election: &hustings_workloads::recipes::Election) {
    match blow {
        Blow::Disconnect(i) => bench.disconnect(i),
        Blow::Reconnect(i) => bench.reconnect(i),
        // An ensemble ends only sessions without contact, and their clients notice that first.
        Blow::Expire(i) => {
            bench.disconnect(i);
            bench.run();
            bench.expire(i);
        }
        Blow::Resign(i) => bench.order(i, Order::Resign),
        Blow::Back(i) if bench.departure(i).is_some() => bench.reenter(i, election),
        Blow::Back(_) => {}
        Blow::DropReply(i, kind) => bench.drop_reply(i, KINDS[kind], ""),
        // A deletion from outside comes without warning, so it hits only followers of a leader, not its belief.
        Blow::DeleteFromOutside(i) if bench.believers().iter().any(|leader| *leader != i) => {
            bench.owned(i).iter().for_each(|path| bench.remove(path));
        }
        Blow::DeleteFromOutside(_) => {}
        Blow::HoldAnswers(i) => bench.hold_answers(i),
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
            injection(&mut bench, blow, &election);
            prop_assert!(bench.believers_max() <= 1, "{recipe}: two lead after {blow:?}");
        }
        bench.clear_hooks();
        bench.clear_orders();
        for round in 0..3 {
            for i in 0..CANDIDATES {
                bench.reconnect(i);
                bench.advance_ms(2_000);
                if round < 2 {
                    injection(&mut bench, Blow::Back(i), &election);
                }
            }
        }
        prop_assert_eq!(bench.believers().len(), 1, "{} has no leader", recipe);
        prop_assert_eq!(bench.believers_max(), 1);
        let standing = bench.paths("/election/g0").len();
        let most = if recipe.is_lock() { 2 } else { CANDIDATES };
        prop_assert!(standing <= most, "{}: {:?}", recipe, bench.paths("/election/g0"));
    }
}
