//! The parts that the summaries are made of, with figures of the size that real runs show.

use hustings_reports::record::{CellInfo, Expect, FaultKind, Fencing, LinkUse, Nanos, SessionUse};
use hustings_reports::summary::{
    CellSummary, CheckResult, Distribution, Enrolment, Excess, FanOut, FaultBand, Faults, Handovers, Leaderless,
    Ownership, Rate, Receipt, SplitBrain, Stalls, TermBar, Timeline, Writes,
};
use hustings_reports::verdict::Verdict;

pub(crate) const US: Nanos = 1_000;
pub(crate) const MS: Nanos = 1_000_000;
pub(crate) const S: Nanos = 1_000_000_000;

/// A long-tailed distribution: from `base`, with quantile q at `base + scale × −ln(1 − q) / 3`.
pub(crate) fn distribution(n: u64, censored: u64, base: Nanos, scale: Nanos) -> Distribution {
    let all = n + censored;
    let value = |q: f64| base + (scale as f64 * -(1.0 - q).ln() / 3.0) as Nanos;
    let sample = |i: u64| value((i as f64 + 0.5) / all as f64);
    let quantile = |q: f64| {
        let rank = (q * all as f64).ceil().max(1.0) as u64;
        (rank <= n).then(|| sample(rank - 1))
    };
    Distribution {
        n,
        censored,
        min: sample(0),
        p50: quantile(0.5),
        p90: quantile(0.9),
        p99: quantile(0.99),
        max: sample(n - 1),
        mean: (0..n).map(sample).sum::<u64>() / n,
        curve: (0..n).map(|i| (sample(i), (i + 1) as f64 / all as f64)).collect(),
    }
}

pub(crate) fn excess(n: u64, add: Nanos) -> Excess {
    Excess { over_floor: distribution(n, 0, 80 * MS + add, 600 * MS), early: 0, window_ns: 800 * MS, beyond_window: 0 }
}

/// With an upper bound near enough to the real one for a picture.
pub(crate) fn rate(seen: u64, n: u64) -> Rate {
    let share = seen as f64 / n as f64;
    let upper = share + (3.0 + 2.0 * (seen as f64).sqrt()) / n as f64;
    Rate { seen, n, upper_95: Some(upper.min(1.0)) }
}

pub(crate) fn cell(index: u32, recipe: &str, step_down: &str, fault: FaultKind, candidates: u32) -> CellSummary {
    let pace = match recipe {
        "predecessor-watch" => 1,
        "naive" => 3,
        _ => 5,
    };
    let woken = if recipe == "predecessor-watch" { 1 } else { u64::from(candidates) - 1 };
    CellSummary {
        info: info(index, recipe, step_down, fault, candidates),
        verdict: Verdict::Pass,
        unsafe_as_expected: false,
        timeout_ms: Some(6_000),
        checks: checks(woken),
        handovers: Handovers { planned: 40, completed: 40, ..Default::default() },
        failover: Some(distribution(40, 0, pace * 1_100 * US, pace * 1_900 * US)),
        detect: Some(distribution(40, 0, pace * 450 * US, 700 * US)),
        spread: Some(distribution(40, 0, woken * 12 * US, woken * 9 * US)),
        decide: Some(distribution(40, 0, pace * 600 * US, pace * 800 * US)),
        act: Some(distribution(40, 0, 900 * US, 2_500 * US)),
        excess: None,
        floor: Some(distribution(200, 0, 900 * US, 600 * US)),
        fan_out: FanOut {
            losses: 40,
            woken: Some((woken, woken, woken)),
            promised: Some((woken, woken)),
            requests: Some((woken * 2, woken * 3)),
            spread: Some(distribution(40, 0, woken * 12 * US, woken * 9 * US)),
            clients_saw: Some((woken * 40, woken * 40)),
            servers_say: Some(woken * 40),
        },
        split_brain: SplitBrain { active: rate(0, 40), ..Default::default() },
        writes: Writes { total: 8_300, unfenced: rate(0, 8_300), past_fence: rate(0, 8_300), ..Default::default() },
        leaderless: Leaderless {
            share: 0.003_1,
            longest_ns: 6_300 * MS,
            longest_group: Some("election-0004".into()),
            groups_at_end: 0,
        },
        ownership: Ownership { zombie_max_ns: 400 * US, dead_owner_max_ns: 2 * MS, ..Default::default() },
        enrolment: Enrolment {
            candidates: u64::from(candidates) * 20,
            sessions: u64::from(candidates) * 20,
            all_led_ns: Some(1_240 * MS),
            connect: Some(distribution(200, 0, 2 * MS, 5 * MS)),
            rss_kb: Some(81_000),
            hosts: 5,
        },
        faults: Faults { verified: 4, unverified: 0, lateness: Some(distribution(4, 0, 150 * US, 800 * US)) },
        receipts: receipts(fault, 4, true),
        stalls: Stalls { count: 3, longest_ns: 8 * MS, over_limit: 0 },
        timelines: Vec::new(),
    }
}

