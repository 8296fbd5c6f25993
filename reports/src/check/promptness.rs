//! Is leadership released, its loss noticed, and leadership taken over as promptly as the protocol allows? The failover
//! table shows the durations. This compares every sample of *release*, *detect* and *decide* with a promise, in force
//! by default.
//!
//! - A candidate ordered to resign deletes its znode at once: *release* counts from the order until the znode is gone.
//! - Watchers are notified at once of a resignation, an ended session, and the end of a process that was asked to exit.
//!   For a session left to expire it takes T from its last touch plus 3/2 ticks: expiry rounds up to a tick, followers
//!   forward touches every half tick.
//! - A notified candidate decides at once or, where all lost their znodes, once it may enrol again. A recipe that
//!   watches nothing has its interval for both.
//! - The [tolerance](super::tolerance) of a handover is added for each sample. More than half must keep a stricter one:
//!   of the losses of one injection, the first need not wait for the last. Samples covered by a harness stall are void,
//!   as are those with slow links, a server fault, or a fault on the next in line. A delay that a stall may have caused
//!   is inconclusive.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::Finding;
use super::phases::{ExpiryFloor, expiry_floor};
use super::section::Section;
use super::stall_confounder::did_not_run;
use super::tolerance::{Tolerance, WaitStep};
use super::words::moment;
use crate::index::{Fault, Index, Loss, LossOutcome};
use crate::stats::spans::{Span, touches};
use hustings_record::words::duration;
use hustings_record::{
    ENROLS_AGAIN_AFTER_MS, EvidenceSource, FanOut, FaultKind, LeadLoss, Nanos, ProcessFate, SessionState, TargetClass,
};

/// Minimum of samples for a statement about half of them.
const SAMPLES_MIN: u64 = 3;

/// Handovers against what is promised of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Promptness {
    /// Of resignations: from the order to the end of the znode.
    #[serde(default)]
    pub release: PromiseResult,
    pub detect: PromiseResult,
    pub decide: PromiseResult,
}

/// How a promise was kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromiseResult {
    /// Samples that were compared with it.
    pub n: u64,
    /// Those that took longer than the allowance of one, and than that of more than half.
    pub late: u64,
    pub slow: u64,
    /// Left out: something else may have held them up.
    pub void: u64,
    /// The longest time beyond what the protocol needs, and the least that was allowed.
    pub longest_ns: Nanos,
    pub allowed_ns: Option<Nanos>,
}

impl Section for Promptness {
    const NAME: &'static str = "promptness";
    const ABOUT: &'static str =
        "Were leads given up at once when that was ordered, watchers notified in time, and did they act at once?";
    const RESTS_ON: &'static [EvidenceSource] = &[EvidenceSource::Wire, EvidenceSource::Report];

    fn applies(index: &Index<'_>) -> bool {
        index.info.has_candidates() && index.losses.all.iter().any(|loss| loss.outcome != LossOutcome::Survived)
    }

    fn check(index: &Index<'_>) -> Finding<Self> {
        let mut finding = Finding::default();
        let judge = PromptnessJudge::of(index);
        let HandoverWaits { release, detect, decide } = judge.waits();
        finding.section = Promptness {
            release: judge.promise(release, Promise::Release, &mut finding),
            detect: judge.promise(detect, Promise::Detect, &mut finding),
            decide: judge.promise(decide, Promise::Decide, &mut finding),
        };
        let Promptness { release, detect, decide } = finding.section;
        if release.n + detect.n + decide.n == 0 {
            finding.note(
                "it decides nothing here: no handover could be compared with what is promised, each was void".into(),
            );
        }
        let released =
            if release.n + release.void > 0 { format!("release {}; ", words(release)) } else { String::new() };
        finding.headline(format!("{released}detect {}; decide {}", words(detect), words(decide)));
        finding
    }
}

/// What is promised of a handover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Promise {
    Release,
    Detect,
    Decide,
}

impl Promise {
    /// The step that woken candidates wait for.
    const fn step(self) -> WaitStep {
        match self {
            Self::Release | Self::Detect => WaitStep::Notify,
            Self::Decide => WaitStep::TakeOver,
        }
    }

    /// The state of a loss after this step, in words.
    const fn done(self) -> &'static str {
        match self {
            Self::Release => "given up",
            Self::Detect => "noticed",
            Self::Decide => "decided",
        }
    }
}

/// The most by which a handover could have come later and still kept a promise, or been void by stalls: the promise for
/// each, and that for more than half.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slack {
    pub(crate) of_each: Nanos,
    pub(crate) of_half: Nanos,
}

