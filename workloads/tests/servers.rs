//! Faults on servers: the shipped scenarios with them, rejected input with its errors, the plans, and the targets.

use hustings_record::{Expectation, FaultKind, WithheldReason};
use hustings_workloads::faults::{Fault, Ms};
use hustings_workloads::plan::{LeaderView, PlannedFault, ResolvedTarget, handover_max_ms, plan, resolve};
use hustings_workloads::scenario::{Cell, Scenario, ShippedScenario, Target, cell_duration_ms, explain, placement};
use proptest::prelude::*;

fn read(text: &str, sets: &[&str]) -> Result<Scenario, String> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    Scenario::parse(text, "test.toml", &sets).map_err(|error| error.to_string())
}

const SMALL: &str = "name = \"small\"\n[faults.cut]\nkind = \"partition\"\nfor_ms = 4000\n";

#[test]
fn sequential_start_knows_whom_the_votes_elect() {
    let cells = ShippedScenario::find("sequential-start").unwrap().parse(&[]).unwrap().cells();
    let leaders: Vec<_> = cells.iter().map(|cell| (cell.name.as_str(), cell.expect.server_leader)).collect();
    assert_eq!(leaders, [("in-order", Some(3)), ("higher-zxid", Some(1))]);
    for cell in cells {
        assert_eq!((cell.candidates(), cell.session_count(), cell.hosts, cell.watch_ms), (0, 0, 0, Some(20)));
        let Fault::ServerRestartAll(restart) = plan(&cell, 1).faults.remove(0).fault else { panic!("{}", cell.name) };
        let majority = &restart.order[..3];
        let with_all_data = majority.iter().filter(|id| !restart.behind.contains(id));
        assert_eq!(with_all_data.max().copied(), cell.expect.server_leader, "{}: of the first three", cell.name);
    }
}

#[test]
fn quorum_loss_is_a_thousand_candidates_under_each_way_to_lose_a_leader() {
    let cells = ShippedScenario::find("quorum-loss").unwrap().parse(&[]).unwrap().cells();
    assert_eq!(cells.len(), 8);
    for cell in cells {
        let on_expiry = cell.step_down.to_string() == "on-expiry";
        assert_eq!(cell.candidates(), 1_000);
        assert_eq!(cell.expect.overlap, if on_expiry { Expectation::Any } else { Expectation::None }, "{}", cell.name);
        let any = cell.fault.kind() == FaultKind::ServerPause;
        assert_eq!(cell.expect.unplanned, if any { Expectation::Any } else { Expectation::Excused }, "{}", cell.name);
        // The scenario is about an ensemble that notices the loss before sessions can end.
        assert!(cell.sync_limit_ms() < cell.timeout_granted_ms());
        assert_eq!(cell.with.is_some(), cell.fault_name == "clock");
    }
}

#[test]
fn reconnect_hands_leads_over_after_the_move() {
    let cells = ShippedScenario::find("reconnect").unwrap().parse(&[]).unwrap().cells();
    assert_eq!(cells.len(), 2);
    for cell in cells {
        let kinds: Vec<FaultKind> = plan(&cell, 1).faults.iter().map(PlannedFault::kind).collect();
        assert_eq!(kinds, [FaultKind::ServerKill, FaultKind::Resign].repeat(3));
    }
}

#[test]
fn what_ships_with_faults_on_servers_ends_within_four_minutes() {
    for name in ["sequential-start", "quorum-loss", "reconnect"] {
        let cells = ShippedScenario::find(name).unwrap().parse(&[]).unwrap().cells();
        for seed in 0..50 {
            let total: u64 = cells.iter().map(|cell| cell_duration_ms(cell, &plan(cell, seed))).sum();
            assert!(total <= 240_000, "{name}: {total} ms with seed {seed}");
        }
    }
}

#[test]
fn cells_without_candidates_look_at_servers_alone() {
    let sets = ["matrix.groups=[0, 3]", "faults.cut.kind=server-kill", "matrix.fault=[\"cut\", \"none\"]"];
    let scenario = read(SMALL, &sets).unwrap();
    let cells = scenario.cells();
    let seen: Vec<_> = cells.iter().map(|cell| (cell.name.as_str(), cell.candidates(), cell.hosts)).collect();
    let with = ["predecessor-watch-cut", "predecessor-watch-none"];
    assert_eq!(seen, [("cut", 0, 0), ("none", 0, 0), (with[0], 15, 5), (with[1], 15, 5)]);
    assert!(placement(&cells[0], 1).is_empty() && cells[0].host_names.is_empty());
    assert!(cell_duration_ms(&cells[0], &plan(&cells[0], 1)) < cell_duration_ms(&cells[2], &plan(&cells[2], 1)));
    assert!(explain(&scenario, &scenario.cells(), 1).contains("no candidates: 3 servers alone"));
}

