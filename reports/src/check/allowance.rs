//! What a busy machine and many handovers at once may add to what the protocol needs, from what this very cell has measured.
//!
//! One request takes half of a sample of the floor, which is two requests and a notification. A handover that fails over alone may
//! take a second more than the protocol needs, with its own requests as slow as the slowest; one among many waits for its turn
//! besides: as many requests as the recipe declares for each candidate that the same faults woke, one after the other, each as slow
//! as the upper quartile, for not all of a queue can be as slow as the slowest. The stricter one is for medians, from the median of
//! the floor, or from the pace at which this cell enrolled if that is quicker.

use crate::index::{Fault, Index, Stall};
use crate::stats::spans::{Span, total, union, within};
use hustings_record::{Event, FanOut, Hits, Nanos, Phase};

/// Of a single sample, and of a median.
const MARGIN_NS: Nanos = 1_000_000_000;
const MARGIN_OF_MEDIAN_NS: Nanos = 250_000_000;
/// Requests of one who is woken, where its recipe declares none: to list, to watch, to check its znode, and with a breadcrumb two
/// more.
const REQUESTS_PER_WAKE: u64 = 5;
/// To enrol takes a candidate so many at least: a session, a create, a look around.
const REQUESTS_TO_ENROL: u64 = 3;
/// What a request is taken to take where no floor was measured.
const ASSUMED_REQUEST_NS: Nanos = 10_000_000;
/// Whatever a record says, sums of a few of these fit their type.
const LONGEST_NS: Nanos = 1 << 59;
/// Longest pause of a host between two tries to get a session.
const RETRY_NS: Nanos = 1_000_000_000;

pub(super) struct Allowance<'i, 'a> {
    index: &'i Index<'a>,
    request: RequestTime,
    felt: Felt,
}

/// By when all that lost their sessions at a time are back and one of them leads, with requests as slow as this cell's.
pub(crate) fn led_again_by<'i, 'a>(index: &'i Index<'a>) -> impl Fn(Nanos) -> Nanos + use<'i, 'a> {
    let allowance = Allowance::of(index);
    move |lost| allowance.back(lost) + allowance.cut_off() + allowance.handover((lost, lost))
}

/// How long one request takes on the floor.
#[derive(Clone, Copy)]
struct RequestTime {
    longest: Nanos,
    upper_quartile: Nanos,
    /// Or less, where the cell enrolled more quickly.
    median: Nanos,
}

/// What the candidates that are woken wait for, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitStep {
    /// A message from a server, or the deletion that it tells of.
    Notify,
    /// The requests of whoever is woken.
    TakeOver,
}

/// How many candidates faults may have woken: those of the faults that had begun by a time, and of those that were felt no longer
/// at a time. Each is in order, and its count is of itself and of all before it.
#[derive(Default)]
struct Felt {
    begun: Vec<(Nanos, u64)>,
    over: Vec<(Nanos, u64)>,
}

/// In order of time, with the sums.
fn summed(mut woken: Vec<(Nanos, u64)>) -> Vec<(Nanos, u64)> {
    woken.sort_unstable();
    let mut sum = 0_u64;
    woken.iter_mut().for_each(|fault| {
        sum = sum.saturating_add(fault.1);
        fault.1 = sum;
    });
    woken
}

impl Felt {
    /// Of the faults that were felt at some moment of `span`: all that had begun by its end, but those that were over before it.
    fn within(&self, span: Span) -> u64 {
        let sum = |woken: &[(Nanos, u64)]| woken.last().map_or(0, |fault| fault.1);
        let begun = sum(&self.begun[..self.begun.partition_point(|fault| fault.0 <= span.1)]);
        begun - sum(&self.over[..self.over.partition_point(|fault| fault.0 < span.0)]).min(begun)
    }
}

/// The time that one request took while everybody enrolled at once; None where somebody did not.
fn enrolment_pace(index: &Index<'_>) -> Option<Nanos> {
    let began = index.phases.get(&Phase::Enrol)?;
    let joined = index.candidates.stands.values().filter_map(|stands| stands.first()).map(|stand| stand.from);
    let took = joined.max()?.checked_sub(*began)?;
    let requests = index.candidates.stands.len() as u64 * REQUESTS_TO_ENROL;
    (requests > 0).then(|| took.div_ceil(requests))
}

impl<'i, 'a> Allowance<'i, 'a> {
    pub(super) fn of(index: &'i Index<'a>) -> Self {
        let own = index.lives.stalls.iter().filter(|stall| stall.own > 0);
        let stalls = union(own.map(|stall| (stall.from, stall.to)).collect());
        let samples = index.few.iter().filter_map(|(_, event)| match event {
            Event::Floor { deleted, listed, .. } => Some((*deleted, *listed)),
            _ => None,
        });
        // What is a stall for the most part says nothing about requests.
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
        let mut allowance = Self { index, request, felt: Felt::default() };
        allowance.felt = allowance.feel();
        allowance
    }

    /// All faults.
    fn feel(&self) -> Felt {
        let (all, each) = (self.everybody(), self.of_each());
        let faults = self.index.faults.all.iter().map(|fault| {
            let woken = if fault.kind.hits_servers() { all } else { fault.cands.len() as u64 * each };
            ((fault.t, woken), (self.felt_until(fault), woken))
        });
        let (begun, over) = faults.unzip();
        Felt { begun: summed(begun), over: summed(over) }
    }

