//! The building blocks of the summaries, with figures of the size of real runs.

use std::collections::BTreeMap;

use hustings_record::{EvidenceSource, FaultKind, Nanos, ServerState};
use hustings_reports::stats::{Quantiles, upper_95};
use hustings_reports::summary::{
    CellSummary, CheckResult, CorrelatedExpiry, DeletionWatches, Distribution, EffectSection, ElectionRole, Enrolment,
    Exception, ExceptionKind, Excess, Failover, FailoverTimeline, FanOutSection, FaultBand, FaultVerification,
    FaultsSection, FollowersLost, GrantTokens, Handovers, InjectionCost, KaplanMeier, LeaderlessTime, Ownership,
    Participation, Rate, ServerBar, ServerElection, ServerFault, ServerUnavailable, ServerWatchSection,
    SessionsSection, SplitBrain, Stalls, StrayWrites, TermBar, Timeline, UnavailableTime, WatchesFired, WriteGap,
    WriteProbes, WriteTokens, Writes,
};
use hustings_reports::verdict::Verdict;

use super::parameters::info;

pub(crate) const US: Nanos = 1_000;
pub(crate) const MS: Nanos = 1_000 * US;
pub(crate) const S: Nanos = 1_000 * MS;
/// A long-tailed distribution: from `base`, with quantile q at `base + scale × −ln(1 − q) / 3`.
pub(crate) fn distribution(n: u64, censored: u64, base: Nanos, scale: Nanos) -> Distribution {
    let all = n + censored;
    let value = |q: f64| base + (scale as f64 * -(1.0 - q).ln() / 3.0) as Nanos;
    let sample = |i: u64| value((i as f64 + 0.5) / all as f64);
    let rank = |q: f64| (q * all as f64).ceil().max(1.0) as u64;
    let quantile = |q: f64| (rank(q) <= n).then(|| sample(rank(q) - 1));
    Distribution {
        n,
        censored,
        void: 0,
        min: sample(0),
        p50: quantile(0.5),
        p90: quantile(0.9),
        p99: quantile(0.99).filter(|_| all >= 100),
        max: sample(n - 1),
        mean: (0..n).map(sample).sum::<u64>() / n,
        curve: (0..n).map(|i| (sample(i), (i + 1) as f64 / all as f64)).collect(),
    }
}

/// The median failover, consisting only of messages.
fn course(pace: u64, fault: FaultKind) -> FailoverTimeline {
    let released = (fault == FaultKind::Resign).then_some(210 * US);
    let told = released.unwrap_or(0) + pace * 480 * US;
    FailoverTimeline {
        granted: told + pace * 730 * US,
        touched_before: None,
        due: None,
        released,
        told: Some(told),
        last_told: (pace > 1).then(|| told + 90 * US),
        written: Some(told + pace * 730 * US + 1_400 * US),
    }
}

/// The same where T runs out first.
pub(crate) fn expiring_course(cell: &CellSummary) -> Option<FailoverTimeline> {
    let course = cell.failover.course?;
    let due = 5_180 * MS;
    let later = |at: Nanos| at + due + 95 * MS;
    Some(FailoverTimeline {
        granted: later(course.granted),
        touched_before: Some(820 * MS),
        due: Some(due),
        released: None,
        told: course.told.map(later),
        last_told: course.last_told.map(later),
        written: course.written.map(later),
    })
}

/// Ten groups, most of which expired in the same tick.
pub(crate) fn correlated_expiry(cell: &CellSummary, injection: u64) -> CorrelatedExpiry {
    let (at, kind, tick) = ((12 + injection * 9) * S, cell.info.fault_kind, 200 * MS);
    CorrelatedExpiry {
        at,
        kind,
        groups: 10,
        never: 0,
        tick,
        noticed: vec![(24, 1), (26, 7 - injection), (27, 2 + injection)],
    }
}

/// A handover that had not ended when the run did.
pub(crate) fn never_led_again(cell: &CellSummary, group: u32) -> Exception {
    Exception {
        kind: ExceptionKind::Censored,
        group: format!("election-{group:04}"),
        at: 52 * S,
        lasted: 9 * S,
        loser: ("host-1".into(), 10 * group + 1),
        next: None,
        fault: Some((3, cell.info.fault_kind)),
    }
}