#[test]
fn a_plan_speaks_of_one_server_and_one_cell_as_one() {
    let sets = ["matrix.groups=[0]", "matrix.fault=[\"none\"]", "ensemble.servers=1"];
    let scenario = read(SMALL, &sets).unwrap();
    let plan = explain(&scenario, &scenario.cells(), 1);
    for told in ["seed 1, 1 cell, about", "ensemble: 1 server, tick ", "no candidates: 1 server alone"] {
        assert!(plan.contains(told), "{told} is not in: {plan}");
    }
}

#[test]
fn the_dry_run_of_what_happens_to_servers_reads_well() {
    let mut text = String::new();
    for name in ["sequential-start", "quorum-loss", "reconnect"] {
        let scenario = ShippedScenario::find(name).unwrap().parse(&[]).unwrap();
        text += &explain(&scenario, &scenario.cells(), 1);
        text += "\n";
    }
    insta::assert_snapshot!(text);
}

/// The rejection of a fault on the servers of an ensemble, with some groups.
fn refusal_of(servers: u32, groups: u32, lines: &str) -> String {
    let other = if servers == 1 { "" } else { "[faults.other]\nkind = \"server-pause\"\nfor_ms = 900\n" };
    let text = format!(
        "name = \"x\"\nensemble.servers = {servers}\nelection.groups = {groups}\n{other}[faults.off]\nkind = \"none\"\n\
         [faults.a]\n{lines}\n[matrix]\nfault = \"a\"\n"
    );
    read(&text, &[]).expect_err(lines)
}

#[test]
fn refusals_of_faults_on_servers_say_what_would_be_right() {
    let restart = |lines: &str| format!("kind = \"server-restart-all\"\n{lines}");
    let kill = |lines: &str| format!("kind = \"server-kill\"\n{lines}");
    let cases = [
        ("a server for a host's fault", 3, 9, "kind = \"crash\"\ntarget = \"ensemble-leader\"".to_owned()),
        ("a host for a server's fault", 3, 9, kill("target = \"host\"\nhosts = 2\ngroups = 1\nshare = 0.5")),
        ("a target for all", 3, 9, restart("target = \"ensemble-leader\"")),
        ("no servers named", 3, 9, kill("target = \"servers\"")),
        ("servers without the target", 3, 9, kill("servers = [1]")),
        ("servers that there are not", 3, 9, kill("target = \"servers\"\nservers = [0, 4, 4]\nallow_majority = true")),
        ("cut off from all of them", 3, 9, "kind = \"partition\"\nfor_ms = 9\nservers = [3, 2, 1]".to_owned()),
        ("cut off from nobody", 3, 9, "kind = \"partition\"\nfor_ms = 9\nservers = [4]".to_owned()),
        ("an order that is none", 5, 0, restart("order = [1, 2, 3, 3, 6]")),
        ("a gap out of bounds", 3, 9, restart("gap_ms = 600001")),
        ("too soon again", 5, 0, restart("gap_ms = 1000\nevery_ms = 4999")),
        ("too many behind", 5, 9, restart("behind = [1, 2, 3]")),
        ("behind alone", 1, 9, restart("behind = [1]")),
        ("behind without data", 3, 0, restart("behind = [1]\nempty = true")),
        ("empty under candidates", 3, 9, restart("empty = true")),
        ("a restart that lasts", 3, 9, restart("for_ms = 100")),
        ("order of a kill", 3, 9, kill("order = [1, 2, 3]\ngap_ms = 3\nempty = true\nbehind = [1]")),
        ("a leader of one", 1, 9, kill("for_ms = 100\nallow_majority = true")),
        ("a partition of one", 1, 9, "kind = \"server-partition\"\nfor_ms = 9\nallow_majority = true".to_owned()),
        (
            "a partition of all",
            3,
            9,
            "kind = \"server-partition\"\nfor_ms = 9\nallow_majority = true\n\
            target = \"servers\"\nservers = [1, 2, 3]"
                .to_owned(),
        ),
        ("a pause without an end", 3, 9, "kind = \"server-pause\"".to_owned()),
        ("a majority of servers", 3, 9, kill("target = \"servers\"\nservers = [1, 2]\nfor_ms = 100")),
        ("the only server", 1, 9, kill("target = \"servers\"\nservers = [1]\nfor_ms = 100")),
        ("servers away for good", 5, 9, kill("repeat = 3")),
        ("the next before the last is back", 3, 9, kill("repeat = 3\nfor_ms = 2000\nevery_ms = 2000")),
        ("with another at once", 3, 9, kill("for_ms = 2000\nwith = \"other\"\nwith_after_ms = 1999")),
        (
            "hosts together",
            3,
            9,
            "kind = \"crash\"\nhosts = 2\nfor_ms = 500\nwith = \"b\"\n[faults.b]\nkind = \"pause\"\nfor_ms = 9"
                .to_owned(),
        ),
        ("with a name that there is not", 3, 9, kill("with = \"othre\"")),
        ("with itself", 3, 9, kill("with = \"a\"")),
        ("with nothing", 3, 9, kill("with = \"off\"")),
        ("nothing with another", 3, 9, "kind = \"none\"\nwith = \"other\"".to_owned()),
        ("a chain", 3, 9, kill("with = \"b\"\n[faults.b]\nkind = \"resign\"\nwith = \"other\"")),
        ("later than what", 3, 9, kill("with_after_ms = 5")),
        ("much later", 3, 9, kill("with = \"other\"\nwith_after_ms = 3600001")),
        ("nobody to hit", 3, 0, "kind = \"crash\"\nwith = \"other\"".to_owned()),
        ("a leader that there is not", 3, 9, kill("[[expect]]\nserver_leader = 4")),
        ("a leader nobody looks for", 3, 9, "kind = \"resign\"\n[[expect]]\nserver_leader = 1".to_owned()),
    ];
    let mut text = String::new();
    for (name, servers, groups, lines) in cases {
        text += &format!("## {name}\n{}\n", refusal_of(servers, groups, &lines).trim_end());
    }
    insta::assert_snapshot!(text);
}

