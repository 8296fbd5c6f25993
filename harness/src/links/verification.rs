//! Decides whether a fault visibly took effect, and explains why in one sentence for the record.

use std::time::Duration;

use hustings_record::numbers::nanos;
use hustings_record::{
    Direction, Evidence, FaultKind, HealedLink, PartitionedLink, Probe, ProbeAnswer, ProbeTimes, ResetLink, Slowness,
    VerificationStage,
};
use hustings_workloads::driver::LinkFault;
use hustings_workloads::faults::LinkSlowdown;

use super::actions::ChangeBounds;
use super::layout::Link;
use super::probe::{ProbeFlow, Reply, Timing};
use super::toxics::{spelled, toxiproxy_rate};

/// Verification of a link fault: the evidence that it took effect, or that it did not.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkVerification {
    /// It took effect between these two times, in nanoseconds of CLOCK_MONOTONIC: before the first change was sent, and
    /// after the last was read back.
    pub from: u64,
    pub to: u64,
    /// The effect itself was observed.
    pub verified: bool,
    /// The observation in words.
    pub evidence: String,
    /// The observation in figures: the complete basis of `verified`.
    pub seen: Evidence,
}

impl LinkVerification {
    fn new(bracket: ChangeBounds, verified: bool, evidence: String, seen: Evidence) -> Self {
        Self { from: bracket.from, to: bracket.to, verified, evidence, seen }
    }
}

fn count<T>(all: &[T], is: impl Fn(&T) -> bool) -> usize {
    all.iter().filter(|one| is(one)).count()
}

fn answered(asked: &Probe) -> bool {
    asked.came == ProbeAnswer::Answered
}

/// The kind of fault that cuts this direction.
fn cutting(direction: Direction) -> FaultKind {
    let cuts = |kind: &FaultKind| kind.facts().cuts == Some(direction);
    FaultKind::ALL.iter().copied().find(cuts).unwrap_or(FaultKind::Partition)
}

/// Verified: every link answered before, none answers now on old or new connections, every server answers directly, and
/// no passed bytes were counted.
pub(super) fn partition(
    bracket: ChangeBounds,
    (toxic, direction): (&str, Direction),
    links: Vec<PartitionedLink>,
    limit: Duration,
) -> LinkVerification {
    let before = count(&links, |link| answered(&link.before));
    let old: Vec<&Probe> = links.iter().filter_map(|link| link.old.as_ref()).collect();
    let leaks = count(&old, |old| answered(old)) + count(&links, |link| answered(&link.new));
    let alive = count(&links, |link| link.server_spoke(direction));
    let passed = |way: fn(&(u64, u64)) -> u64| -> Option<u64> {
        links.iter().map(|link| link.bytes.map(|[first, last]| way(&last).saturating_sub(way(&first)))).sum()
    };
    let counters = match (passed(|bytes| bytes.0), passed(|bytes| bytes.1)) {
        (Some(up), Some(down)) => format!("the proxy counted {up} B up and {down} B down meanwhile"),
        _ => "this proxy counts no bytes".to_owned(),
    };
    let (all, asked_again) = (links.len(), old.len());
    let seen = Evidence::Cut { way: direction, links };
    let shown = seen.shows(cutting(direction), VerificationStage::Injected);
    let judgement = match &shown {
        Ok(()) => String::new(),
        // An answer proves that data passes, even if other probes failed.
        Err(why) if leaks > 0 || before == all && alive == all => {
            format!("NOT in effect although the proxy says so: {why}: ")
        }
        Err(why) => format!("nothing is verified, for {why}: "),
    };
    let evidence = format!(
        "{judgement}{toxic} ({}) read back on {all} links; {before} of them answered before; in {} ms {leaks} answers came to \
         {asked_again} questions on old and {all} on new connections, and {alive} of the servers behind them answered past \
         them; {counters}",
        spelled(direction),
        limit.as_millis(),
    );
    LinkVerification::new(bracket, shown.is_ok(), evidence, seen)
}

/// Verified: the fault's toxics are gone, and every link that answered before its fault answers again, except those that
/// another fault delays (`delayed` of them).
pub(super) fn heal(
    bracket: ChangeBounds,
    fault: LinkFault,
    links: Vec<HealedLink>,
    answers: &[Reply],
    delayed: usize,
) -> LinkVerification {
    let due = count(&links, |link| link.due);
    let came = count(&links, |link| link.due && answered(&link.after));
    let slowest = answers.iter().filter_map(Reply::after).max();
    let all = links.len();
    let seen = Evidence::Whole { links };
    let kind = match fault {
        LinkFault::Partition => FaultKind::Partition,
        LinkFault::Slow => FaultKind::Slow,
        LinkFault::LostReply => FaultKind::LostReply,
    };
    let asked = due > 0 || delayed > 0;
    let verified = asked && seen.shows(kind, VerificationStage::Healed).is_ok();
    let silent = if asked { "" } else { "nothing is verified, for no link answered before the fault: " };
    let others = match delayed {
        0 => String::new(),
        delayed => format!("{delayed} of them are under another fault and need not answer; "),
    };
    let evidence = format!(
        "{silent}no toxic of it left on {all} links, read back; {others}{came} of the {due} links that answered before \
         answer again, the slowest after {:.1} ms",
        millis(slowest.unwrap_or_default()),
    );
    LinkVerification::new(bracket, verified, evidence, seen)
}

