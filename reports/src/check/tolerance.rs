//! Tolerance added to protocol bounds for a busy machine and for simultaneous handovers, from this cell's own
//! measurements.
//!
//! One request counts as half a floor sample, which is two requests and a notification. A lone handover may take one
//! second more than the protocol needs, plus its own requests at the slowest pace observed. One of several also waits
//! for the candidates woken before it by the same faults. Each of those sends its recipe's declared requests, in
//! sequence. They count at the upper-quartile pace, since not all of a queue can be the slowest. The tolerance for
//! medians is stricter: it uses the floor's median, or the pace of this cell's enrolment if that is faster.

use crate::index::{Fault, Index, Stall};
use crate::stats::spans::{Span, total, union, within};
use hustings_record::{Event, FanOut, Nanos, Phase, TargetClass};

/// Fixed tolerance of a single sample and, below, of a median.
const MARGIN_NS: Nanos = 1_000_000_000;
const MARGIN_OF_MEDIAN_NS: Nanos = 250_000_000;
/// Requests per woken candidate if its recipe declares none: list, watch, check its znode, and two more for a
/// breadcrumb.
const REQUESTS_PER_WAKE: u64 = 5;
/// Minimum requests to enrol a candidate: a session, a create, a list.
const REQUESTS_TO_ENROL: u64 = 3;
/// Assumed request time where no floor was measured.
const ASSUMED_REQUEST_NS: Nanos = 10_000_000;
/// Cap on a computed wait: sums of a few cannot overflow, even for a corrupt record.
const LONGEST_NS: Nanos = 1 << 59;
/// Longest pause of a host between two tries to get a session.
const RETRY_NS: Nanos = 1_000_000_000;

pub(super) struct Tolerance<'i, 'a> {
    index: &'i Index<'a>,
    request: RequestTime,
    felt: WokenCandidates,
}

/// Maps a time of session loss to when all affected candidates are back and one leads, at this cell's request pace.
pub(crate) fn recovery_deadline<'i, 'a>(index: &'i Index<'a>) -> impl Fn(Nanos) -> Nanos + use<'i, 'a> {
    let tolerance = Tolerance::of(index);
    move |lost| tolerance.back(lost) + tolerance.cut_off() + tolerance.handover((lost, lost))
}

/// How long one request takes on the floor.
#[derive(Clone, Copy)]
struct RequestTime {
    longest: Nanos,
    upper_quartile: Nanos,
    /// Lower if the cell enrolled faster.
    median: Nanos,
}

/// What woken candidates queue for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitStep {
    /// A server's notification, or the deletion that it reports.
    Notify,
    /// The requests of a woken candidate.
    TakeOver,
}

/// Candidates that faults may have woken: by the start of each fault, and by the end of its effects. Both lists are
/// sorted by time, and their counts are cumulative.
#[derive(Default)]
struct WokenCandidates {
    begun: Vec<(Nanos, u64)>,
    over: Vec<(Nanos, u64)>,
}

/// Sorts by time and accumulates the counts.
fn summed(mut woken: Vec<(Nanos, u64)>) -> Vec<(Nanos, u64)> {
    woken.sort_unstable();
    let mut sum = 0_u64;
    woken.iter_mut().for_each(|fault| {
        sum = sum.saturating_add(fault.1);
        fault.1 = sum;
    });
    woken
}

impl WokenCandidates {
    /// Candidates woken by faults in effect at some time in `span`: of all begun by its end, without those over before
    /// it.
    fn within(&self, span: Span) -> u64 {
        let sum = |woken: &[(Nanos, u64)]| woken.last().map_or(0, |fault| fault.1);
        let begun = sum(&self.begun[..self.begun.partition_point(|fault| fault.0 <= span.1)]);
        begun - sum(&self.over[..self.over.partition_point(|fault| fault.0 < span.0)]).min(begun)
    }
}

/// Mean time of a request while all candidates enrolled at once; None without an enrolment to measure.
fn enrolment_pace(index: &Index<'_>) -> Option<Nanos> {
    let began = index.phases.get(&Phase::Enrol)?;
    let joined = index.candidates.stands.values().filter_map(|stands| stands.first()).map(|stand| stand.from);
    let took = joined.max()?.checked_sub(*began)?;
    let requests = index.candidates.stands.len() as u64 * REQUESTS_TO_ENROL;
    (requests > 0).then(|| took.div_ceil(requests))
}

impl<'i, 'a> Tolerance<'i, 'a> {
    pub(super) fn of(index: &'i Index<'a>) -> Self {
        let own = index.lives.stalls.iter().filter(|stall| stall.own > 0);
        let stalls = union(own.map(|stall| (stall.from, stall.to)).collect());
        let samples = index.few.iter().filter_map(|(_, event)| match event {
            Event::Floor { deleted, listed, .. } => Some((*deleted, *listed)),
            _ => None,
        });
        // A sample that is mostly stall says nothing about request times.
        let sound = samples.filter(|&sample| 2 * total(&within(&stalls, sample)) <= sample.1.saturating_sub(sample.0));
        let mut samples: Vec<Nanos> = sound.map(|sample| sample.1.saturating_sub(sample.0)).collect();
        samples.sort_unstable();
        let half = |sample: Option<&Nanos>| sample.map_or(ASSUMED_REQUEST_NS, |&sample| sample.div_ceil(2));
        let median = half(samples.get(samples.len() / 2));
        let request = RequestTime {
            longest: half(samples.last()),
            upper_quartile: half(samples.get(3 * samples.len() / 4)),
            median: enrolment_pace(index).map_or(median, |pace| pace.min(median)),
        };
        let mut tolerance = Self { index, request, felt: WokenCandidates::default() };
        tolerance.felt = tolerance.feel();
        tolerance
    }

