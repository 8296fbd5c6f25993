//! How long a failover takes, by phase: *release* (a resigner's belief ended → its deletion was sent), *detect* (the fault's
//! effect, or that deletion → first watcher told), *spread* (first → last watcher), *decide* (first watcher told → grant),
//! *act* (→ first accepted write), and how far detection is above the floor of session expiry. Every lost lead is a sample
//! of every phase that its recipe has: what had not happened by the next grant, or by the end, is censored there.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::finding::Finding;
use super::section::Section;
use crate::index::{Ending, Fault, Index, Loss, Outcome, Term};
use crate::stats::spans::Span;
use crate::stats::{Distribution, Samples, Tail};
use hustings_record::words::{duration, plural};
use hustings_record::{Event, FanOut, FaultKind, Nanos, RevokeReason};

/// A sample is void where one stall of a process that had a part in it is longer than this part of it.
const VOID_PART: u64 = 4;
/// What a busy machine may add to what expiry buckets and batched touches do.
const WINDOW_MARGIN_NS: Nanos = 500_000_000;

/// Latencies of planned handovers, by phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Failover {
    /// From the lead's loss to the next grant.
    pub whole: Option<Distribution>,
    /// Of these, how many are void: in one stall the loser's host, the winner's, or a process that is no host did not run for
    /// more than a quarter of it. Each phase is judged by its own part.
    #[serde(default)]
    pub void: u64,
    /// Not void, but a server logged a pause of its own that may have taken more than a quarter of it: logs tell no better when
    /// that was than how long the server slept.
    #[serde(default)]
    pub beside_pauses: u64,
    /// The same from the moment that the fault was intended for: what a harness that is late would hide.
    #[serde(default)]
    pub from_intended: Option<Distribution>,
    /// Resignations: from the end of belief until the znode's deletion was sent.
    #[serde(default)]
    pub release: Option<Distribution>,
    /// From the lead's loss, or its release, to the first watcher told; None for recipes that watch nothing.
    pub detect: Option<Distribution>,
    /// First → last watcher; None for recipes in which one at most is told.
    pub spread: Option<Distribution>,
    /// First watcher told → grant.
    pub decide: Option<Distribution>,
    /// Grant → first accepted write.
    pub act: Option<Distribution>,
    /// For sessions left to expire: detect minus the floor `T − age(last touch)`, from the nearest earlier side.
    pub excess: Option<Excess>,
    /// Deleted → notified → listed, over the same links, without any election.
    pub floor: Option<Distribution>,
    /// Samples of the floor that came to nothing. Those whose deletion was sent stay in it, longer than what was seen.
    #[serde(default)]
    pub floor_failed: u64,
    /// Pairs of sessions that took samples of the floor, where the record tells them.
    #[serde(default)]
    pub floor_pairs: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Excess {
    /// Detect minus the floor's nearest end `T − age`; negative values are counted as `early` and set to 0 here.
    pub over_floor: Distribution,
    pub early: u64,
    /// 1.5 tick + 500 ms: the window that theory and a busy machine leave.
    pub window_ns: Nanos,
    pub beyond_window: u64,
    /// Samples whose session had its clock restarted by a new leader of the ensemble: their floor is `restart + T`.
    #[serde(default)]
    pub restarted: u64,
    /// What these would be above the floor `T − age`, had their clock run on.
    #[serde(default)]
    pub over_naive_floor: Option<Distribution>,
    /// The same above their real floor.
    #[serde(default)]
    pub over_restarted_floor: Option<Distribution>,
}

impl Section for Failover {
    const NAME: &'static str = "failover";
    const ABOUT: &'static str = "How long from the loss of a lead to the next grant, by phase, and above the floor.";

    fn applies(index: &Index<'_>) -> bool {
        index.info.has_candidates()
    }

