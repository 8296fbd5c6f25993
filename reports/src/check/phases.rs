//! Failover samples by phase: every lost term is a sample of each phase of its recipe. A phase that has not happened by
//! the next grant, or by the end, is censored there. A sample that stalls may have lengthened much is void.

use std::collections::BTreeSet;

use FailoverPhase::{
    Act, Decide, Detect, FromIntended, OverFloor, OverNaive, OverRestarted, Release, Spread, UntilWrite, Whole,
};

use super::failover_timeline::{FailoverTimeline, FailoverTimestamps};
use crate::index::{Ending, Fault, Index, Loss, LossOutcome, Term};
use crate::stats::Samples;
use crate::stats::spans::Span;
use hustings_record::{Event, FanOut, FaultKind, Nanos, RevokeReason};

/// A sample is void if one stall may add more than this part of the median.
const VOID_PART: u64 = 4;
/// Stalls void a sample only within this many medians of its start, however long it is.
const VOID_WINDOW_MEDIANS: u64 = 2;
/// Tolerance for a busy machine, beyond that for expiry buckets and batched touches.
const WINDOW_MARGIN_NS: Nanos = 500_000_000;

/// A measured phase of a failover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailoverPhase {
    Whole,
    FromIntended,
    Release,
    Detect,
    Spread,
    Decide,
    Act,
    /// From the loss of leadership to the next term's first accepted write: the time without a leader's work.
    UntilWrite,
    OverFloor,
    /// Of sessions whose clock a new leader of the ensemble restarted: above their real floor, and above `T − age`.
    OverRestarted,
    OverNaive,
}

/// One value per phase.
pub(crate) type PerPhase<V> = [V; FailoverPhase::OverNaive as usize + 1];

/// Samples of every phase, of a cell or of several of one configuration.
#[derive(Debug, Default)]
pub struct Phases {
    samples: PerPhase<Samples>,
    pub(super) early: u64,
    pub(super) beyond: u64,
    /// The excess that theory and a busy machine allow; `beyond` counts longer samples.
    pub(super) window_ns: Nanos,
    /// Whole failovers that are void, and others that a pause of a server may have lengthened.
    pub(super) void: u64,
    pub(super) beside_pauses: u64,
    pub(super) floor: FloorTimes,
    /// Of the whole failovers that ended and are not void.
    pub(super) courses: Vec<FailoverTimeline>,
}

impl Phases {
    /// Samples of all lost terms of a cell.
    #[must_use]
    pub fn of(index: &Index<'_>) -> Self {
        Self { floor: FloorTimes::new(index), ..Self::of_losses(index, &index.losses.all, Some(&medians(index))) }
    }

    /// Samples of some lost terms of a cell, with the cell's medians; without medians, stalls are disregarded.
    pub(crate) fn of_losses<'l>(
        index: &Index<'_>,
        losses: impl IntoIterator<Item = &'l Loss>,
        medians: Option<&PerPhase<Nanos>>,
    ) -> Self {
        // Expiry buckets round up to a tick; followers forward touches every half tick.
        let window_ns = 3 * index.tick / 2 + WINDOW_MARGIN_NS;
        let mut phases = Self { window_ns, ..Self::default() };
        losses.into_iter().for_each(|loss| measure(index, loss, medians, &mut phases));
        phases
    }

    /// Removes and returns the samples of this phase.
    pub(crate) fn take(&mut self, phase: FailoverPhase) -> Samples {
        std::mem::take(&mut self.samples[phase as usize])
    }

    /// Adds another cell of the same configuration, sample by sample, so that every statistic is of their union.
    pub fn absorb(&mut self, other: Self) {
        let Self { samples, early, beyond, window_ns, void, beside_pauses, floor, courses } = other;
        self.samples.iter_mut().zip(samples).for_each(|(all, more)| all.absorb(more));
        self.early += early;
        self.beyond += beyond;
        // One configuration has one tick.
        self.window_ns = self.window_ns.max(window_ns);
        self.void += void;
        self.beside_pauses += beside_pauses;
        self.floor.samples.absorb(floor.samples);
        self.floor.failed += floor.failed;
        self.floor.pairs += floor.pairs;
        self.courses.extend(courses);
    }
}

/// How long each phase usually is in this cell, stalls disregarded.
pub(crate) fn medians(index: &Index<'_>) -> PerPhase<Nanos> {
    Phases::of_losses(index, &index.losses.all, None).samples.map(Samples::usual)
}

/// Takes samples of one handover.
struct PhaseSampler<'i, 'a> {
    index: &'i Index<'a>,
    /// Of the loser and the winner.
    hosts: [u16; 2],
    medians: Option<&'i PerPhase<Nanos>>,
}