/// Verified: old connections were observed to close on every link.
pub(super) fn disconnect(bracket: ChangeBounds, told: Option<u64>, links: Vec<ResetLink>) -> LinkVerification {
    let stood = count(&links, |link| link.closed.is_some());
    let closed = count(&links, |link| link.closed == Some(true));
    let left = count(&links, |link| link.left);
    let before = count(&links, |link| answered(&link.before));
    let again = count(&links, |link| answered(&link.before) && answered(&link.after));
    let seen = Evidence::Reset { links };
    let shown = seen.shows(FaultKind::Disconnect, VerificationStage::Injected);
    let told = match told {
        None => "ports closed and opened again, read back".to_owned(),
        Some(told) => format!("{told} connections told to reset, old ones still open on {left} links"),
    };
    let judgement = match shown {
        Ok(()) => String::new(),
        Err(why) if stood == 0 => format!("nothing is verified, for {why}: "),
        Err(why) => format!("NOT in effect although the proxy says so: {why}: "),
    };
    let evidence = format!(
        "{judgement}{told}; {closed} of {stood} standing probes saw it; {again} of the {before} links that answered before answer \
         again"
    );
    LinkVerification::new(bracket, judgement.is_empty(), evidence, seen)
}

/// Growth of fewer milliseconds is indistinguishable from noise.
const VISIBLE_MS: f64 = 2.0;
/// A direction without fault is compared with the delay of the other one only if that delay is far above noise.
const PLAIN_MS: f64 = 20.0;

/// Expected and observed delays of slow links.
#[derive(Default)]
struct DelayComparison {
    words: Vec<String>,
    held: Vec<Slowness>,
}

impl DelayComparison {
    /// Compares the probes with at least half of the expected delay, since the baseline is noisy too. A proxy that does
    /// nothing adds no delay.
    fn hold(&mut self, what: &str, of: Vec<ProbeTimes>, due_ms: f64) {
        if due_ms >= VISIBLE_MS {
            self.took(what, of, due_ms, false);
        }
    }

    /// A direction that must not be slow.
    fn spare(&mut self, what: &str, of: Vec<ProbeTimes>, other_ms: f64) {
        if other_ms >= PLAIN_MS {
            self.took(what, of, other_ms, true);
        }
    }

    fn took(&mut self, what: &str, of: Vec<ProbeTimes>, due_ms: f64, spared: bool) {
        let seen_ms = Slowness::least_ms(&of);
        let seen = seen_ms.map_or_else(|| "not measured".to_owned(), |ms| format!("{ms:.1} ms"));
        let due = if spared { "none due".to_owned() } else { format!("{due_ms:.1} due") };
        self.words.push(format!("{what} {seen} ({due})"));
        self.held.push(Slowness { what: what.to_owned(), seen_ms, of, due_ms, spared });
    }
}

/// A link that answered before its fault, with its probes before and during the fault.
type ProbedLink<'p> = (&'p Link, &'p Timing, &'p Timing);

