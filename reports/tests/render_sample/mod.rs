//! Summaries to render: a realistic run, an empty one, a large one, and one in which every string is hostile.

mod build;
mod parameters;
#[path = "../common/plain.rs"]
mod plain;
pub(crate) mod pools;
mod replays;

use hustings_record::{
    EnsembleKind, EvidenceSource, Expectation, FaultKind, Fencing, Machine, Manifest, Warning, WarningKind,
    WithheldReason,
};
use hustings_reports::summary::{CellSummary, CheckResult, FaultsSection, Rate, Summary, WithheldFault};
use hustings_reports::verdict::Verdict;

use build::{
    MS, cell, correlated_expiry, distribution, excess, expiring_course, injections, never_led_again,
    partition_timeline, pause_timeline, quorum_loss, rate, sequential_start, verifications,
};

pub(crate) fn empty() -> Summary {
    let manifest = Manifest {
        run: "2026-03-01T10-15-00Z-7f3a".into(),
        scenario: "quick".into(),
        summary: "Three recipes and a poller under resign, crash, expire, partition and pause.".into(),
        analysis: "Look at the failover of predecessor-watch after a crash: it should be T plus little.\n\
                   The herd of naive and lock-race shows in the fan-out."
            .into(),
        seed: 4242,
        started_utc: "2026-03-01T10:15:00Z".into(),
        ended_utc: Some("2026-03-01T10:17:42Z".into()),
        folder: "runs/20260301-101500-quick".into(),
        command: "hustings run quick --ensemble local --seed 4242".into(),
        ensemble_kind: EnsembleKind::Local,
        ensemble: "local: 3 servers, Java 17 and ZooKeeper found in /usr/share/java".into(),
        ensemble_version: "3.8.0-debian".into(),
        versions: [("hustings", "0.1.0"), ("zookeeper-client", "0.11.1"), ("java", "17.0.14")]
            .map(|(name, version)| (name.to_owned(), version.to_owned()))
            .into(),
        machine: Machine {
            cores: 2,
            memory_mb: 7_941,
            kernel: "Linux 6.1.0-28-amd64".into(),
            cpu: "Intel Xeon (Skylake)".into(),
            load_1m: "0.42".into(),
            load_1m_end: Some("1.06".into()),
        },
        cells_planned: 12,
        cells: Vec::new(),
        ..plain::manifest(Vec::new())
    };
    Summary {
        verdict: Verdict::Pass,
        whole: Verdict::Pass,
        manifest,
        recorded_ns: None,
        notes: Vec::new(),
        pools: Vec::new(),
        cells: Vec::new(),
        replays: Vec::new(),
    }
}

/// Fifteen cells: passes, a failure, an inconclusive one, two that are unsafe as expected, one without fan-out, one without
/// any handover, one with handovers that did not end, two under server faults, one about the servers alone.
pub(crate) fn sample() -> Summary {
    let mut summary = empty();
    summary.cells = vec![
        cell(0, "predecessor-watch", "on-disconnect", FaultKind::Resign, 10),
        cell(1, "naive", "on-disconnect", FaultKind::Resign, 50),
        cell(2, "lock-race", "on-disconnect", FaultKind::Resign, 200),
        polls(cell(3, "poll-race", "on-disconnect", FaultKind::Resign, 10)),
        expiring(cell(4, "predecessor-watch", "on-disconnect", FaultKind::Crash, 10)),
        expiring(cell(5, "naive", "on-disconnect", FaultKind::Crash, 10)),
        censored(expiring(cell(6, "lock-race", "on-disconnect", FaultKind::Crash, 10))),
        expiring(cell(7, "predecessor-watch", "on-disconnect", FaultKind::Partition, 10)),
        unsafe_partition(expiring(cell(8, "predecessor-watch", "on-expiry", FaultKind::Partition, 10))),
        unsafe_pause(expiring(cell(9, "predecessor-watch", "after=0.6", FaultKind::Pause, 10))),
        failing(cell(10, "lock-race", "on-expiry", FaultKind::Expire, 10)),
        without_verification(cell(11, "naive", "on-disconnect", FaultKind::Slow, 10)),
        quorum_loss(cell(12, "predecessor-watch", "on-disconnect", FaultKind::ServerKill, 10)),
        quorum_loss(cell(13, "predecessor-watch", "on-expiry", FaultKind::ServerKill, 10)),
        sequential_start(cell(14, "none", "none", FaultKind::None, 10)),
    ];
    summary.replays = vec![replays::partition(8), replays::resignation(0)];
    summary.manifest.cells_planned = 15;
    summary.recorded_ns = Some(161_500 * MS);
    summary.verdict = Verdict::Fail;
    let text = "T asked is 1 s, the ensemble grants 4 s (minSessionTimeout is 2 ticks)";
    summary.manifest.warnings.push(Warning::new(WarningKind::TimeoutNotGranted, text));
    summary.notes.push("cell 11: its last block (412 bytes) was torn and is left out".into());
    summary
}

