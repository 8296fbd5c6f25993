//! Do leaders do effective work? Leadership is worth the writes that the resource accepts. Reported are times without
//! an accepted write per group, owners whose writes are refused, and leaders that never write.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::evidence::{demanded, evidence, share_of_group_time};
use super::finding::Finding;
use super::section::Section;
use super::words::moment;
use crate::index::{Index, ResourceWrite, Term, WriteKey};
use crate::stats::spans::{Span, total, union, without};
use crate::stats::{DurationCounter, Quantiles};
use hustings_record::numbers::to_u32;
use hustings_record::words::duration;
use hustings_record::{EvidenceSource, Nanos};

/// A leader is silent if it attempts no write for this many intervals plus the margin for a busy machine.
const SILENT_INTERVALS: u64 = 10;
const MARGIN_NS: Nanos = 1_000_000_000;

/// What leaders brought about at the resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EffectSection {
    /// Share of the measured group-time without an accepted write: of each time from one to the next, what is longer than
    /// the interval in which leaders write.
    pub without_write: f64,
    /// The longest time from one accepted write of a group to its next, or to an end of the measured window.
    pub longest_ns: Nanos,
    pub longest_group: Option<String>,
    /// From one accepted write of a group to its next, in the measured window.
    #[serde(default)]
    pub between: Option<Quantiles>,
    /// Writes that were refused although their leader owned the lead, and in how many terms.
    pub refused: u64,
    pub refused_terms: u64,
    /// Terms that lasted long enough for a write, and in which none was tried.
    pub mute_terms: u64,
    /// Terms that lasted long enough for a write, and whose first one came later than that.
    #[serde(default)]
    pub late_terms: u64,
    /// Terms in which none was tried for that long in between, or at the end.
    #[serde(default)]
    pub fallen_silent: u64,
    /// Terms that lasted long enough for a write: ten intervals and a second, in which nothing kept their process from it.
    pub terms: u64,
    /// Leads that were believed in from the beginning to the end of a hang of their work, and the longest of those hangs.
    #[serde(default)]
    pub hung_leads: u64,
    #[serde(default)]
    pub hung_longest_ns: Nanos,
}

impl Section for EffectSection {
    const NAME: &'static str = "effect";
    const ABOUT: &'static str = "Did leaders do their work: were their writes sent, and accepted?";
    const RESTS_ON: &'static [EvidenceSource] = &[EvidenceSource::Effect];

    fn check(index: &Index<'_>) -> Finding<Self> {
        let mut finding = Finding::default();
        let Some(window) = demanded(index, &mut finding) else { return finding };
        gaps(index, window, &mut finding.section);
        silent(index, window, &mut finding);
        refused(index, &mut finding);
        hung(index, &mut finding);
        let EffectSection { without_write, longest_ns, refused, refused_terms, terms, .. } = finding.section;
        let EffectSection { mute_terms, late_terms, fallen_silent, hung_leads, hung_longest_ns, .. } = finding.section;
        let hung = match hung_leads {
            0 => String::new(),
            some => format!("; {some} leads kept through a hang, of {} at most", duration(hung_longest_ns)),
        };
        finding.headline(format!(
            "without an accepted write {:.3} % of the time, longest {}; {mute_terms} of {terms} terms never wrote, \
             {late_terms} late, {fallen_silent} no more; {refused} writes of {refused_terms} owners refused{hung}",
            without_write * 100.0,
            duration(longest_ns),
        ));
        finding
    }
}

fn gaps(index: &Index<'_>, window: Span, effect: &mut EffectSection) {
    let mut written: BTreeMap<u32, Vec<Nanos>> = BTreeMap::new();
    for work in index.writing.all().filter(|work| index.writing.accepts(work.found)) {
        written.entry(work.group).or_default().push(work.t);
    }
    let interval = index.info.work_interval_ms * 1_000_000;
    let (mut sum, mut between) = (0_u64, DurationCounter::default());
    for group in 0..to_u32(index.info.groups.len()) {
        let times = written.entry(group).or_default();
        times.sort_unstable();
        let first = times.partition_point(|&t| t < window.0);
        let last = times.partition_point(|&t| t <= window.1).max(first);
        times[first..last].windows(2).for_each(|pair| between.push(pair[1] - pair[0]));
        let inside = times.iter().copied().filter(|&t| window.0 <= t && t <= window.1);
        let mut before = window.0;
        for t in inside.chain([window.1]) {
            let gap = t - before;
            before = t;
            sum += gap.saturating_sub(interval);
            if gap > effect.longest_ns {
                effect.longest_ns = gap;
                effect.longest_group = Some(index.group_name(group));
            }
        }
    }
    effect.between = between.tallied();
    effect.without_write = share_of_group_time(index, sum, window).unwrap_or(0.0);
}