#[test]
fn what_is_allowed_to_servers_is_read() {
    for (servers, lines) in [
        (3, "kind = \"server-restart-all\""),
        (1, "kind = \"server-restart-all\""),
        (3, "kind = \"server-kill\"\nrepeat = 9\nfor_ms = 2000\nevery_ms = 2500"),
        (5, "kind = \"server-kill\"\nrepeat = 2"),
        (5, "kind = \"server-kill\"\nfor_ms = 2000\nwith = \"other\""),
        (3, "kind = \"server-kill\"\nfor_ms = 2000\nwith = \"other\"\nwith_after_ms = 2000"),
        (1, "kind = \"server-kill\"\ntarget = \"servers\"\nservers = [1]\nfor_ms = 9\nallow_majority = true"),
        (3, "kind = \"server-kill\"\ntarget = \"servers\"\nservers = [2]\nrepeat = 3"),
    ] {
        let other = if servers == 1 { "" } else { "[faults.other]\nkind = \"server-pause\"\nfor_ms = 900\n" };
        let text = format!("name = \"x\"\nensemble.servers = {servers}\n{other}[faults.a]\n{lines}\n");
        read(&text, &[]).unwrap_or_else(|refusal| panic!("{lines}: {refusal}"));
    }
}

/// A cell whose fault `a` has these lines; a pause of the ensemble's leader and a resignation can hit with it.
fn cell(servers: u32, groups: u32, lines: &str) -> Cell {
    let text = format!(
        "name = \"x\"\nensemble = {{ servers = {servers}, tick_ms = 200, sync_limit = 10 }}\n\
         election = {{ groups = {groups}, session_timeout_ms = 2000 }}\n\
         [faults.stop]\nkind = \"server-pause\"\nfor_ms = 900\nrepeat = 7\n[faults.go]\nkind = \"resign\"\ngroups = 2\n\
         [faults.a]\n{lines}\n[matrix]\nfault = \"a\"\n"
    );
    read(&text, &[]).unwrap_or_else(|refusal| panic!("{refusal}")).cells().remove(0)
}

#[test]
fn each_repeat_hits_with_the_other_fault_which_has_a_duration_of_its_own() {
    let lines = "kind = \"crash\"\nfor_ms = 5000\nrepeat = 3\nevery_ms = 9000\n";
    let alone = plan(&cell(3, 9, lines), 4);
    let both = plan(&cell(3, 9, &format!("{lines}with = \"stop\"\nwith_after_ms = 1500\n")), 4);
    let of = |kind: FaultKind| both.faults.iter().filter(move |fault| fault.kind() == kind).collect::<Vec<_>>();
    let (crashes, stops) = (of(FaultKind::Crash), of(FaultKind::ServerPause));
    assert_eq!(crashes.iter().copied().cloned().collect::<Vec<_>>(), alone.faults, "the main one is unmoved");
    assert_eq!(stops.len(), 3, "whatever its own repeat says");
    for (crash, stop) in crashes.iter().zip(&stops) {
        assert_eq!(stop.at_ms, crash.at_ms + 1_500);
        assert_eq!((stop.for_ms(), &stop.target), (Some(900), &Target::EnsembleLeader));
    }
    assert_eq!(both.faults.iter().filter_map(|fault| fault.id).collect::<Vec<_>>(), [0, 3, 1, 4, 2, 5]);
}