/// The slack of every handover compared with this promise, by its place among the losses, if it came `later` by so
/// much.
pub(crate) fn slack(index: &Index<'_>, promise: Promise, later: Nanos) -> BTreeMap<usize, Slack> {
    let (judge, step) = (PromptnessJudge::of(index), promise.step());
    let of = |wait: &HandoverWait| {
        let due = (wait.due, wait.due);
        let (group, late) = (index.losses.all[wait.loss].group, (wait.due.min(wait.came), wait.came + later));
        let stalled = judge.tolerance.stalled(group, late);
        let left = |allowed: Nanos| (wait.due + allowed + stalled).saturating_sub(wait.came);
        // The last handover of an injection may take the longest.
        let of_half = left(judge.tolerance.median(step, due, (1, 1)));
        (wait.loss, Slack { of_each: left(judge.tolerance.step(step, due)), of_half })
    };
    judge.waits().of(promise).waits.iter().map(of).collect()
}

fn words(kept: PromiseResult) -> String {
    if kept.n == 0 {
        return format!("not judged ({} void)", kept.void);
    }
    let allowed = kept.allowed_ns.map_or_else(String::new, |ns| format!(" of {} allowed", duration(ns)));
    format!(
        "{} of {} late, longest {}{allowed} beyond its floor ({} void)",
        kept.late,
        kept.n,
        duration(kept.longest_ns),
        kept.void
    )
}

/// One wait of a loss.
struct HandoverWait {
    /// The place of the loss.
    loss: usize,
    /// When it was due, and when it came.
    due: Nanos,
    came: Nanos,
}

/// The waits of one promise.
#[derive(Default)]
struct PromiseWaits {
    waits: Vec<HandoverWait>,
    void: u64,
}

#[derive(Default)]
struct HandoverWaits {
    release: PromiseWaits,
    detect: PromiseWaits,
    decide: PromiseWaits,
}

impl HandoverWaits {
    fn of(self, promise: Promise) -> PromiseWaits {
        match promise {
            Promise::Release => self.release,
            Promise::Detect => self.detect,
            Promise::Decide => self.decide,
        }
    }
}

struct PromptnessJudge<'i, 'a> {
    index: &'i Index<'a>,
    tolerance: Tolerance<'i, 'a>,
    /// Faults that may delay candidates they do not hit: few, whereas many faults hit one candidate each.
    on_others: Vec<&'i Fault<'a>>,
}

impl<'i, 'a> PromptnessJudge<'i, 'a> {
    fn of(index: &'i Index<'a>) -> Self {
        let on_others = |fault: &&Fault<'_>| fault.kind.takes_hosts_out();
        Self { index, tolerance: Tolerance::of(index), on_others: index.faults.all.iter().filter(on_others).collect() }
    }

    /// The waits of all losses.
    fn waits(&self) -> HandoverWaits {
        let mut waits = HandoverWaits::default();
        (0..self.index.losses.all.len()).for_each(|place| self.loss(place, &mut waits));
        waits
    }

    fn loss(&self, place: usize, waits: &mut HandoverWaits) {
        let index = self.index;
        let loss = &index.losses.all[place];
        let end = match loss.outcome {
            LossOutcome::Survived => return,
            LossOutcome::Censored { at } => at,
            LossOutcome::Completed { successor } => match index.terms.all[successor].granted {
                Some(granted) => granted,
                None => return,
            },
        };
        let fault = &index.faults.all[loss.fault];
        self.released(place, fault, end, &mut waits.release);
        // Where all lost their znodes, each pauses before it enrols again.
        let anew = fault.kind.facts().leads == LeadLoss::Anew;
        let rests = if anew { ENROLS_AGAIN_AFTER_MS * 1_000_000 } else { 0 };
        let (polls, asks) = (index.polls(), index.info.leader_wakes() == Some(FanOut::None));
        // A fault after the deadline, tolerance included, voids nothing.
        let by = |step: WaitStep, due: Nanos| end.min(due + self.tolerance.step(step, (due, due)));
        let first = |due: Nanos| {
            if asks { by(WaitStep::TakeOver, due + polls + rests) } else { by(WaitStep::Notify, due + polls) }
        };
        let Some(due) = self.due(loss, fault, end).filter(|&due| !self.is_void(loss, first(due).max(loss.effect)))
        else {
            waits.detect.void += 1;
            waits.decide.void += 1;
            return;
        };
        if asks {
            return waits.decide.waits.push(HandoverWait { loss: place, due: due + polls + rests, came: end });
        }
        let told = index.woken(loss).first().filter(|notice| notice.t <= end).copied();
        waits.detect.waits.push(HandoverWait { loss: place, due, came: told.map_or(end, |notice| notice.t) });
        if let Some(told) = told {
            // The successor, or else the first notified candidate, may have lost its connection meanwhile.
            let next = match loss.outcome {
                LossOutcome::Completed { successor } => index.terms.all[successor].session,
                LossOutcome::Censored { .. } | LossOutcome::Survived => told.session,
            };
            let by = by(WaitStep::TakeOver, told.t + rests);
            if self.cut_off(next, (told.t, by)) || self.is_void(loss, by.max(loss.effect)) {
                waits.decide.void += 1;
            } else {
                waits.decide.waits.push(HandoverWait { loss: place, due: told.t + rests, came: end });
            }
        }
    }