fn info(index: u32, recipe: &str, step_down: &str, fault: FaultKind, candidates: u32) -> CellInfo {
    CellInfo {
        index,
        name: format!("{index:02}-{recipe}-{step_down}-{fault}"),
        recipe: recipe.into(),
        step_down: step_down.into(),
        fault: fault.name().into(),
        fault_kind: fault,
        groups: (0..20).map(|i| format!("election-{i:04}")).collect(),
        hosts: (0..5).map(|i| format!("host-{i}")).collect(),
        candidates_per_group: candidates,
        timeout_asked_ms: 6_000,
        tick_ms: 200,
        servers: 3,
        sessions: SessionUse::PerCandidate,
        links: LinkUse::Embedded,
        fencing: Fencing::Fenced,
        work_interval_ms: 20,
        expect: Expect::default(),
        extra: Default::default(),
    }
}

fn checks(woken: u64) -> Vec<CheckResult> {
    let pass = |name: &str, headline: String| CheckResult {
        name: name.into(),
        verdict: Verdict::Pass,
        headline,
        details: Vec::new(),
        unsafe_as_expected: false,
    };
    vec![
        pass("split_brain", "0 definite overlaps in 40 handovers (95 % bound 7.3 %)".into()),
        pass("stale_writes", "0 of 8,300 writes past the fence".into()),
        pass("liveness", "all 20 groups led at the end".into()),
        pass("ownership", "longest zombie 400 µs".into()),
        pass("fan_out", format!("{woken} woken per loss, as promised; servers agree")),
    ]
}

pub(crate) fn receipts(kind: FaultKind, n: u32, verified: bool) -> Vec<Receipt> {
    let receipt = |fault: u32| {
        let intended = 100 * S + u64::from(fault) * 9 * S;
        let injected = intended + 700 * US;
        Receipt {
            fault,
            kind,
            intended,
            injected: verified.then_some((injected, injected + 900 * US)),
            healed: (verified && kind != FaultKind::Crash).then_some((injected + 8 * S, injected + 8 * S + MS)),
            verified,
            evidence: format!("probe of host-{fault} ended after 250 ms without an answer; 0 bytes in 240 ms"),
            hosts: vec![format!("host-{fault}")],
            groups: 10,
        }
    };
    (0..n).map(receipt).collect()
}

fn term(host: u16, candidate: u32, from: Nanos, to: Nanos) -> TermBar {
    TermBar { host, candidate, from: 100 * S + from, to: 100 * S + to, latent: Vec::new(), overlap: Vec::new() }
}

/// A partition longer than T: the old leader believes on until its own timer ends.
pub(crate) fn partition_timeline() -> Timeline {
    let mut old = term(0, 30, 0, 16_400 * MS);
    let mut new = term(2, 32, 14_090 * MS, 28 * S);
    let both = (100 * S + 14_090 * MS, 100 * S + 16_400 * MS);
    old.overlap.push(both);
    new.overlap.push(both);
    let faults = vec![FaultBand { kind: FaultKind::Partition, host: Some(0), from: 108 * S, to: 120 * S }];
    let stale_writes = (0..40).map(|i| (100 * S + 14_200 * MS + i * 50 * MS, 0, false)).collect();
    Timeline {
        group: "election-0003".into(),
        because: "longest definite overlap".into(),
        from: 100 * S,
        to: 130 * S,
        terms: vec![old, new, term(3, 33, 28_400 * MS, 30 * S)],
        faults,
        stale_writes,
    }
}

/// A pause longer than T: the belief is latent, and writes are tried on waking.
pub(crate) fn pause_timeline() -> Timeline {
    let mut old = term(1, 11, 0, 14_020 * MS);
    let mut new = term(4, 14, 10_100 * MS, 20 * S);
    old.latent.push((104 * S, 114 * S));
    let both = (100 * S + 10_100 * MS, 100 * S + 14_020 * MS);
    old.overlap.push(both);
    new.overlap.push(both);
    let faults = vec![FaultBand { kind: FaultKind::Pause, host: Some(1), from: 104 * S, to: 114 * S }];
    let at = 100 * S + 14_005 * MS;
    Timeline {
        group: "election-0001".into(),
        because: "most stale writes".into(),
        from: 100 * S,
        to: 120 * S,
        terms: vec![old, new],
        faults,
        stale_writes: vec![(at, 1, true), (at + 4 * MS, 1, true), (100 * S + 13_700 * MS, 1, false)],
    }
}