    fn check(index: &Index<'_>) -> Finding<Self> {
        let mut finding = Finding::default();
        // Expiry buckets round up to a tick, followers hand touches on every half tick.
        let window_ns = 3 * index.tick / 2 + WINDOW_MARGIN_NS;
        let mut phases = Phases::default();
        for loss in &index.losses.all {
            measure(index, loss, window_ns, &mut phases);
        }
        let floor = Taken::new(index);
        let over_restarted_floor = phases.over_restarted.distribution();
        let void = phases.void;
        let found = Self {
            void,
            beside_pauses: phases.beside_pauses,
            whole: phases.failover.distribution(),
            from_intended: phases.from_intended.distribution(),
            release: phases.release.distribution(),
            detect: phases.detect.distribution(),
            spread: phases.spread.distribution(),
            decide: phases.decide.distribution(),
            act: phases.act.distribution(),
            excess: phases.over_floor.distribution().map(|over_floor| Excess {
                over_floor,
                early: phases.early,
                window_ns,
                beyond_window: phases.beyond,
                restarted: over_restarted_floor.as_ref().map_or(0, |d| d.n),
                over_naive_floor: phases.over_naive.distribution(),
                over_restarted_floor,
            }),
            floor: floor.samples.distribution(),
            floor_failed: floor.failed,
            floor_pairs: floor.pairs.len() as u64,
        };
        if phases.early > 0 {
            finding.inconclusive(format!(
                "harness: {} sessions were seen to expire before they could: a last touch was missed, or a clock is wrong",
                phases.early
            ));
        }
        match &found.whole {
            Some(failover) => finding.headline(format!("failover {}", shape(failover))),
            None if void > 0 => finding.headline(format!("{void} failovers, all void by a stall")),
            None if index.must_lose_leaders() => {
                finding.inconclusive("no failover was measured, and this fault cannot but cause one".into());
                finding.headline("no failover was measured".into());
            }
            None => finding.headline("no leader was lost to a proven fault: nothing to measure".into()),
        }
        // Of what is left nobody knows whether it is like the rest.
        if void > found.whole.as_ref().map_or(0, |whole| whole.n + whole.censored) {
            finding.inconclusive(format!(
                "{void} failovers are void by stalls, more than are left: their latency is not known; fewer candidates, or \
                 more processors, would tell"
            ));
        }
        if found.beside_pauses > 0 {
            finding.note(format!(
                "{} may hold a pause of a server, by the servers' logs, that is more than a quarter of them",
                plural(found.beside_pauses, "failover", "failovers")
            ));
        }
        describe(index, &found, &mut finding);
        finding.section = found;
        finding
    }
}

#[derive(Default)]
struct Phases {
    failover: Samples,
    from_intended: Samples,
    release: Samples,
    detect: Samples,
    spread: Samples,
    decide: Samples,
    act: Samples,
    over_floor: Samples,
    /// Of sessions whose clock a new leader of the ensemble restarted: above their real floor, and above `T − age`.
    over_restarted: Samples,
    over_naive: Samples,
    early: u64,
    beyond: u64,
    /// Whole failovers that are void, and others that a pause of a server may have lengthened.
    void: u64,
    beside_pauses: u64,
}

/// Takes samples of one handover, and voids those that stalls cover too much of.
struct Taker<'i, 'a> {
    index: &'i Index<'a>,
    /// Of the loser and the winner.
    hosts: [u16; 2],
}

impl Taker<'_, '_> {
    /// Whether it was taken.
    fn take(&self, samples: &mut Samples, from: Nanos, to: Nanos, happened: bool) -> bool {
        // What never ended was not made longer by a stall.
        let void = happened && self.is_void((from, to));
        if void {
            samples.void()
        } else {
            samples.take(from, to, happened)
        }
        !void
    }

    fn is_void(&self, span: Span) -> bool {
        let long = span.1.saturating_sub(span.0);
        VOID_PART * self.index.lives.longest_stall(&self.index.faults, self.hosts, span) > long
    }
}

