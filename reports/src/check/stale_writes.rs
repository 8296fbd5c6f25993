//! Did the resource accept a write that it should not have? This needs no clock, since the resource orders writes. A
//! write is stale if an earlier accepted one bore a higher token, or the same token from another incarnation. Both
//! ledgers are recomputed from the writes and compared with the coordinator's.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::evidence::evidence;
use super::finding::Finding;
use super::lead_pairs::LeadPairs;
use super::reordered_writes::misread;
use super::section::Section;
use super::words::{bound, handovers, moment};
use crate::index::{Ending, Handover, HandoverLookup, Index, Injection, JudgedWrite, ResourceWrite, WriteKey};
use crate::stats::spans::{Span, union};
use crate::stats::{Rate, Tally};
use hustings_record::{EvidenceSource, Expectation, Fencing, ProcessFate, RevokeReason};

/// Writes at the resource, and which of them it should not have taken.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Writes {
    pub total: u64,
    /// Stale writes that the unfenced ledger accepted: what a resource without a fence would have suffered. Against handovers
    /// with a rival, whose loser lived on and could still write, and the injections behind them.
    pub unfenced: Rate,
    /// How many of these nobody can promise not to be: those of a leader whose process was woken a moment ago, or whose session
    /// was ended by force a moment ago.
    #[serde(default)]
    pub excused: u64,
    /// Writes that the fence rejected (not violations).
    pub fenced_off: u64,
    /// Stale writes that got past the fence, against the same.
    pub past_fence: Rate,
    /// Left out of all of this: stale writes that may be so by a stall of the harness alone.
    #[serde(default)]
    pub misread: u64,
    /// Writes tried by a candidate between the waking of its process and its stepping down.
    pub on_waking: u64,
    /// Writes whose token nobody knows: no ledger can say of them whether they are stale.
    #[serde(default)]
    pub unordered: u64,
    /// Leads whose writes met at the resource, by the order of their arrival alone.
    #[serde(default)]
    pub met: LeadPairs,
}

impl Writes {
    /// Sums the counts of several cells of one configuration.
    #[must_use]
    pub(crate) fn pooled(cells: &[&Self]) -> Self {
        let mut all = Self {
            unfenced: Rate::pooled(cells.iter().map(|cell| cell.unfenced)),
            past_fence: Rate::pooled(cells.iter().map(|cell| cell.past_fence)),
            ..Self::default()
        };
        for cell in cells {
            let Self { unfenced: _, past_fence: _, total, excused, fenced_off, misread, on_waking, unordered, met } =
                cell;
            all.unordered += unordered;
            all.met = all.met.merged(*met);
            all.total += total;
            all.excused += excused;
            all.fenced_off += fenced_off;
            all.misread += misread;
            all.on_waking += on_waking;
        }
        all
    }
}

impl Section for Writes {
    const NAME: &'static str = "stale-writes";
    const ABOUT: &'static str = "Did the resource take a write of a leader that had been succeeded?";
    const RESTS_ON: &'static [EvidenceSource] = &[EvidenceSource::Effect, EvidenceSource::Wire];

    fn check(index: &Index<'_>) -> Finding<Self> {
        let mut finding = Finding::default();
        let misread = misread(index);
        let counts = count(index, &misread);
        let total = (index.writing.count() - misread.len()) as u64;
        let on_waking = on_waking(index);
        let writes = Self {
            total,
            unfenced: rate(index, &misread, |judged| judged.stale),
            excused: counts.excused,
            fenced_off: counts.rejected,
            past_fence: rate(index, &misread, |judged| judged.past),
            misread: misread.len() as u64,
            on_waking,
            unordered: index.writing.all().filter(|work| !work.is_ordered()).count() as u64,
            met: LeadPairs::of(index),
        };
        let (counted, ledger) = match index.info.fencing {
            Fencing::Fenced => (writes.past_fence, "past the fence"),
            Fencing::Unfenced => (writes.unfenced, "accepted by the unfenced ledger"),
        };
        // An expectation of excused writes only must count all others, fenced off or not.
        let expected = index.info.expect.stale_writes;
        let (seen, ledger) = match expected {
            Expectation::Excused if writes.past_fence.seen == 0 => {
                (expected.counted(counts.stale, counts.excused), "accepted by the unfenced ledger")
            }
            Expectation::Excused | Expectation::None | Expectation::Some | Expectation::Any => (counted.seen, ledger),
        };
        let evidence = if total == 0 {
            Err("nothing was ever written".into())
        } else if counted.n == 0 && (expected == Expectation::Some || index.must_leave_rivals()) {
            Err("nobody who had lost a lead could still write".into())
        } else {
            evidence(index)
        };
        let what = format!("stale writes {ledger}");
        finding.unsafe_as_expected = finding.judge(expected, seen, &what, evidence);
        harness(index, &mut finding, &counts);
        if counts.left_out > 0 {
            let text = format!("{} writes left out: a stall of the harness may have made them stale", counts.left_out);
            finding.inconclusive_by_stall(text);
        }
        if writes.unordered > 0 {
            let text = format!("{} writes bear no token: nobody knows whether they are stale", writes.unordered);
            finding.inconclusive(text);
        }
        for work in &counts.shown {
            finding.note(format!(
                "{}: stale write {} by candidate {} on {} with czxid {:#x} at {}",
                index.group_name(work.group),
                work.seq,
                work.cand,
                index.host_name(work.host),
                work.czxid,
                moment(index, work.t),
            ));
        }
        finding.headline(format!(
            "{} of {total} writes stale {ledger}, in {} whose loser could still write ({}); unfenced {}, fenced off {}, past \
             the fence {}; {on_waking} on waking; {}; {} verified orders of faults",
            counted.seen,
            handovers(&counted),
            bound(counted.upper_95),
            counts.stale,
            counts.rejected,
            counts.past,
            writes.met,
            index.verified_faults(),
        ));
        finding.section = writes;
        finding
    }
}