#[test]
fn what_is_measured_covers_both_faults_and_sessions_whose_clocks_start_again() {
    // T is 2 s, a tick 200 ms, syncLimit 2 s.
    let expiry = 2_800 + 600 + 1_500;
    for (lines, settled) in [
        ("kind = \"server-kill\"\nfor_ms = 700", 700 + 3_000 + 2_000),
        ("kind = \"server-pause\"\nfor_ms = 700", 700 + 2_000 + 3_000 + 2_000),
        ("kind = \"server-partition\"\nfor_ms = 700", 700 + 2_000 + 3_000 + 2_000),
        ("kind = \"server-restart-all\"\ngap_ms = 500", 3 * 500 + 10_000 + 2_000),
        ("kind = \"server-kill\"\nfor_ms = 700\nwith = \"go\"\nwith_after_ms = 300", 700 + 3_000 + 2_000),
        ("kind = \"server-kill\"\nfor_ms = 700\nwith = \"go\"\nwith_after_ms = 20000", 20_000 + 1_000),
        ("kind = \"crash\"\nwith = \"stop\"\nwith_after_ms = 400", 400 + 2_000 + 3_000 + expiry),
    ] {
        let plan = plan(&cell(3, 9, lines), 3);
        let last = plan.faults.iter().rfind(|fault| fault.id == Some(0)).unwrap();
        assert_eq!(plan.measure_ms, last.at_ms + settled, "{lines}");
    }
    let nobody = cell(3, 0, "kind = \"server-kill\"\nfor_ms = 700");
    assert_eq!(handover_max_ms(&nobody, &nobody.fault), 3_000, "nobody has to come back");
    let usual = Cell { sync_limit: None, ..cell(3, 0, "kind = \"server-pause\"\nfor_ms = 700") };
    assert_eq!(handover_max_ms(&usual, &usual.fault), 13_000, "10 s unless told");
    assert_eq!(Cell { tick_ms: 3_000, ..usual }.sync_limit_ms(), 15_000, "and five ticks at least");
}

#[test]
fn a_restart_of_all_knows_its_order_told_or_not() {
    let told = cell(5, 0, "kind = \"server-restart-all\"\norder = [5, 4, 1, 2, 3]\ngap_ms = 9\nbehind = [4, 5]");
    let Fault::ServerRestartAll(restart) = plan(&told, 1).faults.remove(0).fault else { panic!("another kind") };
    assert_eq!((restart.order, restart.behind), (vec![5, 4, 1, 2, 3], vec![4, 5]));
    assert_eq!((restart.gap_ms, restart.empty), (9, false));
    let fault = plan(&cell(3, 0, "kind = \"server-restart-all\"\nempty = true"), 1).faults.remove(0);
    assert_eq!((fault.for_ms(), fault.target), (None, Target::AllServers));
    let Fault::ServerRestartAll(restart) = fault.fault else { panic!("another kind") };
    assert_eq!((restart.order, restart.gap_ms, restart.empty), (vec![1, 2, 3], 0, true));
}

fn aim(cell: &Cell, seed: u64, leader: Option<u32>, up: &[u32]) -> Result<Vec<u32>, WithheldReason> {
    let fault: PlannedFault = plan(cell, seed).faults.remove(0);
    let view = LeaderView { leader_of_group: &[], placement: &[], alive: &[], server_leader: leader, servers: up };
    let hit = resolve(cell, seed, &fault, view)?;
    let servers = hit.servers.clone();
    assert_eq!(hit, ResolvedTarget { servers, ..ResolvedTarget::default() }, "no host and no candidate is hit");
    Ok(hit.servers)
}

fn hit(cell: &Cell, seed: u64, leader: Option<u32>, up: &[u32]) -> Vec<u32> {
    aim(cell, seed, leader, up).expect("it hits a server")
}