/// `cells` cells, some of them failing.
pub(crate) fn large(cells: u32) -> Summary {
    let mut summary = empty();
    let recipes = ["predecessor-watch", "naive", "lock-race"];
    let policies = ["on-disconnect", "on-expiry"];
    let faults = [FaultKind::Resign, FaultKind::Crash, FaultKind::Partition, FaultKind::Pause, FaultKind::Expire];
    summary.manifest.cells_planned = cells;
    for i in 0..cells {
        let at = |n: u32| (i / n) as usize;
        let fault = faults[at(6) % faults.len()];
        let mut next = cell(i, recipes[i as usize % 3], policies[at(3) % 2], fault, [10, 50][at(30) % 2]);
        if fault != FaultKind::Resign && fault != FaultKind::Expire {
            next = expiring(next);
        }
        if i % 23 == 22 {
            next = failing(next);
            summary.verdict = Verdict::Fail;
        }
        summary.cells.push(next);
    }
    summary
}

/// Every free-text string of the sample is replaced by `text`, whatever its field.
pub(crate) fn hostile(text: &str) -> Summary {
    let mut small = sample();
    small.cells = small.cells.split_off(8);
    let mut tree = serde_json::to_value(&small).expect("a summary is JSON");
    let mut paths = Vec::new();
    strings_below(&tree, String::new(), &mut paths);
    let mut replaced = 0;
    for path in paths {
        let place = tree.pointer_mut(&path).expect("the path was just found");
        let before = std::mem::replace(place, text.into());
        // Names of enums cannot be replaced: they are not external text.
        if serde_json::from_value::<Summary>(tree.clone()).is_ok() {
            replaced += 1;
        } else {
            *tree.pointer_mut(&path).expect("the path is still there") = before;
        }
    }
    assert!(replaced > 100, "only {replaced} strings were free text");
    serde_json::from_value(tree).expect("only what can be read was replaced")
}

fn strings_below(tree: &serde_json::Value, path: String, paths: &mut Vec<String>) {
    match tree {
        serde_json::Value::String(_) => paths.push(path),
        serde_json::Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                strings_below(item, format!("{path}/{i}"), paths);
            }
        }
        serde_json::Value::Object(fields) => {
            for (name, item) in fields {
                strings_below(item, format!("{path}/{name}"), paths);
            }
        }
        _ => {}
    }
}

fn check(name: &str, verdict: Verdict, headline: &str, details: &[&str]) -> CheckResult {
    CheckResult {
        name: name.into(),
        verdict,
        headline: headline.into(),
        details: details.iter().map(|&line| line.to_owned()).collect(),
        unsafe_as_expected: false,
        rests_on: vec![EvidenceSource::Effect, EvidenceSource::Wire],
        by_stalls: false,
        testability: None,
    }
}

fn replace(cell: &mut CellSummary, new: CheckResult) {
    cell.verdict = cell.verdict.merge(new.verdict);
    cell.unsafe_as_expected |= new.unsafe_as_expected;
    cell.checks.retain(|old| old.name != new.name);
    cell.checks.push(new);
}