pub(crate) fn excess(n: u64, add: Nanos) -> Excess {
    Excess {
        over_floor: distribution(n, 0, 80 * MS + add, 600 * MS),
        early: 0,
        window_ns: 800 * MS,
        beyond_window: 0,
        restarted: 0,
        over_naive_floor: None,
        over_restarted_floor: None,
    }
}

/// With ten handovers per injection.
pub(crate) fn rate(seen: u64, n: u64) -> Rate {
    let (injections, bad_injections) = (n.div_ceil(10), seen.min(n).div_ceil(10));
    Rate { seen, n, injections, bad_injections, upper_95: upper_95(bad_injections, injections) }
}

/// This many injections, each of one lead, that took this long or slightly longer.
pub(crate) fn injections(n: u64, base: Nanos) -> Vec<InjectionCost> {
    let of = |place: u64| {
        let took = Some(base + place * base / 50);
        let reduced = Some(KaplanMeier { n: 1, censored: 0, p50: took, longest: took });
        let (after_ns, lost, censored) = (place * S, 1, 0);
        InjectionCost {
            after_ns,
            lost,
            censored,
            failover: reduced,
            failovers: took.into_iter().collect(),
            until_write: reduced,
            until_writes: took.into_iter().collect(),
            over_floor: None,
            woken: None,
        }
    };
    (0..n).map(of).collect()
}

pub(crate) fn cell(index: u32, recipe: &str, step_down: &str, fault: FaultKind, candidates: u32) -> CellSummary {
    let pace = match recipe {
        "predecessor-watch" => 1,
        "naive" => 3,
        _ => 5,
    };
    let woken = if recipe == "predecessor-watch" { 1 } else { u64::from(candidates) - 1 };
    CellSummary {
        checks: checks(woken),
        handovers: Handovers { planned: 40, completed: 40, injections: 4, ..Default::default() },
        failover: Failover {
            whole: Some(distribution(40, 0, pace * 1_100 * US, pace * 1_900 * US)),
            detect: Some(distribution(40, 0, pace * 450 * US, 700 * US)),
            spread: Some(distribution(40, 0, woken * 12 * US, woken * 9 * US)),
            decide: Some(distribution(40, 0, pace * 600 * US, pace * 800 * US)),
            act: Some(distribution(40, 0, 900 * US, 2_500 * US)),
            from_intended: Some(distribution(40, 0, pace * 1_300 * US, pace * 1_900 * US)),
            release: (fault == FaultKind::Resign).then(|| distribution(40, 0, 150 * US, 300 * US)),
            course: Some(course(pace, fault)),
            floor: Some(distribution(200, 0, 900 * US, 600 * US)),
            floor_pairs: 20,
            ..Default::default()
        },
        fan_out: FanOutSection {
            losses: 40,
            woken: Some((woken, woken, woken)),
            promised: Some((woken, woken)),
            followers: FollowersLost { losses: 12, woken: Some((0, 0, 1)), promised: Some((0, 1)) },
            requests: Some((woken * 2, woken * 3)),
            requests_per_wake: Some(3),
            requests_promised: Some(4),
            spread: Some(distribution(40, 0, woken * 12 * US, woken * 9 * US)),
            ..Default::default()
        },
        deletion_watches: DeletionWatches {
            clients_saw: Some((woken * 40, woken * 40)),
            servers_say: Some(woken * 40),
            others: BTreeMap::from([("created".to_owned(), WatchesFired { clients_saw: (52, 52), servers_say: 52 })]),
        },
        split_brain: SplitBrain { active: rate(0, 40), ..Default::default() },
        writes: Writes { total: 8_300, unfenced: rate(0, 40), past_fence: rate(0, 40), ..Default::default() },
        stray_writes: StrayWrites { recorded: 8_300, terms: 96, slowest_ns: 2 * MS, ..Default::default() },
        write_tokens: WriteTokens { compared: 8_300, ..Default::default() },
        grant_tokens: GrantTokens { compared: 96, ..Default::default() },
        effect: EffectSection {
            without_write: 0.012_4,
            longest_ns: 6_400 * MS,
            longest_group: Some("election-0004".into()),
            between: Some(Quantiles { n: 8_280, p50: 20 * MS, p99: 31 * MS, p999: Some(880 * MS), max: 6_400 * MS }),
            terms: 96,
            ..Default::default()
        },
        leaderless: LeaderlessTime {
            led_ns: 1_800_000_000_000,
            share: 0.003_1,
            longest_ns: 6_300 * MS,
            longest_group: Some("election-0004".into()),
            ..Default::default()
        },
        standing: Participation {
            candidates: u64::from(candidates) * 20,
            at_end: u64::from(candidates) * 20,
            ..Default::default()
        },
        ownership: Ownership { zombie_max_ns: 400 * US, dead_owner_max_ns: 2 * MS, ..Default::default() },
        enrolment: Enrolment {
            candidates: u64::from(candidates) * 20,
            sessions: u64::from(candidates) * 20,
            all_led_ns: Some(1_240 * MS),
            connect: Some(distribution(200, 0, 2 * MS, 5 * MS)),
            connect_anew: (fault == FaultKind::Expire).then(|| distribution(40, 0, 3 * MS, 6 * MS)),
            rss_kb: Some(81_000),
            hosts: 5,
        },
        faults: FaultsSection {
            planned: 4,
            planned_verified: 4,
            verified: 4,
            lateness: Some(distribution(4, 0, 150 * US, 800 * US)),
            verifications: verifications(fault, 4, true),
            ..Default::default()
        },
        stalls: Stalls { count: 3, longest_ns: 8 * MS, ..Default::default() },
        ..CellSummary::of(info(index, recipe, step_down, fault, candidates), Some(6_000))
    }
}