    /// A resignation: its znode is gone when its deletion was answered, or when others are observed to know, if that is
    /// earlier.
    fn released(&self, place: usize, fault: &Fault<'_>, end: Nanos, release: &mut PromiseWaits) {
        if fault.kind != FaultKind::Resign {
            return;
        }
        let index = self.index;
        let loss = &index.losses.all[place];
        let lost = &index.terms.all[loss.term];
        let owned = index.intervals.of_group(loss.group).iter().filter(|interval| interval.czxid == Some(lost.czxid));
        let disowned = owned.map(|interval| interval.span.1).max();
        let told = index.woken(loss).first().map(|notice| notice.t);
        let gone = loss.answered.unwrap_or(end).min(disowned.unwrap_or(end)).min(told.unwrap_or(end)).min(end);
        let by = gone.min(fault.t + self.tolerance.step(WaitStep::Notify, (fault.t, fault.t)));
        // A connection that it closes itself voids nothing.
        let own = |other: &Fault<'_>| other.id != fault.id && self.acts(other, (fault.t, by));
        let hit = index.faults.on_cand_in(lost.cand, (fault.t, by)).any(own)
            || touches(index.faults.hangs_of(lost.host), (fault.t, by));
        if hit || self.servers_hit((fault.t, by)) || self.links_slow(loss.group, (fault.t, by)) {
            release.void += 1;
        } else {
            release.waits.push(HandoverWait { loss: place, due: fault.t, came: gone });
        }
    }

    /// Compares the waits with their tolerances.
    fn promise(&self, promised: PromiseWaits, promise: Promise, finding: &mut Finding<Promptness>) -> PromiseResult {
        let mut kept = PromiseResult { void: promised.void, ..PromiseResult::default() };
        let mut injections: BTreeMap<Nanos, Vec<HandoverWait>> = BTreeMap::new();
        let lost = |wait: &HandoverWait| &self.index.losses.all[wait.loss];
        for wait in promised.waits {
            injections.entry(self.index.faults.all[lost(&wait).fault].intended).or_default().push(wait);
        }
        for mut waits in injections.into_values() {
            waits.sort_by_key(|wait| (wait.came, lost(wait).group));
            let of = waits.len() as u64;
            (1..).zip(&waits).for_each(|(place, wait)| self.take(wait, (place, of), promise, &mut kept, finding));
        }
        if kept.n >= SAMPLES_MIN && 2 * kept.slow > kept.n {
            finding.fail(format!(
                "{} of {} losses were {} later than promised for more than half of them",
                kept.slow,
                kept.n,
                promise.done()
            ));
        }
        kept
    }

    /// Compares one wait with its tolerances.
    fn take(
        &self,
        wait: &HandoverWait,
        place: (u64, u64),
        promise: Promise,
        kept: &mut PromiseResult,
        finding: &mut Finding<Promptness>,
    ) {
        let index = self.index;
        let HandoverWait { loss, due, came } = *wait;
        let (step, done) = (promise.step(), promise.done());
        let loss = &index.losses.all[loss];
        let took = came.saturating_sub(due);
        // The tolerances are fixed at the due time: later faults must not extend them.
        let (each, half) = (self.tolerance.step(step, (due, due)), self.tolerance.median(step, (due, due), place));
        // A stall before the due time delays nothing.
        let stalled = self.tolerance.stalled(loss.group, (due, came));
        if took > half && stalled >= took - half {
            kept.void += 1;
            return;
        }
        let text = || {
            format!(
                "{}: the loss at {} was {done} {} later than it could be, and {} are allowed",
                index.group_name(loss.group),
                moment(index, loss.effect),
                duration(took),
                duration(each),
            )
        };
        // Sessions that ended in a stall are replaced after it.
        if took > each
            && let Some(stall) = self.tolerance.late_by_stall(loss.group, (due, came), due + each)
        {
            kept.void += 1;
            return finding.inconclusive_by_stall(format!("{}{}", text(), did_not_run(index, stall)));
        }
        kept.n += 1;
        kept.slow += u64::from(took > half);
        kept.longest_ns = kept.longest_ns.max(took);
        kept.allowed_ns = Some(kept.allowed_ns.map_or(each, |least| least.min(each)));
        if took > each {
            kept.late += 1;
            finding.fail(text());
        }
    }