fn polls(mut cell: CellSummary) -> CellSummary {
    cell.fan_out = Default::default();
    cell.deletion_watches = Default::default();
    (cell.failover.detect, cell.failover.spread, cell.failover.decide) = (None, None, None);
    if let Some(course) = &mut cell.failover.course {
        (course.granted, course.told, course.last_told) = (262 * MS, None, None);
        course.written = Some(263 * MS);
    }
    cell.failover.whole = Some(distribution(38, 0, 40 * MS, 1_000 * MS));
    cell
}

/// A session left to expire: T less its age, plus the delays of the servers and the client.
fn expiring(mut cell: CellSummary) -> CellSummary {
    let add = u64::from(cell.info.index % 6) * 70 * MS;
    cell.failover.detect = Some(distribution(40, 0, 5_200 * MS + add, 900 * MS));
    cell.failover.whole = Some(distribution(40, 0, 5_202 * MS + add, 905 * MS));
    cell.failover.excess = Some(excess(40, add));
    cell.failover.course = expiring_course(&cell);
    cell.correlated_expiries = (0..4).map(|injection| correlated_expiry(&cell, injection)).collect();
    cell
}

fn censored(mut cell: CellSummary) -> CellSummary {
    cell.failover.whole = Some(distribution(34, 6, 5_201 * MS, 2_900 * MS));
    (cell.handovers.completed, cell.handovers.censored) = (34, 6);
    cell.exceptions = (0..4).map(|i| never_led_again(&cell, i)).collect();
    cell.failover.void = 3;
    if let Some(whole) = &mut cell.failover.whole {
        whole.void = 3;
    }
    cell
}

fn unsafe_partition(mut cell: CellSummary) -> CellSummary {
    cell.info.expect.overlap = Expectation::Some;
    cell.info.expect.overlap_of_t_max = Some(0.5);
    cell.info.expect.because = "the client gives up at 7T/5, after the server has expired the session".into();
    cell.info.fencing = Fencing::Unfenced;
    cell.split_brain.active = rate(37, 40);
    (cell.split_brain.active_total_ns, cell.split_brain.active_max_ns) = (61_000 * MS, 2_310 * MS);
    cell.split_brain.lengths = Some(distribution(37, 0, 900 * MS, 700 * MS));
    cell.writes.unfenced = rate(212, 40);
    cell.writes.fenced_off = 212;
    let details = ["election-0003: host-0 #30 and host-2 #32 both led for 2.31 s", "element of 37 in all"];
    let mut seen =
        check("split_brain", Verdict::Pass, "37 definite overlaps in 40 handovers, longest 0.39 T", &details);
    seen.unsafe_as_expected = true;
    replace(&mut cell, seen);
    cell.timelines = vec![partition_timeline()];
    cell
}

/// A race that the scenario allows: over quickly, and nothing passed the fence.
pub(crate) fn racing(mut cell: CellSummary) -> CellSummary {
    cell.info.expect.overlap = Expectation::Any;
    cell.split_brain.active = rate(3, 40);
    (cell.split_brain.active_total_ns, cell.split_brain.active_max_ns) = (14 * MS, 8 * MS);
    let mut seen = check("split-brain", Verdict::Pass, "3 overlaps while both ran in 40 handovers, longest 8 ms", &[]);
    seen.unsafe_as_expected = true;
    replace(&mut cell, seen);
    cell
}

/// Policies with a fence and without, as in `split-brain`: only the fence distinguishes half of the cells.
pub(crate) fn fenced_and_unfenced() -> Summary {
    let mut summary = empty();
    for (place, policy) in ["on-disconnect", "after=0.4", "on-expiry"].into_iter().enumerate() {
        for (turn, fencing) in [Fencing::Fenced, Fencing::Unfenced].into_iter().enumerate() {
            let index = (place * 2 + turn) as u32;
            let mut one = expiring(cell(index, "predecessor-watch", policy, FaultKind::Pause, 5));
            (one.info.fencing, one.info.name) = (fencing, format!("predecessor-watch-pause-{policy}-{fencing}"));
            summary.cells.push(racing(one));
        }
    }
    summary.manifest.cells_planned = 6;
    summary
}

