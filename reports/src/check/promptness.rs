//! Is a loss noticed, and the lead taken, as promptly as the protocol allows? The failover's table tells how long it took; this
//! holds every sample of *detect* and *decide* against a promise, which is in force by default.
//!
//! - A resignation and an ended session are told of at once. A session left to expire is told of T after its last touch, and 3/2
//!   ticks more (expiry rounds up to a tick, followers hand touches on every half tick).
//! - Whoever is told decides at once; a recipe that watches nothing has its interval for both.
//! - To this comes the [allowance](super::allowance) of a handover for each sample, and the stricter one that more than half of
//!   them must keep. What a stall of the harness covers is void, and so is what happened while links were slow, servers were
//!   hit, or the one whose turn it was was hit itself. What it may have brought about is inconclusive.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::allowance::Allowance;
use super::doubt::did_not_run;
use super::finding::Finding;
use super::phases::{Floor, expiry_floor};
use super::section::Section;
use super::words::moment;
use crate::index::{Fault, Index, Loss, Outcome};
use crate::stats::spans::Span;
use hustings_record::words::duration;
use hustings_record::{FanOut, Grade, Hits, Nanos, SessionState};

/// Of fewer samples nothing is said about half of them.
const SAMPLES_MIN: u64 = 3;

/// Handovers against what is promised of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Promptness {
    pub detect: Kept,
    pub decide: Kept,
}

/// How a promise was kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Kept {
    /// Samples that were held against it.
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
    const ABOUT: &'static str = "Were watchers told in time, and did they act on it at once?";
    const RESTS_ON: &'static [Grade] = &[Grade::Wire, Grade::Report];

    fn applies(index: &Index<'_>) -> bool {
        index.info.has_candidates() && index.losses.all.iter().any(|loss| loss.outcome != Outcome::Survived)
    }

    fn check(index: &Index<'_>) -> Finding<Self> {
        let mut finding = Finding::default();
        let on_others = |fault: &&Fault<'_>| {
            fault.kind.takes_hosts_out() || fault.kind.facts().deafens && !fault.kind.facts().takes_out
        };
        let on_others = index.faults.all.iter().filter(on_others).collect();
        let judge = Judge { index, allowance: Allowance::of(index), on_others };
        for loss in &index.losses.all {
            judge.loss(loss, &mut finding);
        }
        for (what, kept) in [("noticed", finding.section.detect), ("decided", finding.section.decide)] {
            if kept.n >= SAMPLES_MIN && 2 * kept.slow > kept.n {
                finding.fail(format!(
                    "{} of {} losses were {what} later than promised for more than half of them",
                    kept.slow, kept.n
                ));
            }
        }
        let Promptness { detect, decide } = finding.section;
        if detect.n + decide.n == 0 {
            finding.note("no handover could be held against it: each was void".into());
        }
        finding.headline(format!("detect {}; decide {}", words(detect), words(decide)));
        finding
    }
}

fn words(kept: Kept) -> String {
    let allowed = kept.allowed_ns.map_or_else(String::new, |ns| format!(" of {} allowed", duration(ns)));
    format!(
        "{} of {} late, longest {}{allowed} beyond its floor ({} void)",
        kept.late,
        kept.n,
        duration(kept.longest_ns),
        kept.void
    )
}

struct Judge<'i, 'a> {
    index: &'i Index<'a>,
    allowance: Allowance<'i, 'a>,
    /// Faults that may hold up who is not hit by them: few, where many hit one candidate each.
    on_others: Vec<&'i Fault<'a>>,
}

impl Judge<'_, '_> {
    fn loss(&self, loss: &Loss, finding: &mut Finding<Promptness>) {
        let index = self.index;
        let end = match loss.outcome {
            Outcome::Survived => return,
            Outcome::Censored { at } => at,
            Outcome::Completed { successor } => match index.terms.all[successor].granted {
                Some(granted) => granted,
                None => return,
            },
        };
        let fault = &index.faults.all[loss.fault];
        // What strikes when all of it was due excuses nothing.
        let waits =
            if index.info.leader_wakes() == Some(FanOut::None) { index.info.poll_interval_ms * 1_000_000 } else { 0 };
        let by = |due: Nanos| end.min(due + waits + 2 * self.allowance.handover((due, due)));
        let Some(due) = self.due(loss, fault, end).filter(|&due| !self.is_void(loss, by(due).max(loss.effect))) else {
            finding.section.detect.void += 1;
            finding.section.decide.void += 1;
            return;
        };
        if index.info.leader_wakes() == Some(FanOut::None) {
            return self.take(loss, (due + waits, end), finding, |promptness| &mut promptness.decide, "decided");
        }
        let told = index.woken(loss).first().filter(|notice| notice.t <= end).copied();
        let noticed = told.map_or(end, |notice| notice.t);
        self.take(loss, (due, noticed), finding, |promptness| &mut promptness.detect, "noticed");
        if let Some(told) = told {
            if self.cut_off(told.session, (told.t, end)) {
                finding.section.decide.void += 1;
            } else {
                self.take(loss, (told.t, end), finding, |promptness| &mut promptness.decide, "decided");
            }
        }
    }