    /// What a handover within `span` may take beyond the protocol's needs.
    pub(super) fn handover(&self, span: Span) -> Nanos {
        self.step(WaitStep::TakeOver, span)
    }

    /// What a step of a handover within `span` may take.
    pub(super) fn step(&self, step: WaitStep, span: Span) -> Nanos {
        self.one_of_many(step, span) + MARGIN_NS
    }

    /// How long it may take until everybody who is told something within `span` was told.
    pub(super) fn notified(&self, span: Span) -> Nanos {
        self.one_of_many(WaitStep::Notify, span)
    }

    /// All before it are as slow as usual, and its own requests as slow as any.
    fn one_of_many(&self, step: WaitStep, span: Span) -> Nanos {
        let before = self.waking(span).saturating_sub(1);
        self.requests_of(step, before, self.request.upper_quartile) + self.requests_of(step, 1, self.request.longest)
    }

    /// What half of such steps may take: of `of` that wait for each other, the one that comes as number `place`.
    pub(super) fn median(&self, step: WaitStep, span: Span, (place, of): (u64, u64)) -> Nanos {
        let before = self.waking(span).saturating_mul(place).div_ceil(of.max(1));
        self.requests_of(step, before, self.request.median) + MARGIN_OF_MEDIAN_NS
    }

    /// How long this step takes for so many who are woken, one after the other.
    fn requests_of(&self, step: WaitStep, woken: u64, request: Nanos) -> Nanos {
        let declared = self.index.info.requests_per_wake_max();
        let requests = match step {
            WaitStep::Notify => 1,
            WaitStep::TakeOver => declared.map_or(REQUESTS_PER_WAKE, |declared| u64::from(declared).max(1)),
        };
        woken.saturating_mul(requests.saturating_mul(request)).min(LONGEST_NS)
    }

    /// From the moment that nothing keeps a candidate from the servers until it stands again. It may first have to find out
    /// that its session is over, which its client does by itself 7/5 T after it last heard of a server.
    pub(super) fn return_of(&self, at: Nanos) -> Nanos {
        7 * self.index.timeout_or_asked() / 5 + RETRY_NS + self.handover((at, at))
    }

    /// When all can have come back that lost their sessions by `from`.
    pub(super) fn back(&self, from: Nanos) -> Nanos {
        from + self.expiry() + self.return_of(from)
    }

    /// The stall by which what a group was due to do by `due`, in the course of `span`, may have come as late as at its end: what
    /// ended in a stall that a session can end of is made anew after it. One that began when all was due excuses nothing.
    pub(super) fn late_by_stall(&self, group: u32, span: Span, due: Nanos) -> Option<&'i Stall> {
        let (mut due_again, mut last) = (due, None);
        for stall in self.index.felt_stalls_of_group(group, span) {
            if stall.from <= due_again && stall.own >= self.index.session_ends_after() {
                due_again = due_again.max(self.back(stall.to));
                last = Some(stall);
            }
        }
        last.filter(|_| span.1 <= due_again)
    }

    /// For how long a session may outlive its last touch: T, rounded up to a tick, and handed on every half tick.
    pub(super) fn expiry(&self) -> Nanos {
        self.index.timeout_or_asked() + 3 * self.index.tick / 2
    }

    /// How long it may take until a session that is cut off is over for both sides: its client gives it up after 7/5 T.
    pub(super) fn cut_off(&self) -> Nanos {
        self.expiry().max(7 * self.index.timeout_or_asked() / 5)
    }

    /// Own stalls within `span`, of whatever length, of hosts of this group and of processes that are no host.
    pub(super) fn stalled(&self, group: u32, span: Span) -> Nanos {
        total(&within(&self.index.own_stalls_of_group(group, span), span))
    }

    /// How many candidates the faults whose consequences may fall into `span` may have woken. All others race for a lock; when
    /// the servers are hit, everybody comes back at once.
    fn waking(&self, span: Span) -> u64 {
        self.felt.within(span).min(self.everybody() * self.of_each()).max(1)
    }

    fn everybody(&self) -> u64 {
        self.index.info.groups.len() as u64 * u64::from(self.index.info.candidates_per_group)
    }

    /// How many are woken by what happens to one.
    fn of_each(&self) -> u64 {
        let others = u64::from(self.index.info.candidates_per_group.saturating_sub(1));
        if self.index.info.leader_wakes() == Some(FanOut::One) { 1 } else { others.max(1) }
    }

    /// At most so long after its end a fault may still be felt.
    pub(super) fn felt_after(&self) -> Nanos {
        MARGIN_NS + self.expiry()
    }

    /// Until when those that a fault hits may still change hands because of it, all at once.
    pub(super) fn felt_until(&self, fault: &Fault<'_>) -> Nanos {
        let facts = fault.kind.facts();
        let expires = facts.lets_sessions_expire || facts.until_healed || facts.hits == Hits::Servers;
        fault.over() + MARGIN_NS + if expires { self.expiry() } else { 0 }
    }
}
