//! Any schedule of faults: never two beliefs, no orphans, and one leader once it is over.

use hustings_record::StepDown;
use hustings_workloads::host::Order;
use hustings_workloads::recipes::RecipeKind;
use proptest::prelude::*;

use hustings_workloads::schedule::ScheduledRequest;
use hustings_workloads::simulation::bench::{Bench, election};

const CANDIDATES: usize = 4;

#[derive(Clone, Copy, Debug)]
enum ChaosAction {
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

fn blows() -> impl Strategy<Value = Vec<ChaosAction>> {
    let who = 0..CANDIDATES;
    let blow = prop_oneof![
        who.clone().prop_map(ChaosAction::Disconnect),
        who.clone().prop_map(ChaosAction::Reconnect),
        who.clone().prop_map(ChaosAction::Expire),
        who.clone().prop_map(ChaosAction::Resign),
        who.clone().prop_map(ChaosAction::Back),
        (who.clone(), 0..KINDS.len()).prop_map(|(who, kind)| ChaosAction::DropReply(who, kind)),
        who.clone().prop_map(ChaosAction::DeleteFromOutside),
        who.prop_map(ChaosAction::HoldAnswers),
        (1..800_u64).prop_map(ChaosAction::Wait),
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

fn injection(bench: &mut Bench, blow: ChaosAction, election: &hustings_workloads::recipes::Election) {
    match blow {
        ChaosAction::Disconnect(i) => bench.disconnect(i),
        ChaosAction::Reconnect(i) => bench.reconnect(i),
        // An ensemble ends only sessions without contact, and their clients notice that first.
        ChaosAction::Expire(i) => {
            bench.disconnect(i);
            bench.run();
            bench.expire(i);
        }
        ChaosAction::Resign(i) => bench.order(i, Order::Resign),
        ChaosAction::Back(i) if bench.departure(i).is_some() => bench.reenter(i, election),
        ChaosAction::Back(_) => {}
        ChaosAction::DropReply(i, kind) => bench.drop_reply(i, KINDS[kind], ""),
        // A deletion from outside comes without warning, so it hits only followers of a leader, not its belief.
        ChaosAction::DeleteFromOutside(i) if bench.believers().iter().any(|leader| *leader != i) => {
            bench.owned(i).iter().for_each(|path| bench.remove(path));
        }
        ChaosAction::DeleteFromOutside(_) => {}
        ChaosAction::HoldAnswers(i) => bench.hold_answers(i),
        ChaosAction::Wait(ms) => bench.advance_ms(ms),
    }
    bench.run();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_two_never_lead_and_in_the_end_one_does(blows in blows(), which in 0..RecipeKind::sound().count()) {
        let recipe = RecipeKind::sound().nth(which).unwrap();
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
                    injection(&mut bench, ChaosAction::Back(i), &election);
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