#[derive(Default)]
struct StaleWriteCounts {
    stale: u64,
    /// Of the stale ones.
    excused: u64,
    rejected: u64,
    past: u64,
    /// Misread writes that the judged ledger would have counted.
    left_out: u64,
    differing: u64,
    first_differing: Option<ResourceWrite>,
    /// The first few stale writes of the judged ledger.
    shown: Vec<ResourceWrite>,
}

/// Stale writes of one ledger per handover in which they were possible. Handovers with a stalled process and no stale
/// write are left out.
fn rate(index: &Index<'_>, misread: &BTreeSet<u64>, stale: impl Fn(&JudgedWrite) -> bool) -> Rate {
    let handovers = index.handovers();
    let blamed = HandoverLookup::new(index, &handovers);
    let mut seen: BTreeMap<usize, u64> = BTreeMap::new();
    let mut left_out: BTreeSet<usize> = BTreeSet::new();
    // Stale writes that no handover accounts for: each writer is a case of its own.
    let mut strays: BTreeMap<WriteKey, u64> = BTreeMap::new();
    for work in index.writing.all().filter(|work| stale(&work.found)) {
        let writer = (work.cand, work.session, work.czxid);
        let handover = blamed.by_write(writer, work.group, work.t);
        if misread.contains(&work.seq) {
            left_out.extend(handover);
            continue;
        }
        match handover {
            Some(handover) => *seen.entry(handover).or_default() += 1,
            None => *strays.entry(writer).or_default() += 1,
        }
    }
    let mut tally: Tally<Injection> = Tally::default();
    let possible = |handover: &Handover| index.left_a_rival(handover) && !index.stalled_in(handover);
    for (place, handover) in handovers.iter().enumerate() {
        let times = seen.get(&place).copied();
        if times.is_some() || possible(handover) && !left_out.contains(&place) {
            tally.opportunity(handover.injection);
        }
        times.into_iter().for_each(|times| tally.saw(times, Some(handover.injection)));
    }
    strays.into_values().for_each(|times| tally.saw(times, None));
    tally.rate()
}

/// Reports evidence that the ledger itself is unreliable.
fn harness(index: &Index<'_>, finding: &mut Finding<Writes>, counts: &StaleWriteCounts) {
    let writing = &index.writing;
    if writing.doubled > 0 {
        finding.fail(format!("harness: {} writes bear a number that another one bears", writing.doubled));
    }
    if writing.missing > 0 {
        finding.inconclusive(format!("{} writes are missing from the record", writing.missing));
    }
    if let Some(work) = &counts.first_differing {
        let text = format!(
            "harness: the coordinator judged {} writes otherwise than their order says; the first is number {}",
            counts.differing, work.seq
        );
        // With writes missing, the order holds less information than the coordinator had.
        if writing.missing > 0 { finding.inconclusive(text) } else { finding.fail(text) }
    }
}

fn count(index: &Index<'_>, misread: &BTreeSet<u64>) -> StaleWriteCounts {
    let mut counts = StaleWriteCounts::default();
    for work in index.writing.all() {
        let JudgedWrite { mut stale, rejected, mut past } = work.found;
        if misread.contains(&work.seq) {
            counts.left_out += u64::from(past || index.info.fencing == Fencing::Unfenced);
            (stale, past) = (false, false);
        }
        counts.stale += u64::from(stale);
        counts.excused += u64::from(stale && index.write_confounder(&work).is_some());
        counts.rejected += u64::from(rejected);
        counts.past += u64::from(past);
        if work.found != work.told {
            counts.differing += 1;
            counts.first_differing.get_or_insert(work);
        }
        let counted = match (index.info.expect.stale_writes, index.info.fencing) {
            (Expectation::Excused, _) => past || stale && index.write_confounder(&work).is_none(),
            (_, Fencing::Fenced) => past,
            (_, Fencing::Unfenced) => stale,
        };
        if counted && counts.shown.len() < 10 {
            counts.shown.push(work);
        }
    }
    counts
}

/// Writes tried by candidates whose process had been stopped, between its waking and their stepping down.
fn on_waking(index: &Index<'_>) -> u64 {
    // Two stops may fall within one term: a write tried after both counts once.
    let mut woken: BTreeMap<WriteKey, Vec<Span>> = BTreeMap::new();
    for fault in index.faults.all.iter().filter(|f| f.kind.facts().process == ProcessFate::Stopped) {
        let (Some(injected), Some(healed)) = (&fault.injected, &fault.healed) else { continue };
        for &cand in &fault.cands {
            let Some(term) = index.terms.held_by(cand, injected.from) else { continue };
            let term = &index.terms.all[term];
            // A candidate that still believes long after the waking did not step down because of the pause.
            if term.ended.1 >= healed.from && term.ended.0 <= fault.explains_until && stepped_down(term.ending) {
                let key = (cand, term.session, term.czxid);
                woken.entry(key).or_default().push((healed.from, term.ended.1));
            }
        }
    }
    let spans = woken.into_iter().flat_map(|(key, spans)| union(spans).into_iter().map(move |span| (key, span)));
    spans.map(|(key, (from, to))| index.writing.tried(key, from, to).len() as u64).sum()
}

fn stepped_down(ending: Ending) -> bool {
    use RevokeReason as R;
    matches!(ending, Ending::Revoked(R::SteppedDown | R::SessionEnded | R::Deposed))
}
