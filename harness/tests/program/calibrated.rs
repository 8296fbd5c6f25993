//! `hustings calibrate`: known service times are recovered, and a real run yields some.

use crate::run_support::Bench;
use crate::run_support::scenario::EMBEDDED;
use hustings::calibrate::{FittedMeasure, TargetCell, fit};
use hustings_workloads::scenario::Scenario;
use hustings_workloads::simulation::Timing;

const SCENARIO: &str = "
name = \"known\"
[ensemble]
servers = 3
tick_ms = 500
[election]
groups = 1
hosts = 2
session_timeout_ms = 6000
recipe = \"naive\"
rejoin_after_ms = 100
[phases]
warm_up_ms = 0
drain_ms = 0
[faults.resign]
kind = \"resign\"
target = \"leaders\"
repeat = 5
every_ms = 400
[matrix]
candidates_per_group = [3, 5, 8, 12]
fault = [\"resign\"]
";

/// The results of a simulation with these service times, as if they had been measured.
fn measured(timing: &Timing) -> Vec<TargetCell> {
    let cells = Scenario::parse(SCENARIO, "known", &[]).expect("valid").cells();
    let measures = [FittedMeasure::Failover, FittedMeasure::Spread];
    let counted = Vec::new;
    let target = |(place, cell)| {
        let mut target = TargetCell {
            cell,
            seed: 3,
            real: measures.map(|m| (m, 0)).to_vec(),
            counted: counted(),
            held_out: place % 3 == 1,
        };
        let shown = target.simulated(timing).expect("simulated");
        target.real = measures.into_iter().zip(shown).filter_map(|(measure, ns)| Some((measure, ns?))).collect();
        target
    };
    cells.into_iter().enumerate().map(target).collect()
}

#[test]
fn the_fit_shows_what_known_service_times_show_also_where_it_was_not_looking() {
    let known = Timing { notify_us: 150, client_us: 90, commit_us: 1_500, link_us: 200, ..Timing::default() };
    let targets = measured(&known);
    let start = Timing::default();
    let fitted = fit(&targets, &start, |_, _| ()).expect("fitted");
    assert_eq!(fitted.compared.len(), targets.iter().map(|target| target.real.len()).sum::<usize>());
    assert!(fitted.compared.iter().any(|row| row.held_out) && fitted.compared.len() >= 7, "{:#?}", fitted.compared);
    for row in &fitted.compared {
        let within = if row.held_out { 1.4_f64 } else { 1.25 };
        let close = row.ratio.is_some_and(|ratio| ratio.ln().abs() < within.ln());
        assert!(close, "{row:?} with {:?}", fitted.timing);
    }
    // The start was far off; otherwise a fit that does nothing would pass.
    let off = |target: &TargetCell| {
        let shown = target.simulated(&start).expect("simulated");
        target.real.iter().zip(shown).any(|((_, real), shown)| shown.is_none_or(|ns| ns * 2 < *real))
    };
    assert!(targets.iter().any(off));
}

#[test]
fn a_run_gives_service_times_that_a_simulation_takes() {
    let bench = Bench::new();
    let small = ["--set", "matrix.recipe=[\"naive\"]", "--set", "matrix.candidates_per_group=[4]"];
    let run = ["run", "herd", "--out", "herd", "--set", "faults.resign.repeat=6", "-q"];
    let ran = bench.run(&[&run[..], &EMBEDDED, &small].concat());
    ran.fails_nothing();
    let fitted = bench.run(&["calibrate", "herd", "--out", "times.toml"]).expect(0);
    assert!(fitted.err.contains("naive-resign") && fitted.err.contains("ratio furthest from 1"), "{}", fitted.err);
    let simulated = ["simulate", "herd", "--timing", "times.toml", "--out", "simulated", "-q"];
    bench.run(&[&simulated[..], &small].concat()).expect(0);
    // A simulation cannot be calibrated from.
    let again = bench.run(&["calibrate", "simulated"]).expect(2);
    assert!(again.err.contains("its service times are known"), "{}", again.err);
    bench.run(&["calibrate", "nothing-here"]).expect(4);
}

#[test]
fn a_woken_leader_believes_for_a_moment_in_a_simulation_as_in_a_run() {
    let bench = Bench::new();
    let small = ["--set", "matrix.step_down=[\"on-disconnect\"]", "--set", "matrix.fault=[\"pause\"]"];
    let sets = [&small[..], &["--set", "matrix.resource=[\"fenced\"]", "--set", "faults.pause.repeat=2"]].concat();
    let run = ["run", "split-brain", "--out", "paused", "-q"];
    let ran = bench.run(&[&run[..], &EMBEDDED, &sets].concat());
    ran.fails_nothing();
    let compared = bench.run(&["calibrate", "paused", "--as-is", "--json"]).expect(0);
    let told: serde_json::Value = compared.json();
    let overlaps = told["counted"].as_array().and_then(|all| all.iter().find(|row| row["count"] == "overlaps"));
    let of = |side: &str| {
        let pair = &overlaps.expect("counted")[side];
        (pair[0].as_u64().expect("a number"), pair[1].as_u64().expect("a number"))
    };
    let ((real, handovers), (simulated, simulated_handovers)) = (of("real"), of("simulated"));
    // A stall of the harness may exclude some of the real ones.
    assert!(real > 0 && handovers > 0, "{overlaps:?}");
    assert!(simulated > 0 && simulated == simulated_handovers, "each leader that was stopped: {overlaps:?}");
}