fn measure(index: &Index<'_>, loss: &Loss, window_ns: Nanos, phases: &mut Phases) {
    let fault = &index.faults.all[loss.fault];
    let (end, next) = match loss.outcome {
        Outcome::Survived => return,
        Outcome::Censored { at } => (at, None),
        Outcome::Completed { successor } => {
            let next = &index.terms.all[successor];
            let Some(granted) = next.granted else { return };
            (granted, Some(next))
        }
    };
    let happened = next.is_some();
    let loser = index.terms.all[loss.term].host;
    let taker = Taker { index, hosts: [loser, next.map_or(loser, |next| next.host)] };
    let taken = taker.take(&mut phases.failover, loss.effect, end, happened);
    phases.void += u64::from(!taken);
    let paused = VOID_PART * index.servers.may_have_paused((loss.effect, end));
    phases.beside_pauses += u64::from(taken && happened && paused > end.saturating_sub(loss.effect));
    taker.take(&mut phases.from_intended, fault.intended.min(loss.effect), end, happened);
    if fault.kind == FaultKind::Resign {
        taker.take(&mut phases.release, loss.effect, loss.released, true);
    }
    act(&taker, next, end, phases);
    if index.info.leader_wakes() == Some(FanOut::None) {
        return;
    }
    let woken: Vec<Nanos> = index.woken(loss).iter().map(|n| n.t).collect();
    // Who is told after the grant was not told in time to do anything about it, but belongs to the herd.
    let detected = woken.first().copied().filter(|&t| t <= end);
    taker.take(&mut phases.detect, loss.released, detected.unwrap_or(end), detected.is_some());
    taker.take(&mut phases.decide, detected.unwrap_or(end), end, happened && detected.is_some());
    if index.info.leader_wakes() != Some(FanOut::One) {
        let (first, last) = (woken.first().copied(), woken.last().copied());
        taker.take(&mut phases.spread, first.unwrap_or(end), last.unwrap_or(end), last.is_some());
    }
    over_the_floor(&taker, loss, fault, (detected, end), window_ns, phases);
}

/// From the grant to the first write that was accepted; how long the term was without one if there was none.
fn act(taker: &Taker<'_, '_>, next: Option<&Term<'_>>, granted: Nanos, phases: &mut Phases) {
    let Some(next) = next else { return phases.act.take(granted, granted, false) };
    let first = taker.index.writing.first_accepted((next.cand, next.session, next.czxid), next.grant);
    let first = first.filter(|&t| t <= next.ended.1);
    taker.take(&mut phases.act, granted, first.unwrap_or(next.ended.0), first.is_some());
}

/// How far detection was above the floor of expiry; without any, how far above it the failover ended.
fn over_the_floor(
    taker: &Taker<'_, '_>,
    loss: &Loss,
    fault: &Fault<'_>,
    (detected, end): (Option<Nanos>, Nanos),
    window_ns: Nanos,
    phases: &mut Phases,
) {
    let (told, at) = (detected.is_some(), detected.unwrap_or(end));
    let Some(Floor { naive, restarted, earliest }) = expiry_floor(taker.index, loss, fault, at) else { return };
    let floor = restarted.unwrap_or(naive);
    if restarted.is_some() {
        taker.take(&mut phases.over_naive, naive, at, told);
        taker.take(&mut phases.over_restarted, floor, at, told);
    }
    phases.early += u64::from(told && at < earliest);
    let taken = taker.take(&mut phases.over_floor, floor, at, told);
    phases.beyond += u64::from(taken && at > floor + window_ns);
}

/// When the lost leader's session could expire.
pub(super) struct Floor {
    /// T after its last touch, `T − age` after the fault.
    pub(super) naive: Nanos,
    /// T after a new leader of the ensemble restarted its clock in between.
    pub(super) restarted: Option<Nanos>,
    /// For certain not before this.
    earliest: Nanos,
}

/// None where nothing tells: the session was not left to expire, or came back unseen.
pub(super) fn expiry_floor(index: &Index<'_>, loss: &Loss, fault: &Fault<'_>, detected: Nanos) -> Option<Floor> {
    // Other faults end the session themselves, or let its touches through.
    let expires = |fault: &&Fault<'_>| fault.kind.facts().lets_sessions_expire;
    let session = index.terms.all[loss.term].session;
    let touched = |fault: &Fault<'_>| {
        let touches = fault.injected.as_ref().map_or(&[][..], |proof| &proof.touches);
        touches.iter().filter(|touch| touch.session == session).map(|touch| touch.last_up).max()
    };
    touched(Some(fault).filter(expires)?)?;
    // A session that came back expires by the fault that struck it last.
    let faults = index.faults.of_cand(index.terms.all[loss.term].cand).filter(expires);
    let touch = faults.filter(|fault| fault.t <= detected).filter_map(touched).max()?;
    if is_ended_otherwise(index, loss, detected) || index.candidates.reconnected_by(session, detected) > Some(touch) {
        return None;
    }
    let timeout = index.timeout?;
    let restart = index.servers.restarts().filter(|r| r.at > touch && r.at < detected).max_by_key(|r| r.at);
    let earliest = restart.map_or(touch, |restart| restart.earliest.max(touch)) + timeout;
    Some(Floor { naive: touch + timeout, restarted: restart.map(|restart| restart.at + timeout), earliest })
}