    /// Holds what was due at one time and came at the other against the allowances.
    fn take(
        &self,
        loss: &Loss,
        (due, came): Span,
        finding: &mut Finding<Promptness>,
        kept: impl Fn(&mut Promptness) -> &mut Kept,
        what: &str,
    ) {
        let index = self.index;
        let took = came.saturating_sub(due);
        // Whoever is slow must not gain by what strikes meanwhile.
        let (each, half) = (self.allowance.handover((due, due)), self.allowance.median((due, due)));
        let stalled = self.allowance.stalled((loss.effect.min(due), came));
        let kept = kept(&mut finding.section);
        if took > half && stalled >= took - half {
            kept.void += 1;
            return;
        }
        let text = || {
            format!(
                "{}: the loss at {} was {what} {} later than it could be, and {} are allowed",
                index.group_name(loss.group),
                moment(index, loss.effect),
                duration(took),
                duration(each),
            )
        };
        // Sessions that ended in a stall are made anew after it.
        if took > each
            && let Some(stall) = index.felt_stall_of_group(loss.group, (due, came))
        {
            kept.void += 1;
            return finding.inconclusive(format!("{}{}", text(), did_not_run(index, stall)));
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

    /// When the loss can be noticed; None where the fault does not tell.
    fn due(&self, loss: &Loss, fault: &Fault<'_>, end: Nanos) -> Option<Nanos> {
        let facts = fault.kind.facts();
        if facts.hits == Hits::Candidates {
            let proven = fault.injected.as_ref().map_or(loss.effect, |proof| proof.to);
            return Some(loss.released.max(if loss.released > loss.effect { 0 } else { proven }));
        }
        if !facts.lets_sessions_expire {
            return None;
        }
        let floor =
            expiry_floor(self.index, loss, fault, end).map(|floor: Floor| floor.restarted.unwrap_or(floor.naive));
        // Whoever came back has a whole session before it again.
        let session = self.index.terms.all[loss.term].session;
        let since = self.index.candidates.reconnected_by(session, end).unwrap_or(0).max(loss.effect);
        Some(floor.map_or(since + self.allowance.expiry(), |floor| floor + 3 * self.index.tick / 2))
    }

    /// Whether something else may have held it up by `end`.
    fn is_void(&self, loss: &Loss, end: Nanos) -> bool {
        let (index, span) = (self.index, (loss.effect, end));
        let lost = &index.terms.all[loss.term];
        let acts = |fault: &Fault<'_>| fault.t <= span.1 && span.0 <= self.allowance.felt_until(fault);
        if index.servers.out_within(span) || index.faults.on_servers().any(acts) {
            return true;
        }
        // Links that are slow slow everybody down who is behind them.
        let slows = |fault: &Fault<'_>| fault.kind.facts().deafens && !fault.kind.facts().takes_out && acts(fault);
        if self.on_others.iter().copied().any(slows) {
            return true;
        }
        // Whoever had won by ZooKeeper's word, and was hit before it led.
        let struck = |session: i64| {
            let host = index.candidates.sessions.get(&session);
            let hits =
                |f: &&Fault<'_>| f.kind.takes_hosts_out() && host.is_some_and(|h| f.hosts.contains(h)) && acts(f);
            self.on_others.iter().any(hits)
        };
        let owners = index.reigns.within(loss.group, span).filter(|reign| span.0 < reign.span.0);
        if owners.filter(|reign| reign.czxid != Some(lost.czxid)).filter_map(|reign| reign.session).any(struck) {
            return true;
        }
        // What a whole group meets at once is the loss itself.
        let own = index.faults.all[loss.fault].id;
        let is_loss = |fault: &Fault<'_>| fault.id == own && fault.kind.hits_candidates();
        let felt = (span.0.saturating_sub(self.allowance.felt_after()), span.1);
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

/// The others that stood in the group at `at`: those behind the one with `czxid` in the queue, first come first; all of them
/// where there is none.
pub(super) fn in_line(index: &Index<'_>, group: u32, but: u32, czxid: i64, at: Nanos) -> Vec<u32> {
    let others = index.candidates.of_group(group).iter().filter(|&&cand| cand != but);
    let standing = others.filter_map(|&cand| index.candidates.standing(cand, at).map(|stand| (stand.czxid, cand)));
    let mut standing: Vec<(Option<i64>, u32)> =
        standing.filter(|(other, _)| other.is_none_or(|other| other > czxid)).collect();
    standing.sort_unstable();
    standing.into_iter().map(|(_, cand)| cand).collect()
}