fn checks(woken: u64) -> Vec<CheckResult> {
    let pass = |name: &str, headline: String| CheckResult {
        name: name.into(),
        verdict: Verdict::Pass,
        headline,
        details: Vec::new(),
        unsafe_as_expected: false,
        rests_on: vec![EvidenceSource::Report],
        by_stalls: false,
        testability: None,
    };
    vec![
        pass("split_brain", "0 definite overlaps in 40 handovers (95 % bound 7.3 %)".into()),
        pass("stale_writes", "0 of 8,300 writes past the fence".into()),
        pass("liveness", "all 20 groups led at the end".into()),
        pass("ownership", "longest zombie 400 µs".into()),
        pass("fan_out", format!("{woken} woken per loss, as promised; servers agree")),
    ]
}

pub(crate) fn verifications(kind: FaultKind, n: u32, verified: bool) -> Vec<FaultVerification> {
    let verification = |fault: u32| {
        let intended = 100 * S + u64::from(fault) * 9 * S;
        let injected = intended + 700 * US;
        FaultVerification {
            overran_ns: None,
            fault,
            kind,
            intended,
            injected: verified.then_some((injected, injected + 900 * US)),
            healed: (verified && kind != FaultKind::Crash).then_some((injected + 8 * S, injected + 8 * S + MS)),
            verified,
            evidence: format!("probe of host-{fault} ended after 250 ms without an answer; 0 bytes in 240 ms"),
            hosts: vec![format!("host-{fault}")],
            servers: Vec::new(),
            groups: 10,
        }
    };
    (0..n).map(verification).collect()
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

/// A pause longer than T: the belief is latent, and writes are attempted on waking.
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

/// Ends of a bracket around `t` milliseconds after the picture begins.
fn bracket(t: Nanos) -> (Nanos, Nanos) {
    (100 * S + t * MS, 100 * S + (t + 12) * MS)
}

fn bar(server: u32, state: ServerState, from: Nanos, to: Nanos) -> ServerBar {
    ServerBar { server, state, from: bracket(from).0, to: bracket(to).0 }
}

fn election(old: Option<u32>, winner: u32, epoch: u64, lost: Nanos, ended: Nanos) -> ServerElection {
    let role = |server, left, back| ElectionRole {
        server,
        left: bracket(left),
        looking: Some(bracket(left)),
        back: Some(bracket(back)),
        leads: server == winner,
        took_ms: Some(214),
        log_ns: Some((back - left + 4) * MS),
    };
    ServerElection {
        fault: old.map(|_| 0),
        old,
        winner: Some(winner),
        predicted: Some(winner),
        not_predicted: None,
        epoch: Some(epoch),
        lost: bracket(lost),
        ended: Some(bracket(ended)),
        writes: old.map(|_| gap(lost - 2, ended + 40)),
        outage: ((ended - lost - 12) * MS, (ended - lost + 12) * MS),
        roles: vec![role(1, lost, ended), role(winner, lost + 3, ended + 2)],
        votes: [1, winner].map(|id| format!("server {id} with epoch {}, zxid 0x100000214", epoch - 1)).into(),
    }
}

/// No write was acknowledged from `from` to `to`.
fn gap(from: Nanos, to: Nanos) -> WriteGap {
    let (from, to) = (bracket(from).0, bracket(to).0);
    WriteGap { from, to, least_ns: to - from - 5 * MS, most_ns: Some(to - from) }
}

/// The ensemble's leader is killed while candidates run, and after its return the next one is stopped.
pub(crate) fn quorum_loss(mut cell: CellSummary) -> CellSummary {
    use ServerState as State;
    let steps_down = cell.info.step_down == Some(hustings_record::StepDown::OnDisconnect);
    cell.failover = Failover { excess: cell.failover.excess, floor: cell.failover.floor, ..Failover::default() };
    cell.handovers = Handovers::default();
    cell.fan_out = FanOutSection::default();
    cell.deletion_watches = DeletionWatches::default();
    (cell.leaderless.share, cell.leaderless.longest_ns) = if steps_down { (0.021, 1_920 * MS) } else { (0.0, 0) };
    cell.sessions = SessionsSection {
        established: 200,
        disconnected: 131,
        reconnected: 131,
        lost: 0,
        reconnect: Some(distribution(131, 0, 420 * MS, 900 * MS)),
        interrupted_terms: if steps_down { 13 } else { 0 },
        severed: 0,
    };
    cell.faults.verifications.truncate(2);
    for (verification, server) in cell.faults.verifications.iter_mut().zip([3, 2]) {
        (verification.hosts, verification.servers, verification.groups) = (Vec::new(), vec![server], 0);
    }
    cell.ensemble.elections = vec![election(Some(3), 2, 2, 8_000, 8_380), election(Some(2), 3, 3, 22_000, 22_900)];
    // Stopped at 20 s already: its followers noticed after two seconds.
    cell.ensemble.elections[1].writes = Some(gap(20_003, 22_960));
    cell.ensemble.elections[1].predicted = None;
    cell.ensemble.elections[1].not_predicted = Some("server 1 or 3 may have won".into());
    let state_spans = [
        (1, [(State::Following, 0), (State::NotServing, 8_010), (State::Following, 8_390)]),
        (1, [(State::Following, 9_000), (State::NotServing, 22_010), (State::Following, 22_910)]),
        (2, [(State::Following, 0), (State::NotServing, 8_010), (State::Leading, 8_390)]),
        (2, [(State::Silent, 20_010), (State::NotServing, 30_010), (State::Following, 30_610)]),
        (3, [(State::Leading, 0), (State::Down, 8_010), (State::NotServing, 13_200)]),
        (3, [(State::Following, 13_910), (State::NotServing, 22_010), (State::Leading, 22_910)]),
    ];
    let mut bars: Vec<ServerBar> = Vec::new();
    for (server, (state, from)) in
        state_spans.into_iter().flat_map(|(server, s)| s.map(|state_span| (server, state_span)))
    {
        if let Some(last) = bars.last_mut().filter(|bar| bar.server == server) {
            last.to = bracket(from).0;
        }
        bars.push(bar(server, state, from, 40_000));
    }
    cell.ensemble.states = bars;
    let fault = |id, kind, server, from: Nanos, to: Nanos| {
        let (from, to) = (bracket(from).0, bracket(to).0);
        ServerFault { id, kind, servers: vec![server], from, to, verified: true, writes: None }
    };
    let faults =
        vec![fault(0, FaultKind::ServerKill, 3, 8_002, 13_000), fault(1, FaultKind::ServerPause, 2, 20_003, 30_000)];
    cell.ensemble.elections[1].fault = Some(1);
    let mut led = vec![(100 * S, 20)];
    if steps_down {
        led.extend((0..7).map(|i| (bracket(8_010 + i * 5).0, 19 - i)));
        led.extend((0..7).map(|i| (bracket(8_600 + i * 190).0, 14 + i)));
    }
    let mut timeline = partition_timeline();
    timeline.because = "the longest time without a leader".into();
    timeline.terms = vec![term(0, 30, 0, 8_012 * MS), term(0, 30, 9_930 * MS, 30 * S)];
    let band = |f: &ServerFault| FaultBand { kind: f.kind, host: None, from: f.from, to: f.to };
    timeline.faults = faults.iter().map(band).collect();
    timeline.stale_writes.clear();
    cell.timelines = vec![timeline];
    let (polls, log_ns) = ((1_251 * MS, 1_297 * MS), Some(1_269 * MS));
    let times = Some(UnavailableTime { told_ns: 1_268 * MS, count: 2, polls, log_ns });
    let not_compared = Some("it was killed: it counts from anew".into());
    let unavailable = vec![
        ServerUnavailable { server: 1, times, not_compared: None },
        ServerUnavailable { server: 3, times: None, not_compared },
    ];
    let mut watch = watch(40_000, faults, led, unavailable);
    watch
        .faults
        .push(ServerFault { writes: Some(gap(34_000, 34_210)), ..fault(2, FaultKind::ServerKill, 1, 34_000, 38_000) });
    let (longest, gaps) = (cell.ensemble.elections[1].writes, [(7_998, 8_420), (20_003, 22_960), (34_000, 34_210)]);
    let gaps = gaps.map(|(from, to)| (bracket(from).0, bracket(to).0)).into();
    watch.writes = Some(WriteProbes { from: 100 * S, every_ns: 5 * MS, acknowledged: Some(5_230), longest, gaps });
    cell.ensemble.watch = Some(watch);
    cell
}

fn watch(
    to: Nanos,
    faults: Vec<ServerFault>,
    led: Vec<(Nanos, u64)>,
    unavailable: Vec<ServerUnavailable>,
) -> ServerWatchSection {
    let (every_ns, longest_gap_ns) = (Some(10 * MS), 31 * MS);
    let to = bracket(to).0;
    ServerWatchSection { from: 100 * S, to, every_ns, longest_gap_ns, lulls: 0, faults, led, unavailable, writes: None }
}

/// Five empty servers, one after the other, without candidates.
pub(crate) fn sequential_start(cell: CellSummary) -> CellSummary {
    use ServerState as State;
    let mut cell = CellSummary {
        failover: Failover { excess: cell.failover.excess, ..Failover::default() },
        timeout_ms: None,
        handovers: Handovers::default(),
        fan_out: FanOutSection::default(),
        deletion_watches: DeletionWatches::default(),
        split_brain: SplitBrain::default(),
        writes: Writes::default(),
        leaderless: LeaderlessTime::default(),
        ownership: Ownership::default(),
        enrolment: Enrolment::default(),
        faults: FaultsSection::default(),
        ..cell
    };
    (cell.info.groups, cell.info.hosts, cell.info.candidates_per_group) = (Vec::new(), Vec::new(), 0);
    (cell.info.servers, cell.info.expect.server_leader) = (5, Some(3));
    cell.checks.truncate(1);
    cell.checks[0].name = "server-elections".into();
    cell.checks[0].headline = "1 election of the ensemble: 1 won as the votes say".into();
    cell.ensemble.elections = vec![election(None, 3, 1, 0, 5_400)];
    for server in 1..=5_u32 {
        let up = u64::from(server) * 1_500;
        let back = if server <= 3 { 5_400 } else { up + 300 };
        let serves = if server == 3 { State::Leading } else { State::Following };
        let state_spans = [(State::Down, 0, up), (State::NotServing, up, back), (serves, back, 12_000)];
        cell.ensemble.states.extend(state_spans.map(|(state, from, to)| bar(server, state, from, to)));
    }
    cell.ensemble.watch = Some(watch(12_000, Vec::new(), Vec::new(), Vec::new()));
    cell
}