    /// The candidates that each fault may have woken.
    fn feel(&self) -> WokenCandidates {
        let (all, each) = (self.everybody(), self.of_each());
        let faults = self.index.faults.all.iter().map(|fault| {
            let woken = if fault.kind.hits_servers() { all } else { fault.cands.len() as u64 * each };
            ((fault.t, woken), (self.effects_until(fault), woken))
        });
        let (begun, over) = faults.unzip();
        WokenCandidates { begun: summed(begun), over: summed(over) }
    }

    /// Tolerance for a handover within `span`, beyond the protocol's need. A recipe without watches also waits for its next look.
    pub(super) fn handover(&self, span: Span) -> Nanos {
        self.step(WaitStep::TakeOver, span) + self.index.polls()
    }

    /// Tolerance for one step of a handover within `span`.
    pub(super) fn step(&self, step: WaitStep, span: Span) -> Nanos {
        self.one_of_many(step, span) + MARGIN_NS
    }

    /// Longest time until all notifications due within `span` have arrived.
    pub(super) fn notified(&self, span: Span) -> Nanos {
        self.one_of_many(WaitStep::Notify, span)
    }

    /// Candidates ahead of it take the upper-quartile request time; its own requests take the longest.
    fn one_of_many(&self, step: WaitStep, span: Span) -> Nanos {
        let before = self.waking(span).saturating_sub(1);
        self.requests_of(step, before, self.request.upper_quartile) + self.requests_of(step, 1, self.request.longest)
    }

    /// Tolerance for the median of such steps: for number `place` of `of` that wait for each other.
    pub(super) fn median(&self, step: WaitStep, span: Span, (place, of): (u64, u64)) -> Nanos {
        let before = self.waking(span).saturating_mul(place).div_ceil(of.max(1));
        self.requests_of(step, before, self.request.median) + MARGIN_OF_MEDIAN_NS
    }

    /// Time of this step for `woken` candidates in sequence.
    fn requests_of(&self, step: WaitStep, woken: u64, request: Nanos) -> Nanos {
        let declared = self.index.info.requests_per_wake_max();
        let requests = match step {
            WaitStep::Notify => 1,
            WaitStep::TakeOver => declared.map_or(REQUESTS_PER_WAKE, |declared| u64::from(declared).max(1)),
        };
        woken.saturating_mul(requests.saturating_mul(request)).min(LONGEST_NS)
    }

    /// Time from a candidate's regained access to the servers until it is enrolled again. It may first need to discover
    /// that its session has ended: its client does so 7/5 T after the last contact with a server.
    pub(super) fn return_of(&self, at: Nanos) -> Nanos {
        7 * self.index.timeout_or_asked() / 5 + RETRY_NS + self.handover((at, at))
    }

    /// Time by which all candidates that lost their sessions by `from` can be back.
    pub(super) fn back(&self, from: Nanos) -> Nanos {
        from + self.expiry() + self.return_of(from)
    }

    /// The stall that may have delayed a group's action, due by `due`, up to the end of `span`. A stall long enough to
    /// end a session restarts the deadline at its end. A stall that begins after the deadline explains nothing.
    pub(super) fn late_by_stall(&self, group: u32, span: Span, due: Nanos) -> Option<&'i Stall> {
        let (mut due_again, mut last) = (due, None);
        for stall in self.index.confounding_stalls_of_group(group, span) {
            if stall.from <= due_again && stall.own >= self.index.session_ends_after() {
                due_again = due_again.max(self.back(stall.to));
                last = Some(stall);
            }
        }
        last.filter(|_| span.1 <= due_again)
    }

    /// See [`Index::session_expiry`].
    pub(super) fn expiry(&self) -> Nanos {
        self.index.session_expiry()
    }

    /// Longest time until a cut-off session has ended on both sides: its client gives it up after 7/5 T.
    pub(super) fn cut_off(&self) -> Nanos {
        self.expiry().max(7 * self.index.timeout_or_asked() / 5)
    }

    /// Own stalls within `span`, of any length, of this group's hosts and of processes that are not hosts.
    pub(super) fn stalled(&self, group: u32, span: Span) -> Nanos {
        total(&within(&self.index.own_stalls_of_group(group, span), span))
    }

    /// Candidates that faults with effects in `span` may have woken. For a lock, all others race; after a server fault,
    /// all return at once.
    fn waking(&self, span: Span) -> u64 {
        self.felt.within(span).min(self.everybody().saturating_mul(self.of_each())).max(1)
    }

    fn everybody(&self) -> u64 {
        self.index.info.candidates()
    }

    /// Candidates woken by a fault on one.
    fn of_each(&self) -> u64 {
        let others = u64::from(self.index.info.candidates_per_group.saturating_sub(1));
        if self.index.info.leader_wakes() == Some(FanOut::One) { 1 } else { others.max(1) }
    }

    /// Longest time after its end that a fault may have effects.
    pub(super) fn effects_outlast_by(&self) -> Nanos {
        MARGIN_NS + self.expiry()
    }

    /// Time until which the candidates that a fault hits may still change hands because of it, all at once.
    pub(super) fn effects_until(&self, fault: &Fault<'_>) -> Nanos {
        let facts = fault.kind.facts();
        let expires = facts.lets_sessions_expire || facts.until_healed || facts.hits == TargetClass::Servers;
        fault.over() + MARGIN_NS + if expires { self.expiry() } else { 0 }
    }
}