impl PhaseSampler<'_, '_> {
    /// The length that counts; None if void.
    fn take(&self, phases: &mut Phases, phase: FailoverPhase, (from, to): Span, happened: bool) -> Option<Nanos> {
        let samples = &mut phases.samples[phase as usize];
        // A stall did not lengthen a sample that never ended.
        let to = match self.medians.map(|medians| medians[phase as usize]).filter(|_| happened) {
            Some(median) => self.end((from, to), median),
            None => Some(to),
        };
        match to {
            Some(to) => samples.take(from, to, happened),
            None => samples.void(),
        }
        Some(to?.saturating_sub(from))
    }

    /// The end that counts for a completed sample. Voiding must not depend on its length, or the remaining samples are
    /// biased. So every sample of a phase is examined over the same window, and a later stall is cut out of a longer
    /// sample.
    fn end(&self, (from, to): Span, median: Nanos) -> Option<Nanos> {
        let (window_end, limit) = (from.saturating_add(VOID_WINDOW_MEDIANS.saturating_mul(median)), median / VOID_PART);
        let longest = |span, until| {
            let longest = self.index.lives.longest_stall(&self.index.faults, self.hosts, span, until);
            Some(longest).filter(|&longest| longest > limit)
        };
        if longest((from, window_end), Nanos::MAX).is_some() {
            return None;
        }
        let later = if to > window_end { longest((window_end, to), to) } else { None };
        Some(to - later.unwrap_or(0))
    }
}

fn measure(index: &Index<'_>, loss: &Loss, medians: Option<&PerPhase<Nanos>>, phases: &mut Phases) {
    let fault = &index.faults.all[loss.fault];
    let (end, next) = match loss.outcome {
        LossOutcome::Survived => return,
        LossOutcome::Censored { at } => (at, None),
        LossOutcome::Completed { successor } => {
            let next = &index.terms.all[successor];
            let Some(granted) = next.granted else { return };
            (granted, Some(next))
        }
    };
    let happened = next.is_some();
    let loser = index.terms.all[loss.term].host;
    let taker = PhaseSampler { index, hosts: [loser, next.map_or(loser, |next| next.host)], medians };
    let whole = taker.take(phases, Whole, (loss.effect, end), happened);
    let taken = whole.is_some();
    phases.void += u64::from(!taken);
    from_intended(fault, loss, whole, happened, phases);
    let paused = index.servers.may_have_paused((loss.effect, end));
    let limit = medians.map_or(Nanos::MAX, |medians| medians[Whole as usize] / VOID_PART);
    phases.beside_pauses += u64::from(taken && happened && paused > limit);
    if fault.kind == FaultKind::Resign {
        taker.take(phases, Release, (loss.effect, loss.released), true);
    }
    let mut moments =
        FailoverTimestamps { written: act(&taker, next, (loss.effect, end), phases), ..FailoverTimestamps::default() };
    if index.info.leader_wakes() != Some(FanOut::None) {
        watched(&taker, loss, (end, happened), phases, &mut moments);
    }
    let noticed = moments.told.unwrap_or(end);
    let floor = expiry_floor(index, loss, fault, noticed);
    if let Some(floor) = &floor {
        (moments.touch, moments.due) = (Some(floor.touch), Some(floor.restarted.unwrap_or(floor.naive)));
    }
    if let Some(floor) = floor.filter(|_| index.info.leader_wakes() != Some(FanOut::None)) {
        over_the_floor(&taker, &floor, (moments.told.is_some(), noticed), phases);
    }
    if taken && happened {
        phases.courses.push(FailoverTimeline::new(loss, fault.kind == FaultKind::Resign, end, moments));
    }
}

/// The same failover plus the lateness of the fault's effect. It is void if the failover is. A harness delay before the
/// effect belongs to it.
fn from_intended(fault: &Fault<'_>, loss: &Loss, whole: Option<Nanos>, happened: bool, phases: &mut Phases) {
    let samples = &mut phases.samples[FromIntended as usize];
    match whole {
        Some(whole) => samples.take(fault.intended.min(loss.effect), loss.effect.saturating_add(whole), happened),
        None => samples.void(),
    }
}

/// The phases of recipes whose candidates wait for a notification.
fn watched(
    taker: &PhaseSampler<'_, '_>,
    loss: &Loss,
    (end, happened): (Nanos, bool),
    phases: &mut Phases,
    moments: &mut FailoverTimestamps,
) {
    let index = taker.index;
    let woken: Vec<Nanos> = index.woken(loss).iter().map(|n| n.t).collect();
    // A notification after the grant comes too late to act on, but counts in the spread.
    let detected = woken.first().copied().filter(|&t| t <= end);
    taker.take(phases, Detect, (loss.released, detected.unwrap_or(end)), detected.is_some());
    taker.take(phases, Decide, (detected.unwrap_or(end), end), happened && detected.is_some());
    moments.told = detected;
    if index.info.leader_wakes() != Some(FanOut::One) {
        let (first, last) = (woken.first().copied(), woken.last().copied());
        taker.take(phases, Spread, (first.unwrap_or(end), last.unwrap_or(end)), last.is_some());
        moments.last_told = last;
    }
}