#[test]
fn the_leader_a_follower_or_the_named_servers_are_hit() {
    let leader = cell(3, 0, "kind = \"server-kill\"");
    assert_eq!(hit(&leader, 1, Some(2), &[1, 2, 3]), [2]);
    assert_eq!(aim(&leader, 1, None, &[1, 2, 3]), Err(WithheldReason::NoServer), "nobody leads");
    let follower = cell(3, 0, "kind = \"server-kill\"\ntarget = \"ensemble-follower\"");
    let mut seen: Vec<u32> = (0..40).flat_map(|seed| hit(&follower, seed, Some(2), &[1, 2, 3])).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [1, 3], "either one, and never the leader");
    let named = cell(5, 0, "kind = \"server-kill\"\ntarget = \"servers\"\nservers = [4, 2]");
    assert_eq!(hit(&named, 1, Some(2), &[1, 2, 3, 4, 5]), [2, 4]);
    let all = cell(3, 0, "kind = \"server-restart-all\"");
    assert_eq!(hit(&all, 1, Some(2), &[1, 2, 3]), [1, 2, 3]);
}

#[test]
fn servers_are_never_taken_out_beyond_a_minority_unless_asked() {
    let lines = "kind = \"server-kill\"\nfor_ms = 9";
    assert_eq!(aim(&cell(3, 0, lines), 1, Some(2), &[1, 2]), Err(WithheldReason::MajorityOut), "one is out already");
    assert_eq!(hit(&cell(5, 0, lines), 1, Some(2), &[1, 2, 3, 4]), [2]);
    let lines = format!("{lines}\nallow_majority = true");
    assert_eq!(hit(&cell(3, 0, &lines), 1, Some(2), &[1, 2]), [2]);
    let named = format!("{lines}\ntarget = \"servers\"\nservers = [1, 3]");
    assert_eq!(hit(&cell(3, 0, &named), 1, Some(2), &[1, 2, 3]), [1, 3]);
}

#[test]
fn the_fault_that_hits_with_another_keeps_to_a_minority_of_its_own() {
    let lines = "kind = \"server-kill\"\nfor_ms = 5000\nallow_majority = true\nwith = \"stop\"";
    let cell = cell(3, 9, lines.replace("\"stop\"", "\"go\"").as_str());
    let mut stop = plan(&cell, 1).faults.remove(1);
    assert!(!stop.allow_majority, "what the main fault may is not what the other one may");
    stop.fault = Fault::ServerPause { lasts: Ms { for_ms: 900 } };
    stop.target = Target::EnsembleLeader;
    let view =
        LeaderView { leader_of_group: &[], placement: &[], alive: &[], server_leader: Some(1), servers: &[1, 3] };
    assert_eq!(resolve(&cell, 1, &stop, view), Err(WithheldReason::MajorityOut));
}

proptest! {
    #[test]
    fn two_faults_together_come_in_time_order_under_numbers_of_their_own(
        repeat in 1..40_u32, every in 1_200..5_000_u64, after in 0..20_000_u64, seed in any::<u64>()
    ) {
        let lines = format!(
            "kind = \"resign\"\nrepeat = {repeat}\nevery_ms = {every}\nwith = \"stop\"\nwith_after_ms = {after}"
        );
        let plan = plan(&cell(3, 9, &lines), seed);
        prop_assert!(plan.faults.is_sorted_by_key(|fault| fault.at_ms));
        let mut ids: Vec<u32> = plan.faults.iter().filter_map(|fault| fault.id).collect();
        ids.sort_unstable();
        prop_assert_eq!(ids, (0..2 * repeat).collect::<Vec<_>>());
        let last = plan.faults.last().unwrap();
        prop_assert!(plan.measure_ms >= last.at_ms + last.for_ms().unwrap_or(0));
    }

    #[test]
    fn whatever_is_up_a_quorum_of_all_servers_is_left(
        size in prop::sample::select(vec![3_u32, 5]), up in prop::collection::btree_set(1..6_u32, 0..6),
        target in prop::sample::select(vec!["ensemble-leader", "ensemble-follower", "servers\"\nservers = [1, 2]\n# \""]),
        leader in 1..6_u32, seed in any::<u64>()
    ) {
        let up: Vec<u32> = up.into_iter().filter(|id| *id <= size).collect();
        let named = target.starts_with("servers");
        prop_assume!(!(named && size == 3));
        let cell = cell(size, 0, &format!("kind = \"server-kill\"\nfor_ms = 9\ntarget = \"{target}\""));
        let hit = aim(&cell, seed, Some(leader), &up).unwrap_or_default();
        prop_assert!(hit.iter().all(|id| up.contains(id)));
        prop_assert!(hit.is_empty() || (up.len() - hit.len()) as u32 > size / 2);
    }
}
