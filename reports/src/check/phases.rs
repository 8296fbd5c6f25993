//! The samples of failovers, phase by phase: every lost lead is a sample of every phase that its recipe has. What had not happened
//! by the next grant, or by the end, is censored there; what a stall covers too much of is void.

use std::collections::BTreeSet;

use super::course::{Course, Moments};
use crate::index::{Ending, Fault, Index, Loss, Outcome, Term};
use crate::stats::Samples;
use crate::stats::spans::Span;
use hustings_record::{Event, FanOut, FaultKind, Nanos, RevokeReason};

/// A sample is void where one stall of a process that had a part in it is longer than this part of it.
const VOID_PART: u64 = 4;
/// What a busy machine may add to what expiry buckets and batched touches do.
const WINDOW_MARGIN_NS: Nanos = 500_000_000;

/// Samples of every phase, of a cell or of several of one configuration.
#[derive(Debug, Default)]
pub struct Phases {
    pub(crate) whole: Samples,
    pub(super) from_intended: Samples,
    pub(super) release: Samples,
    pub(super) detect: Samples,
    pub(super) spread: Samples,
    pub(super) decide: Samples,
    pub(super) act: Samples,
    /// From the lead's loss to the first accepted write of the next term: for so long nobody did the leader's work.
    pub(crate) until_write: Samples,
    pub(crate) over_floor: Samples,
    /// Of sessions whose clock a new leader of the ensemble restarted: above their real floor, and above `T − age`.
    pub(super) over_restarted: Samples,
    pub(super) over_naive: Samples,
    pub(super) early: u64,
    pub(super) beyond: u64,
    /// What is beyond it is longer than theory and a busy machine leave.
    pub(super) window_ns: Nanos,
    /// Whole failovers that are void, and others that a pause of a server may have lengthened.
    pub(super) void: u64,
    pub(super) beside_pauses: u64,
    pub(super) floor: Taken,
    /// Of the whole failovers that ended and are not void.
    pub(super) courses: Vec<Course>,
}

impl Phases {
    /// Those of a cell.
    #[must_use]
    pub fn of(index: &Index<'_>) -> Self {
        // Expiry buckets round up to a tick, followers hand touches on every half tick.
        let window_ns = 3 * index.tick / 2 + WINDOW_MARGIN_NS;
        let mut phases = Self { window_ns, floor: Taken::new(index), ..Self::default() };
        for loss in &index.losses.all {
            phases.take(index, loss);
        }
        phases
    }

    /// Adds the samples of one lost lead.
    pub(crate) fn take(&mut self, index: &Index<'_>, loss: &Loss) {
        measure(index, loss, self);
    }

    /// Adds those of another cell of the same configuration: sample by sample, so that whatever is said of them all is said of
    /// their union.
    pub fn absorb(&mut self, other: Self) {
        let Self { whole, from_intended, release, detect, spread, decide, act, until_write, .. } = other;
        let Self {
            over_floor,
            over_restarted,
            over_naive,
            early,
            beyond,
            window_ns,
            void,
            beside_pauses,
            floor,
            courses,
            ..
        } = other;
        self.whole.absorb(whole);
        self.from_intended.absorb(from_intended);
        self.release.absorb(release);
        self.detect.absorb(detect);
        self.spread.absorb(spread);
        self.decide.absorb(decide);
        self.act.absorb(act);
        self.until_write.absorb(until_write);
        self.over_floor.absorb(over_floor);
        self.over_restarted.absorb(over_restarted);
        self.over_naive.absorb(over_naive);
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

fn measure(index: &Index<'_>, loss: &Loss, phases: &mut Phases) {
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
    let taken = taker.take(&mut phases.whole, loss.effect, end, happened);
    phases.void += u64::from(!taken);
    let paused = VOID_PART * index.servers.may_have_paused((loss.effect, end));
    phases.beside_pauses += u64::from(taken && happened && paused > end.saturating_sub(loss.effect));
    taker.take(&mut phases.from_intended, fault.intended.min(loss.effect), end, happened);
    if fault.kind == FaultKind::Resign {
        taker.take(&mut phases.release, loss.effect, loss.released, true);
    }
    let mut moments = Moments { written: act(&taker, next, (loss.effect, end), phases), ..Moments::default() };
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
        phases.courses.push(Course::new(loss, fault.kind == FaultKind::Resign, end, moments));
    }
}

/// The phases of recipes whose candidates wait to be told.
fn watched(
    taker: &Taker<'_, '_>,
    loss: &Loss,
    (end, happened): (Nanos, bool),
    phases: &mut Phases,
    moments: &mut Moments,
) {
    let index = taker.index;
    let woken: Vec<Nanos> = index.woken(loss).iter().map(|n| n.t).collect();
    // Who is told after the grant was not told in time to do anything about it, but belongs to the herd.
    let detected = woken.first().copied().filter(|&t| t <= end);
    taker.take(&mut phases.detect, loss.released, detected.unwrap_or(end), detected.is_some());
    taker.take(&mut phases.decide, detected.unwrap_or(end), end, happened && detected.is_some());
    moments.told = detected;
    if index.info.leader_wakes() != Some(FanOut::One) {
        let (first, last) = (woken.first().copied(), woken.last().copied());
        taker.take(&mut phases.spread, first.unwrap_or(end), last.unwrap_or(end), last.is_some());
        moments.last_told = last;
    }
}

/// From the grant, and from the loss, to the first write that was accepted; how long the term was without one if there was none.
/// When that write was.
fn act(taker: &Taker<'_, '_>, next: Option<&Term<'_>>, (lost, granted): Span, phases: &mut Phases) -> Option<Nanos> {
    let Some(next) = next else {
        phases.act.take(granted, granted, false);
        phases.until_write.take(lost, granted, false);
        return None;
    };
    let first = taker.index.writing.first_accepted((next.cand, next.session, next.czxid), next.grant);
    let first = first.filter(|&t| t <= next.ended.1);
    let until = first.unwrap_or(next.ended.0);
    taker.take(&mut phases.act, granted, until, first.is_some());
    taker.take(&mut phases.until_write, lost, until, first.is_some());
    first
}

/// How far detection was above the floor of expiry; without any, how far above it the failover ended.
fn over_the_floor(taker: &Taker<'_, '_>, floor: &Floor, (told, at): (bool, Nanos), phases: &mut Phases) {
    let Floor { touch: _, naive, restarted, earliest } = *floor;
    let floor = restarted.unwrap_or(naive);
    if restarted.is_some() {
        taker.take(&mut phases.over_naive, naive, at, told);
        taker.take(&mut phases.over_restarted, floor, at, told);
    }
    phases.early += u64::from(told && at < earliest);
    let taken = taker.take(&mut phases.over_floor, floor, at, told);
    phases.beyond += u64::from(taken && at > floor + phases.window_ns);
}

/// When the lost leader's session could expire.
pub(super) struct Floor {
    /// When it was last heard of.
    touch: Nanos,
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
    Some(Floor { touch, naive: touch + timeout, restarted: restart.map(|restart| restart.at + timeout), earliest })
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
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) samples: Samples,
    pub(super) failed: u64,
    /// How many pairs of sessions took them.
    pub(super) pairs: u64,
}

impl Taken {
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