/// Samples from the grant, and from the loss, to the first accepted write, or to the term's end without one. Returns
/// the time of that write.
fn act(
    taker: &PhaseSampler<'_, '_>,
    next: Option<&Term<'_>>,
    (lost, granted): Span,
    phases: &mut Phases,
) -> Option<Nanos> {
    let Some(next) = next else {
        taker.take(phases, Act, (granted, granted), false);
        taker.take(phases, UntilWrite, (lost, granted), false);
        return None;
    };
    let first = taker.index.writing.first_accepted((next.cand, next.session, next.czxid), next.grant);
    let first = first.filter(|&t| t <= next.ended.1);
    let until = first.unwrap_or(next.ended.0);
    taker.take(phases, Act, (granted, until), first.is_some());
    taker.take(phases, UntilWrite, (lost, until), first.is_some());
    first
}

/// Detection above the floor of expiry; without one, the failover's end above it.
fn over_the_floor(taker: &PhaseSampler<'_, '_>, floor: &ExpiryFloor, (told, at): (bool, Nanos), phases: &mut Phases) {
    let ExpiryFloor { touch: _, naive, restarted, earliest } = *floor;
    let floor = restarted.unwrap_or(naive);
    if restarted.is_some() {
        taker.take(phases, OverNaive, (naive, at), told);
        taker.take(phases, OverRestarted, (floor, at), told);
    }
    phases.early += u64::from(told && at < earliest);
    let taken = taker.take(phases, OverFloor, (floor, at), told);
    phases.beyond += u64::from(taken.is_some_and(|length| length > phases.window_ns));
}

/// When the lost leader's session could expire.
pub(super) struct ExpiryFloor {
    /// Its last contact.
    touch: Nanos,
    /// T after its last touch, `T − age` after the fault.
    pub(super) naive: Nanos,
    /// T after a new leader of the ensemble restarted its clock in between.
    pub(super) restarted: Option<Nanos>,
    /// Certainly no earlier than this.
    earliest: Nanos,
}

/// None if unknown: the session was not left to expire, or reconnected after its last recorded touch.
pub(super) fn expiry_floor(index: &Index<'_>, loss: &Loss, fault: &Fault<'_>, detected: Nanos) -> Option<ExpiryFloor> {
    // Other faults end the session themselves, or let its touches through.
    let expires = |fault: &&Fault<'_>| fault.kind.facts().lets_sessions_expire;
    let session = index.terms.all[loss.term].session;
    let touched = |fault: &Fault<'_>| {
        let touches = fault.injected.as_ref().map_or(&[][..], |proof| &proof.touches);
        touches.iter().filter(|touch| touch.session == session).map(|touch| touch.last_up).max()
    };
    touched(Some(fault).filter(expires)?)?;
    // A session that reconnected expires by the last fault on it.
    let faults = index.faults.of_cand(index.terms.all[loss.term].cand).filter(expires);
    let touch = faults.filter(|fault| fault.t <= detected).filter_map(touched).max()?;
    if is_ended_otherwise(index, loss, detected) || index.candidates.reconnected_by(session, detected) > Some(touch) {
        return None;
    }
    let timeout = index.timeout?;
    let restart = index.servers.restarts().filter(|r| r.at > touch && r.at < detected).max_by_key(|r| r.at);
    let earliest = restart.map_or(touch, |restart| restart.earliest.max(touch)) + timeout;
    Some(ExpiryFloor {
        touch,
        naive: touch + timeout,
        restarted: restart.map(|restart| restart.at + timeout),
        earliest,
    })
}

/// Whether the lost znode may have been deleted before its session could expire: its owner had resigned when the fault
/// hit, or a fault on candidates hit it before the loss was detected.
fn is_ended_otherwise(index: &Index<'_>, loss: &Loss, detected: Nanos) -> bool {
    let lost = &index.terms.all[loss.term];
    let mut ordered = index.faults.of_cand(lost.cand).filter(|fault| fault.kind.hits_candidates());
    lost.ending == Ending::Revoked(RevokeReason::Resigned)
        || ordered.any(|fault| loss.effect <= fault.t && fault.t <= detected)
}

/// The floor of every failover, without any election: a znode deleted, its watcher notified, the list read.
#[derive(Debug, Default)]
pub(super) struct FloorTimes {
    pub(super) samples: Samples,
    pub(super) failed: u64,
    /// Pairs of sessions that took them.
    pub(super) pairs: u64,
}

impl FloorTimes {
    fn new(index: &Index<'_>) -> Self {
        let (mut taken, mut pairs) = (Self::default(), BTreeSet::<(i64, i64)>::new());
        for (_, event) in &index.few {
            match event {
                Event::Floor { deleted, listed, sessions, .. } => {
                    taken.samples.take(*deleted, *listed, true);
                    pairs.extend(sessions);
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
        taken.pairs = pairs.len() as u64;
        taken
    }
}