    /// When the loss is due to be noticed; None if the fault does not determine it.
    fn due(&self, loss: &Loss, fault: &Fault<'_>, end: Nanos) -> Option<Nanos> {
        let facts = fault.kind.facts();
        if facts.hits == TargetClass::Candidates {
            let verified = fault.injected.as_ref().map_or(loss.effect, |proof| proof.to);
            return Some(loss.released.max(if loss.released > loss.effect { 0 } else { verified }));
        }
        // A process asked to exit has released leadership by the time it is gone.
        if facts.process == ProcessFate::Ended && !facts.lets_sessions_expire {
            return fault.injected.as_ref().map(|proof| proof.to);
        }
        if !facts.lets_sessions_expire {
            return None;
        }
        let floor =
            expiry_floor(self.index, loss, fault, end).map(|floor: ExpiryFloor| floor.restarted.unwrap_or(floor.naive));
        // A reconnected client has a whole session timeout ahead.
        let session = self.index.terms.all[loss.term].session;
        let since = self.index.candidates.reconnected_by(session, end).unwrap_or(0).max(loss.effect);
        Some(floor.map_or(since + self.tolerance.expiry(), |floor| floor + 3 * self.index.tick / 2))
    }

    /// Whether the fault may have effects within `span`.
    fn acts(&self, fault: &Fault<'_>, span: Span) -> bool {
        fault.t <= span.1 && span.0 <= self.tolerance.effects_until(fault)
    }

    fn servers_hit(&self, span: Span) -> bool {
        self.index.servers.out_within(span) || self.index.faults.on_servers().any(|fault| self.acts(fault, span))
    }

    /// Slow links delay every candidate of the group behind them.
    fn links_slow(&self, group: u32, span: Span) -> bool {
        let slows = |fault: &Fault<'_>| fault.kind.facts().suppresses_watch_events && !fault.kind.facts().takes_out;
        let felt = (span.0.saturating_sub(self.tolerance.effects_outlast_by()), span.1);
        self.index.faults.on_group_in(group, felt).any(|fault| slows(fault) && self.acts(fault, span))
    }

    /// Whether something else may have delayed it by `end`.
    fn is_void(&self, loss: &Loss, end: Nanos) -> bool {
        let (index, span) = (self.index, (loss.effect, end));
        let lost = &index.terms.all[loss.term];
        let acts = |fault: &Fault<'_>| self.acts(fault, span);
        if self.servers_hit(span) || self.links_slow(loss.group, span) {
            return true;
        }
        // The next owner by ZooKeeper may have been hit before it led.
        let hit = |session: i64| {
            let host = index.candidates.sessions.get(&session);
            let hits =
                |f: &&Fault<'_>| f.kind.takes_hosts_out() && host.is_some_and(|h| f.hosts.contains(h)) && acts(f);
            self.on_others.iter().any(hits)
        };
        let owners = index.intervals.within(loss.group, span).filter(|interval| span.0 < interval.span.0);
        if owners.filter(|interval| interval.czxid != Some(lost.czxid)).filter_map(|interval| interval.session).any(hit)
        {
            return true;
        }
        // A fault on a whole group at once is the loss itself.
        let own = index.faults.all[loss.fault].id;
        let is_loss = |fault: &Fault<'_>| fault.id == own && fault.kind.hits_candidates();
        let felt = (span.0.saturating_sub(self.tolerance.effects_outlast_by()), span.1);
        let hit = |cand: u32| index.faults.on_cand_in(cand, felt).any(|fault| acts(fault) && !is_loss(fault));
        let next = in_line(index, loss.group, lost.cand, lost.czxid, loss.effect);
        match index.info.leader_wakes() {
            Some(FanOut::One) => next.first().is_none_or(|&cand| hit(cand)),
            _ => next.iter().all(|&cand| hit(cand)),
        }
    }

    /// Whether the session had no connection at some time of `span`.
    fn cut_off(&self, session: i64, span: Span) -> bool {
        let states = self.index.candidates.states.get(&session).map_or(&[][..], Vec::as_slice);
        let within = states.iter().filter(|state| span.0 <= state.0 && state.0 <= span.1);
        within.clone().any(|state| state.1 != SessionState::Connected)
    }
}

/// The other candidates enrolled in the group at `at`: those behind `czxid` in the queue, in order; all of them without
/// a queue.
pub(super) fn in_line(index: &Index<'_>, group: u32, but: u32, czxid: i64, at: Nanos) -> Vec<u32> {
    let others = index.candidates.of_group(group).iter().filter(|&&cand| cand != but);
    let standing = others.filter_map(|&cand| index.candidates.standing(cand, at).map(|stand| (stand.czxid, cand)));
    let mut standing: Vec<(Option<i64>, u32)> =
        standing.filter(|(other, _)| other.is_none_or(|other| other > czxid)).collect();
    standing.sort_unstable();
    standing.into_iter().map(|(_, cand)| cand).collect()
}