/// Recipes at three sizes, as in `herd`.
pub(crate) fn herd() -> Summary {
    let mut summary = empty();
    for (recipe, place) in ["predecessor-watch", "naive", "lock-race"].into_iter().zip(0..) {
        for (candidates, turn) in [10, 50, 200].into_iter().zip(0..) {
            let mut one = cell(place * 3 + turn, recipe, "on-disconnect", FaultKind::Resign, candidates);
            let base = if recipe == "predecessor-watch" { 1_900 } else { u64::from(candidates) * 110 };
            one.failover.whole = Some(distribution(40, 0, base * 1_000, base * 200));
            one.injections = injections(12, base * 1_000);
            one.handovers.injections = 12;
            summary.cells.push(one);
        }
    }
    summary.manifest.cells_planned = 9;
    summary
}

fn unsafe_pause(mut cell: CellSummary) -> CellSummary {
    cell.info.expect.stale_writes = Expectation::Any;
    cell.split_brain.latent = 40;
    cell.split_brain.latent_max_ns = 3_900 * MS;
    cell.writes.unfenced = rate(44, 40);
    cell.writes.fenced_off = 44;
    cell.writes.on_waking = 44;
    let headline = "44 stale writes tried on waking, all 44 rejected by the fence";
    let mut seen =
        check("stale_writes", Verdict::Pass, headline, &["election-0001: token 0x1000003f after 0x10000051"]);
    seen.unsafe_as_expected = true;
    replace(&mut cell, seen);
    cell.timelines = vec![pause_timeline()];
    cell
}

fn failing(mut cell: CellSummary) -> CellSummary {
    cell.split_brain.active = rate(2, 40);
    (cell.split_brain.active_total_ns, cell.split_brain.active_max_ns) = (3 * MS, 2 * MS);
    cell.handovers.unplanned = 1;
    let details = ["election-0007: host-1 #71 and host-3 #73 both led for 2.00 ms, at +12.4 s", "tokens 0x2a and 0x31"];
    replace(
        &mut cell,
        check("split_brain", Verdict::Fail, "2 definite overlaps in 40 handovers, none expected", &details),
    );
    replace(&mut cell, check("liveness", Verdict::Fail, "1 handover that no fault explains", &[]));
    let mut timeline = partition_timeline();
    timeline.group = "election-0007".into();
    timeline.terms[0].to = timeline.terms[1].from + 2 * MS;
    timeline.terms[0].overlap = vec![(timeline.terms[1].from, timeline.terms[1].from + 2 * MS)];
    timeline.terms[1].overlap = timeline.terms[0].overlap.clone();
    timeline.stale_writes.clear();
    cell.timelines = vec![timeline];
    cell
}

fn without_verification(mut cell: CellSummary) -> CellSummary {
    (cell.failover.whole, cell.failover.detect, cell.failover.spread, cell.failover.decide, cell.failover.act) =
        (None, None, None, None, None);
    cell.failover.course = None;
    cell.handovers = Default::default();
    cell.fan_out = Default::default();
    cell.deletion_watches = Default::default();
    cell.split_brain.active = Rate::default();
    cell.timeout_ms = Some(4_000);
    cell.info.timeout_asked_ms = 1_000;
    cell.faults = FaultsSection {
        planned: 4,
        planned_verified: 0,
        withheld: vec![WithheldFault {
            planned: 3,
            kind: FaultKind::Slow,
            intended: 130_000_000_000,
            why: WithheldReason::NoHealthyHost,
        }],
        lost: 0,
        verified: 0,
        unverified: 3,
        lateness: None,
        verifications: verifications(FaultKind::Slow, 3, false),
    };
    let headline = "3 of 3 faults have no verification: nothing was shown";
    replace(
        &mut cell,
        check("verification", Verdict::Inconclusive, headline, &["fault 0: the toxic was not there when read back"]),
    );
    cell
}
