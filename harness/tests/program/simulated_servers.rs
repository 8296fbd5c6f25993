//! Faults on the servers of simulated ensembles: the record is like a real run's, and the same checks judge it.

use crate::run_support::{Bench, assert_verified, check};
use hustings::simulate::try_simulation;
use hustings_record::ServerState;
use hustings_reports::summary::{CellSummary, ServerElection};
use hustings_reports::verdict::Verdict;
use hustings_workloads::scenario::Scenario;
use hustings_workloads::simulation::Simulation;

const MS: u64 = 1_000_000;
/// The duration of an election in the model.
const ELECTION: u64 = 400 * MS;
/// Interval between observations of the servers.
const LOOK: u64 = 20 * MS;

/// A cell of three servers, which notice a lost one after 2 s, under three groups.
fn simulate(fault: &str) -> CellSummary {
    simulate_with(3, "recipe = \"predecessor-watch\"", fault)
}

/// The same cell on so many servers, with these keys of the election and of the fault.
fn simulate_with(servers: u32, election: &str, fault: &str) -> CellSummary {
    let text = format!(
        r#"name = "servers"

[ensemble]
servers = {servers}
tick_ms = 200
sync_limit = 10

[election]
{election}
groups = 3
hosts = 3
candidates_per_group = 3
session_timeout_ms = 4000

[faults.it]
{fault}

[matrix]
step_down = ["on-disconnect"]
fault = ["it"]
"#
    );
    let scenario = Scenario::parse(&text, "servers.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    let cell = scenario.cells().remove(0);
    try_simulation(&Simulation::of(cell, 1)).expect("it comes to its end").summary
}

/// The only election of a cell in which every check passed.
fn only_election(cell: &CellSummary) -> &ServerElection {
    assert_eq!(cell.verdict, Verdict::Pass, "{:#?}", cell.checks);
    assert_verified(cell);
    let [election] = &cell.ensemble.elections[..] else { panic!("{:#?}", cell.ensemble.elections) };
    election
}

/// Whether the bounds contain the exact time, and are no wider than two observations of the servers.
fn brackets((least, most): (u64, u64), exact: u64) -> bool {
    (least..=most).contains(&exact) && most - least <= 2 * LOOK
}

/// The successive states of a server.
fn states(cell: &CellSummary, server: u32) -> Vec<ServerState> {
    cell.ensemble.states.iter().filter(|bar| bar.server == server).map(|bar| bar.state).collect()
}

/// The longest time without a write of the probes, at most; `None`: there was none.
fn longest_gap(cell: &CellSummary) -> Option<u64> {
    let writes = cell.ensemble.watch.as_ref().and_then(|watch| watch.writes.as_ref()).expect("probes wrote");
    assert!(writes.acknowledged > Some(100), "{writes:?}");
    writes.longest.map(|gap| gap.most_ns.expect("writes were acknowledged again"))
}

#[test]
fn a_killed_leader_is_followed_by_one_election_which_the_best_vote_wins_in_the_next_epoch() {
    use ServerState::{Down, Following, Leading, NotServing};
    let cell = simulate("kind = \"server-kill\"\nfor_ms = 3000");
    let election = only_election(&cell);
    // The highest of three equal ids led first, in epoch 1.
    assert_eq!(
        (election.old, election.winner, election.predicted, election.epoch),
        (Some(3), Some(2), Some(2), Some(2))
    );
    assert_eq!(election.votes.len(), 2, "{:?}", election.votes);
    assert!(brackets(election.outage, ELECTION), "{:?}", election.outage);
    assert_eq!(states(&cell, 3), [Leading, Down, NotServing, Following]);
    assert_eq!(states(&cell, 2), [Following, NotServing, Leading]);
    assert!(longest_gap(&cell).is_some_and(|gap| gap >= ELECTION), "{:?}", longest_gap(&cell));
    // The surviving servers count the election as unavailable time.
    let unavailable = &cell.ensemble.watch.as_ref().expect("watched").unavailable;
    let told: Vec<Option<u64>> = unavailable.iter().map(|server| server.times.map(|times| times.told_ns)).collect();
    assert_eq!(told, [Some(ELECTION), Some(ELECTION), None]);
}

#[test]
fn a_stopped_leader_is_silent_until_it_wakes_as_one_that_leads_no_more() {
    use ServerState::{Following, Leading, NotServing, Silent};
    let cell = simulate("kind = \"server-pause\"\nfor_ms = 6000");
    let election = only_election(&cell);
    assert_eq!((election.old, election.winner, election.epoch), (Some(3), Some(2), Some(2)));
    assert_eq!(states(&cell, 3), [Leading, Silent, NotServing, Following]);
    // The loss is noticed after syncLimit, and writes wait from the start.
    assert!(brackets(election.outage, 2_000 * MS + ELECTION), "{:?}", election.outage);
    assert!(longest_gap(&cell).is_some_and(|gap| gap >= election.outage.0), "{:?}", longest_gap(&cell));
}

#[test]
fn a_leader_stopped_for_less_than_it_is_missed_costs_writes_and_no_election() {
    let cell = simulate("kind = \"server-pause\"\nfor_ms = 1000");
    assert_eq!(cell.verdict, Verdict::Pass, "{:#?}", cell.checks);
    assert!(cell.ensemble.elections.is_empty(), "{:#?}", cell.ensemble.elections);
    assert_eq!(states(&cell, 3), [ServerState::Leading, ServerState::Silent, ServerState::Leading]);
    assert_eq!(cell.ensemble.watch.as_ref().map(|watch| watch.lulls), Some(1));
    assert!(longest_gap(&cell).is_some_and(|gap| (900 * MS..1_500 * MS).contains(&gap)), "{:?}", longest_gap(&cell));
}

#[test]
fn a_leader_cut_off_leaves_writes_unacknowledged_while_its_servers_still_say_that_they_serve() {
    let cell = simulate("kind = \"server-partition\"\nfor_ms = 6000");
    let election = only_election(&cell);
    assert_eq!((election.old, election.winner), (Some(3), Some(2)));
    assert!(brackets(election.outage, ELECTION), "{:?}", election.outage);
    assert!(longest_gap(&cell).is_some_and(|gap| gap >= 2_000 * MS), "{:?}", longest_gap(&cell));
}

#[test]
fn without_a_majority_nothing_is_written_until_it_is_back() {
    let two = "kind = \"server-kill\"\ntarget = \"servers\"\nservers = [2, 3]\nallow_majority = true\nfor_ms = 3000";
    let cell = simulate(two);
    let election = only_election(&cell);
    assert_eq!((election.old, election.winner), (Some(3), Some(3)), "the same server won it again, in another epoch");
    assert_eq!((election.epoch, election.predicted), (Some(2), Some(3)));
    assert!(brackets(election.outage, 3_000 * MS + ELECTION), "{:?}", election.outage);
    assert!(longest_gap(&cell).is_some_and(|gap| gap >= election.outage.0), "{:?}", longest_gap(&cell));
}

#[test]
fn a_follower_that_dies_costs_the_ensemble_nothing() {
    let cell = simulate("kind = \"server-kill\"\ntarget = \"ensemble-follower\"\nfor_ms = 2000");
    assert_eq!(cell.verdict, Verdict::Pass, "{:#?}", cell.checks);
    assert!(cell.ensemble.elections.is_empty(), "{:#?}", cell.ensemble.elections);
    assert_eq!(longest_gap(&cell), None);
    assert!(cell.ensemble.states.iter().any(|bar| bar.state == ServerState::Down), "{:?}", cell.ensemble.states);
}

#[test]
fn servers_are_watched_only_where_faults_hit_them() {
    let cell = simulate("kind = \"crash\"");
    assert_eq!(cell.verdict, Verdict::Pass, "{:#?}", cell.checks);
    assert!(cell.ensemble.watch.is_none() && cell.ensemble.states.is_empty() && cell.ensemble.elections.is_empty());
}

#[test]
fn every_cell_of_quorum_loss_is_as_expected_and_each_election_has_its_gap_in_the_writes() {
    let bench = Bench::new();
    let ran = bench.run(&["simulate", "quorum-loss", "--out", "record", "--json", "--quiet"]).expect(0);
    let summary = ran.summary();
    assert_eq!(summary.cells.len(), 8);
    for cell in &summary.cells {
        let name = &cell.info.name;
        assert_eq!(cell.verdict, Verdict::Pass, "{name}: {:#?}", cell.checks);
        assert_eq!(check(cell, "server-elections").verdict, Verdict::Pass, "{name}");
        assert_eq!(
            cell.ensemble.elections.len(),
            if name.contains("-kill-") { 2 } else { 1 },
            "{name}: {:#?}",
            cell.ensemble.elections
        );
        for election in &cell.ensemble.elections {
            assert_eq!(election.predicted, election.winner, "{name}: {election:#?}");
            assert!(election.writes.is_some_and(|gap| gap.least_ns >= ELECTION - 50 * MS), "{name}: {election:#?}");
        }
    }
}

#[test]
fn the_order_of_starts_and_the_zxids_decide_who_leads() {
    let bench = Bench::new();
    let ran = bench.run(&["simulate", "sequential-start", "--out", "record", "--json", "--quiet"]).expect(0);
    for cell in &ran.summary().cells {
        let (times, leader) = if cell.info.name == "in-order" { (10, 3) } else { (3, 1) };
        // The servers that are left before all are down may elect any of them.
        let won = cell.ensemble.elections.iter().filter(|election| election.winner == Some(leader)).count();
        assert_eq!(won, times, "{}: {:#?}", cell.info.name, cell.ensemble.elections);
        let elections = &cell.ensemble.elections;
        assert!(elections.iter().all(|election| election.predicted == election.winner), "{elections:#?}");
        assert_verified(cell);
    }
    let other = ["--set", "faults.in-order.order=[5,4,3,2,1]", "--set", "matrix.fault=[\"in-order\"]"];
    let ran = bench.run(&[&["simulate", "sequential-start", "--out", "other", "--quiet"][..], &other[..]].concat());
    assert_eq!(ran.code, 1, "server 5 is the first of its majority, and the scenario expects 3: {}", ran.err);
}

#[test]
fn every_leader_that_is_to_resign_does_after_its_candidates_have_moved() {
    let bench = Bench::new();
    let ran = bench.run(&["simulate", "reconnect", "--out", "record", "--json", "--quiet"]).expect(0);
    for cell in &ran.summary().cells {
        // A server is killed three times, and each time the leaders of five groups then resign.
        assert_eq!(cell.handovers.completed, 15, "{}: {:#?}", cell.info.name, cell.handovers);
        let verifications = cell.faults.verifications.iter();
        let resigned = verifications.filter(|one| one.verified && one.servers.is_empty()).count();
        assert_eq!(resigned, 15, "{}: {:#?}", cell.info.name, cell.faults.verifications);
        assert!(cell.ensemble.elections.is_empty(), "the quorum was there all along: {:#?}", cell.ensemble.elections);
    }
}

const EXPECTED: &str = "[[expect]]\nunplanned = \"any\"\nbecause = \"sessions may expire while the server is away\"";

#[test]
fn while_the_only_server_is_away_nobody_has_to_lead_and_it_holds_no_election() {
    for kind in ["server-kill", "server-pause"] {
        for recipe in ["predecessor-watch", "naive", "lock-race", "poll-race"] {
            let fault = format!(
                "kind = \"{kind}\"\ntarget = \"servers\"\nservers = [1]\nfor_ms = 12000\nallow_majority = true\n\n{EXPECTED}"
            );
            let cell = simulate_with(1, &format!("recipe = \"{recipe}\""), &fault);
            for name in ["liveness", "ownership", "handovers", "participation"] {
                assert_eq!(check(&cell, name).verdict, Verdict::Pass, "{kind}, {recipe}: {:#?}", cell.checks);
            }
            assert_ne!(cell.verdict, Verdict::Fail, "{kind}, {recipe}: {:#?}", cell.checks);
            let lulls = cell.ensemble.watch.as_ref().map(|watch| watch.lulls);
            assert_eq!((cell.ensemble.elections.len(), lulls), (0, Some(1)), "{kind}, {recipe}");
            assert!(cell.leaderless.longest_ns > 10_000 * MS, "the time without a leader is shown all the same");
        }
    }
}

#[test]
fn a_recipe_that_looks_every_ten_seconds_may_be_led_again_that_much_later() {
    let election = "recipe = \"poll-race\"\npoll_interval_ms = 10000";
    let cell = simulate_with(3, election, "kind = \"crash\"\ntarget = \"leaders\"\nfor_ms = 1000");
    assert_eq!(check(&cell, "liveness").verdict, Verdict::Pass, "{:#?}", cell.checks);
    assert!(cell.leaderless.longest_ns > 6_600 * MS, "longer than a recipe that is notified may take");
}