/// Leaders that had time to write and did not try: never, too late at first, or no longer.
fn silent(index: &Index<'_>, window: Span, finding: &mut Finding<EffectSection>) {
    let enough = SILENT_INTERVALS * index.info.work_interval_ms * 1_000_000 + MARGIN_NS;
    // A process in an own stall writes nothing, and a coordinator in one records nothing.
    let stalls = |host: u16| -> Vec<Span> {
        let own = [host];
        let stalls = index.lives.stalls_in(&own, index.span).filter(|stall| stall.own > MARGIN_NS / 10);
        stalls.map(|stall| (stall.from, stall.to)).collect()
    };
    let mut kept: BTreeMap<u16, Vec<Span>> = BTreeMap::new();
    for term in &index.terms.all {
        let theirs =
            || [index.faults.stops_of(term.host), index.faults.hangs_of(term.host), &stalls(term.host)].concat();
        kept.entry(term.host).or_insert_with(|| union(theirs()));
    }
    let able = |term: &Term<'_>, (from, to): Span| -> Nanos {
        total(&without((from, to.min(window.1).max(from)), &kept[&term.host]))
    };
    // Many short stalls add up on a busy machine.
    let undisturbed = |term: &Term<'_>, (from, to): Span| -> Nanos {
        let span = (from, to.min(window.1).max(from));
        let short = index.lives.stall_spans(&[term.host], span);
        total(&without(span, &union([&kept[&term.host][..], &short].concat())))
    };
    for term in &index.terms.all {
        let Some(led) = term.definite().filter(|&led| able(term, led) >= enough) else { continue };
        let section = &mut finding.section;
        section.terms += 1;
        let tried = index.writing.tried(key(term), led.0, led.1);
        let ends = tried.iter().copied().chain([led.1]);
        let pauses = std::iter::once(led.0).chain(tried.iter().copied()).zip(ends);
        // Most pauses are short and need no further check.
        let long = pauses.filter(|pause| pause.1 - pause.0 >= enough && able(term, *pause) >= enough);
        let long: Vec<Span> = long.collect();
        let worst = long.iter().find(|pause| undisturbed(term, **pause) >= enough).or(long.first());
        let Some(&(from, to)) = worst else { continue };
        let (count, what) = match (tried.is_empty(), from == led.0) {
            (true, _) => (&mut section.mute_terms, "led and never wrote by its own token, for"),
            (false, true) => (&mut section.late_terms, "led and did not write at first, for"),
            (false, false) => (&mut section.fallen_silent, "led on and wrote no more, for"),
        };
        *count += 1;
        let text = format!(
            "{}: candidate {} on {} {what} {} from {}",
            index.group_name(term.group),
            term.cand,
            index.host_name(term.host),
            duration(able(term, (from, to))),
            moment(index, from),
        );
        // A missing write, or one with an unknown token, may belong to this term.
        let unknown = !term.is_known() || index.writing.has_unknown(term.incarnation());
        let ran = undisturbed(term, (from, to));
        if index.writing.missing > 0 || unknown {
            finding.inconclusive(text);
        } else if ran < enough {
            finding.inconclusive_by_stall(format!("{text}; in {} of that, nothing stalled", duration(ran)));
        } else {
            finding.fail(text);
        }
    }
}

/// Terms kept through a hang of their work, which blocked other candidates for no effect.
fn hung(index: &Index<'_>, finding: &mut Finding<EffectSection>) {
    let mut kept = Vec::new();
    for term in &index.terms.all {
        let Some(led) = term.definite() else { continue };
        for hang in index.faults.certain_hangs_of(term.host).iter().filter(|hang| led.0 <= hang.0 && hang.1 <= led.1) {
            finding.section.hung_leads += 1;
            finding.section.hung_longest_ns = finding.section.hung_longest_ns.max(hang.1 - hang.0);
            kept.push(format!(
                "{}: candidate {} on {} kept the lead through a hang of its work, for {} from {}",
                index.group_name(term.group),
                term.cand,
                index.host_name(term.host),
                duration(hang.1 - hang.0),
                moment(index, hang.0),
            ));
        }
    }
    if let Some(expected) = index.info.expect.hung_leads {
        finding.judge(expected, finding.section.hung_leads, "leads kept through a hang", evidence(index));
    }
    kept.into_iter().for_each(|text| finding.note(text));
}

fn key(term: &Term<'_>) -> WriteKey {
    (term.cand, term.session, term.czxid)
}

/// Writes that the fence refused while ZooKeeper named their leader as the owner.
fn refused(index: &Index<'_>, finding: &mut Finding<EffectSection>) {
    let mut worst: BTreeMap<WriteKey, (u64, ResourceWrite)> = BTreeMap::new();
    for work in index.writing.all().filter(|work| !index.writing.accepts(work.found)) {
        let Some(term) = index.terms.held_by(work.cand, work.t).map(|term| &index.terms.all[term]) else { continue };
        let believed = term.definite().is_some_and(|c| c.0 <= work.t && work.t <= c.1);
        let owns = || index.intervals.at(work.group, work.t).is_some_and(|interval| interval.is_of(term));
        if key(term) == (work.cand, work.session, work.czxid) && believed && owns() {
            worst.entry(key(term)).or_insert((0, work)).0 += 1;
        }
    }
    for (count, first) in worst.values() {
        finding.section.refused += count;
        finding.section.refused_terms += 1;
        finding.fail(format!(
            "{}: {count} writes of candidate {} on {} were refused though it owned the lead, the first at {}",
            index.group_name(first.group),
            first.cand,
            index.host_name(first.host),
            moment(index, first.t),
        ));
    }
}