/// Whether the lost znode may have gone before its session could expire: whoever held it had resigned when the fault struck, or
/// was to lose it by order until it was found to be gone.
fn is_ended_otherwise(index: &Index<'_>, loss: &Loss, detected: Nanos) -> bool {
    let lost = &index.terms.all[loss.term];
    let mut ordered = index.faults.of_cand(lost.cand).filter(|fault| fault.kind.hits_candidates());
    lost.ending == Ending::Revoked(RevokeReason::Resigned)
        || ordered.any(|fault| loss.effect <= fault.t && fault.t <= detected)
}

/// The floor of every failover: a znode deleted, its watcher told, the list read, with no election at all.
#[derive(Default)]
struct Taken {
    samples: Samples,
    failed: u64,
    pairs: BTreeSet<(i64, i64)>,
}

impl Taken {
    fn new(index: &Index<'_>) -> Self {
        let mut taken = Self::default();
        for (_, event) in index.cell.events() {
            match event {
                Event::Floor { deleted, listed, sessions, .. } => {
                    taken.samples.take(*deleted, *listed, true);
                    taken.pairs.extend(sessions);
                }
                Event::FloorFailed { t, deleted, .. } => {
                    taken.failed += 1;
                    if let Some(deleted) = deleted {
                        taken.samples.take(*deleted, *t, false);
                    }
                }
                _ => {}
            }
        }
        taken
    }
}

fn describe(index: &Index<'_>, found: &Failover, finding: &mut Finding<Failover>) {
    let phases = [
        ("from the intended moment", &found.from_intended),
        ("release", &found.release),
        ("detect", &found.detect),
        ("spread", &found.spread),
        ("decide", &found.decide),
        ("act", &found.act),
        ("floor", &found.floor),
    ];
    for (name, phase) in phases {
        if let Some(phase) = phase {
            finding.note(format!("{name} {}", shape(phase)));
        }
    }
    if let Some(excess) = &found.excess {
        finding.note(format!(
            "detect above T − age: {}; {} of {} beyond the window of {}, {} before the floor",
            shape(&excess.over_floor),
            excess.beyond_window,
            excess.over_floor.n,
            duration(excess.window_ns),
            excess.early,
        ));
    }
    let restarted =
        found.excess.as_ref().and_then(|e| e.over_naive_floor.as_ref().zip(e.over_restarted_floor.as_ref()));
    if let Some((naive, real)) = restarted {
        finding.note(format!(
            "{} sessions had their clock restarted by a new ensemble leader: expired {} after T − age, {} after the \
             restart + T",
            real.n,
            shape(naive),
            shape(real)
        ));
    }
    if found.floor_failed > 0 {
        let taken = found.floor.as_ref().map_or(0, |floor| floor.n);
        finding.note(format!(
            "{} of {} samples of the floor came to nothing; those whose deletion was sent are censored in it",
            found.floor_failed,
            found.floor_failed + taken
        ));
    }
    let halves = |d: &Option<Distribution>| d.as_ref().and_then(|d| d.p50).filter(|&p50| p50 > 0);
    if let (FaultKind::Resign, Some(failover), Some(floor)) =
        (index.info.fault_kind, halves(&found.whole), halves(&found.floor))
    {
        finding.note(format!("p50 of the failover is {:.2} times that of the floor", failover as f64 / floor as f64));
    }
}

fn shape(d: &Distribution) -> String {
    let quantile = |q: Option<Nanos>| q.map_or_else(|| "beyond the run".into(), duration);
    let mut left = if d.censored > 0 { format!(", {} not ended", d.censored) } else { String::new() };
    if d.void > 0 {
        left.push_str(&format!(", {} void by a stall", d.void));
    }
    let p99 = match d.tail() {
        Tail::P99(p99) => format!(", p99 {}", quantile(p99)),
        Tail::Longest { .. } => String::new(),
    };
    format!("p50 {}{p99}, longest {} (n = {}{left})", quantile(d.p50), duration(d.max), d.n)
}