/// Verified: every toxic was read back, and every link that answered before shows the measurable effects. The quickest
/// probes are later by the minimum that the toxics add, per direction if the proxy reports it. Their spread is at least
/// a quarter of the jitter. Long ones are as late as the rate requires. Smaller effects are only read back.
pub(super) fn slow(
    bracket: ChangeBounds,
    how: &LinkSlowdown,
    (links, question): (&[Link], usize),
    before: &[Timing],
    during: &[Timing],
) -> LinkVerification {
    let probed: Vec<ProbedLink<'_>> = links
        .iter()
        .zip(before.iter().zip(during))
        .filter(|(_, (before, _))| !before.rounds.is_empty())
        .map(|(link, (before, during))| (link, before, during))
        .collect();
    let answer = probed.iter().flat_map(|(_, before, _)| &before.rounds).map(|round| round.1).min().unwrap_or(0);
    let (up, down) = (due(how, Direction::Up, question), due(how, Direction::Down, answer));
    let rounds = |timing: &Timing| timing.rounds.iter().map(|round| round.0).collect::<Vec<_>>();
    let later = |of: &dyn Fn(&Timing) -> Vec<Duration>| -> Vec<ProbeTimes> {
        probed.iter().map(|(link, before, during)| times(link, Some(&of(before)), &of(during))).collect()
    };
    let mut sight = DelayComparison::default();
    let told = probed.iter().all(|(_, _, during)| !during.up.is_empty());
    if told && how.latency_ms > 0 {
        let (of_up, of_down) = (later(&|timing| timing.up.clone()), later(&|timing| timing.down.clone()));
        sight.hold("up later by", of_up.clone(), up.least_ms);
        sight.hold("down later by", of_down.clone(), down.least_ms);
        match how.direction {
            Direction::Up => sight.spare("down later by", of_down, up.least_ms),
            Direction::Down => sight.spare("up later by", of_up, down.least_ms),
            Direction::Both => {}
        }
    }
    sight.hold("the round trip later by", later(&rounds), up.least_ms + down.least_ms);
    let apart = probed.iter().map(|(link, _, during)| times(link, None, &rounds(during))).collect();
    sight.hold("round trips apart by", apart, up.jitter_ms.max(down.jitter_ms) / 2.0);
    if how.rate_kb.is_some() {
        flows(&mut sight, how, &probed);
    }
    let visible = sight.held.iter().any(|held| !held.spared);
    let seen = Evidence::Slow { links: probed.iter().map(|(link, ..)| link.ends).collect(), held: sight.held };
    let shown = seen.shows(FaultKind::Slow, VerificationStage::Injected).is_ok();
    let verified = !probed.is_empty() && visible && shown;
    let judgement = match (probed.len(), visible, verified) {
        (0, ..) => "nothing is verified, for no link answered before: ",
        (_, false, _) => "nothing is verified, for a probe cannot show so small an effect: ",
        (_, _, false) => "NOT in effect although the proxy says so: ",
        (_, _, true) => "",
    };
    let rate = toxiproxy_rate(how).map(|rate| format!(" (as {rate} KB/s of 1,000 bytes)")).unwrap_or_default();
    let evidence = format!(
        "{judgement}{how}{rate} read back on {} links; at least, on the {} that answered before: {}",
        before.len(),
        probed.len(),
        if sight.words.is_empty() { "nothing to see".to_owned() } else { sight.words.join(", ") },
    );
    LinkVerification::new(bracket, verified, evidence, seen)
}

/// Effects of a slow link that probes can measure in one direction, in milliseconds.
struct DueDelay {
    least_ms: f64,
    jitter_ms: f64,
}

/// Expected delay of a message of this many bytes, in one direction.
fn due(how: &LinkSlowdown, way: Direction, bytes: usize) -> DueDelay {
    match acts(how, way) {
        true => DueDelay { least_ms: how.least_ms(bytes), jitter_ms: how.jitter_ms as f64 },
        false => DueDelay { least_ms: 0.0, jitter_ms: 0.0 },
    }
}

fn acts(how: &LinkSlowdown, way: Direction) -> bool {
    if way.is_up() { how.direction.is_up() } else { how.direction.is_down() }
}

/// Added time of long requests and answers, on the link that is furthest from the expected value.
fn flows(sight: &mut DelayComparison, how: &LinkSlowdown, probed: &[ProbedLink<'_>]) {
    type FlowSelector = fn(&Timing) -> Option<ProbeFlow>;
    let both: [(Direction, &str, FlowSelector); 2] =
        [(Direction::Up, "up", |timing| timing.long_up), (Direction::Down, "down", |timing| timing.long_down)];
    for (way, name, of) in both {
        if !acts(how, way) {
            continue;
        }
        let one = |(link, before, during): &ProbedLink<'_>| {
            let (first, second) = (of(before), of(during));
            let bytes = second.or(first).map_or(0, |flow| flow.bytes);
            let line_ms = LinkSlowdown { latency_ms: 0, ..how.clone() }.least_ms(bytes);
            let took = |flow: Option<ProbeFlow>| flow.map(|flow| flow.took).into_iter().collect::<Vec<_>>();
            (times(link, Some(&took(first)), &took(second)), line_ms, bytes)
        };
        let share =
            |(times, due, _): &(ProbeTimes, f64, usize)| times.ms().map_or(f64::NEG_INFINITY, |seen| seen / due);
        if let Some((times, due, bytes)) = probed.iter().map(one).min_by(|a, b| share(a).total_cmp(&share(b))) {
            sight.hold(&format!("{bytes} B {name} later by"), vec![times], due);
        }
    }
}

fn times(link: &Link, before: Option<&[Duration]>, during: &[Duration]) -> ProbeTimes {
    let all = |times: &[Duration]| times.iter().copied().map(nanos).collect();
    let (host, server) = link.ends;
    ProbeTimes { host, server, before: before.map(all), during: all(during) }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
