//! Did two incarnations of one group believe at once? `overlap = max(0, min(rᵢ⁻,rⱼ⁻) − max(aᵢ⁺,aⱼ⁺) − ε)` is certain, the
//! same on the outer brackets with +ε is possible. While a process is stopped its belief is latent.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::evidence::evidence;
use super::finding::Finding;
use super::section::Section;
use super::words::{bound, handovers, moment};
use crate::index::{BeliefSpanSelector, Handover, Index, Injection, LeadershipConfounder, Term};
use crate::stats::spans::{Span, total, union, within, without};
use crate::stats::{Distribution, Overlap, Rate, Samples, Tally};
use hustings_record::words::duration;
use hustings_record::{EvidenceSource, Expectation, Nanos};

/// Overlaps of beliefs, by what stands behind them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SplitBrain {
    /// Definite overlaps while both processes ran, each pair of terms once, against handovers with a rival, whose loser lived on
    /// and could still believe, and the injections behind them. Without the times in which a process of the two stalled for longer
    /// than T/10, and after them that in which whoever should have stepped down may go on (T/5, or 7/10 T where nothing gets
    /// through). Those of which that leaves nothing are in none of it.
    pub active: Rate,
    pub active_total_ns: Nanos,
    pub active_max_ns: Nanos,
    /// How many of the active ones nobody can promise not to be.
    pub excused: ExcusedOverlaps,
    /// Definite overlaps while one of the processes was stopped: a belief without acts.
    pub latent: u64,
    pub latent_max_ns: Nanos,
    /// Overlaps that the brackets neither prove nor exclude.
    pub possible: u64,
    /// Lengths of the definite active overlaps.
    pub lengths: Option<Distribution>,
}

/// Short overlaps that no recipe can promise not to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExcusedOverlaps {
    /// On the waking of a process that was stopped in that term, or before it under that session: over when its client must have
    /// looked around.
    pub waking: u64,
    /// After the ensemble ended a session by force, as long as its client could not hear of it. Both: T/5, for its server may
    /// lag; T/2 more behind a bad link, or while servers are hit.
    pub forced: u64,
}

impl ExcusedOverlaps {
    /// Waking and forced.
    #[must_use]
    pub fn total(self) -> u64 {
        self.waking + self.forced
    }
}

impl std::ops::AddAssign for ExcusedOverlaps {
    fn add_assign(&mut self, other: Self) {
        self.waking += other.waking;
        self.forced += other.forced;
    }
}

impl SplitBrain {
    /// Sums the counts of several cells of one configuration, with the lengths of all their active overlaps.
    #[must_use]
    pub(crate) fn pooled(cells: &[&Self], lengths: Samples) -> Self {
        let mut all = Self {
            active: Rate::pooled(cells.iter().map(|cell| cell.active)),
            lengths: lengths.distribution(),
            ..Self::default()
        };
        for cell in cells {
            let Self { active: _, lengths: _, active_total_ns, active_max_ns, .. } = cell;
            let Self { excused, latent, latent_max_ns, possible, .. } = cell;
            all.active_total_ns += active_total_ns;
            all.active_max_ns = all.active_max_ns.max(*active_max_ns);
            all.excused += *excused;
            all.latent += latent;
            all.latent_max_ns = all.latent_max_ns.max(*latent_max_ns);
            all.possible += possible;
        }
        all
    }
}

/// Lengths of a cell's definite active overlaps.
pub(crate) fn lengths(index: &Index<'_>) -> Samples {
    let mut active = pairs(index, -index.margin(), active_pieces);
    cut_stalls_out(index, &mut active);
    lengths_of(&active)
}

fn longest(pairs: &Pairs) -> Nanos {
    pairs.values().map(|pair| pair.length).max().unwrap_or(0)
}

fn lengths_of(active: &Pairs) -> Samples {
    let mut lengths = Samples::default();
    active.values().for_each(|pair| lengths.push(pair.length));
    lengths
}

impl Section for SplitBrain {
    const NAME: &'static str = "split-brain";
    const ABOUT: &'static str = "Did two candidates of one group believe to lead at the same time?";
    const RESTS_ON: &'static [EvidenceSource] = &[EvidenceSource::Report];

    fn check(index: &Index<'_>) -> Finding<Self> {
        let mut finding = Finding::default();
        let epsilon = index.margin();
        let mut active = pairs(index, -epsilon, active_pieces);
        let doubtful = cut_stalls_out(index, &mut active);
        let mut possible = pairs(index, epsilon, possible_pieces);
        possible.retain(|pair, _| !active.contains_key(pair) && !doubtful.contains_key(pair));
        let possible_max_ns = longest(&possible);
        let possible = possible.len() as u64;
        let (latent, latent_max_ns) = latent(index, epsilon);

        let result = Self {
            active: rate(index, &active, &doubtful),
            active_total_ns: active.values().map(|p| p.length).sum(),
            active_max_ns: longest(&active),
            excused: excused(index, &active),
            latent,
            latent_max_ns,
            possible,
            lengths: lengths_of(&active).distribution(),
        };
        judge(index, &mut finding, &result, doubtful.len());
        judge_lengths(index, &mut finding, &active, possible_max_ns);
        describe(index, &mut finding, &active);
        finding.headline(format!(
            "{} overlaps while both ran in {} whose loser lived on ({}), longest {}; {} latent, {} possible; {} verified orders of faults",
            result.active.seen,
            handovers(&result.active),
            bound(result.active.upper_95),
            duration(result.active_max_ns),
            latent,
            possible,
            index.verified_faults(),
        ));
        finding.section = result;
        finding
    }
}

/// Overlaps of one pair of terms.
#[derive(Default)]
struct TermPair {
    group: u32,
    length: Nanos,
    spans: Vec<Span>,
}

type Pairs = BTreeMap<(usize, usize), TermPair>;

/// Overlaps per handover in which they were possible; each belongs to the injection of its handover.
fn rate(index: &Index<'_>, active: &Pairs, doubtful: &Pairs) -> Rate {
    let handovers = index.handovers();
    // One of two overlapping terms may come from a change that is not a handover, or from no change.
    let came_of = |pair: &(usize, usize)| {
        let of = |term: usize| handovers.iter().find(move |h| h.successor == term);
        let grants = [pair.0, pair.1].map(|term| (index.terms.all[term].grant, term));
        of(grants[0].max(grants[1]).1).or_else(|| of(grants[0].min(grants[1]).1))
    };
    let told = |handover: &Handover, pairs: &BTreeSet<usize>| pairs.contains(&handover.successor);
    let successors = |pairs: &Pairs| pairs.keys().filter_map(came_of).map(|h| h.successor).collect::<BTreeSet<_>>();
    let (seen, unsure) = (successors(active), successors(doubtful));
    let mut tally: Tally<Injection> = Tally::default();
    for handover in &handovers {
        let void = told(handover, &unsure) || index.stalled_in(handover) || !index.left_a_rival(handover);
        if told(handover, &seen) || !void {
            tally.opportunity(handover.injection);
        }
    }
    active.keys().for_each(|pair| tally.saw(1, came_of(pair).map(|h| h.injection)));
    tally.rate()
}

fn judge(index: &Index<'_>, finding: &mut Finding<SplitBrain>, result: &SplitBrain, doubtful: usize) {
    let expect = &index.info.expect;
    let evidence = if result.possible > 0 {
        Err(format!("{} overlaps are possible: the brackets neither prove nor exclude them", result.possible))
    } else if doubtful == 0
        && result.active.n == 0
        && (expect.overlap == Expectation::Some || index.must_leave_rivals())
    {
        Err("nobody who had lost a lead could still believe to have it".into())
    } else {
        evidence(index)
    };
    let evidence = if expect.overlap == Expectation::Any { Ok(()) } else { evidence };
    let counted = expect.overlap.counted(result.active.seen, result.excused.total());
    match evidence {
        // Some of the overlaps left out may have been those that theory predicts.
        Ok(()) if doubtful > 0 && expect.overlap == Expectation::Some && counted == 0 => {}
        evidence => {
            finding.unsafe_as_expected = finding.judge(expect.overlap, counted, "overlaps of belief", evidence);
        }
    }
    if doubtful > 0 {
        finding.inconclusive_by_stall(format!(
            "{doubtful} overlaps left out: a process of the harness stalled throughout them"
        ));
    }
}

/// Where overlaps are allowed up to a length: compares the longest, and the longest possible one, with it.
fn judge_lengths(index: &Index<'_>, finding: &mut Finding<SplitBrain>, active: &Pairs, possible_max_ns: Nanos) {
    let expect = &index.info.expect;
    let Some(share) = expect.overlap_of_t_max.filter(|_| expect.overlap != Expectation::None) else { return };
    let Some(t) = index.timeout else {
        return finding.inconclusive("T is unknown: no session was established".into());
    };
    let of_t = |length: Nanos| length as f64 / t as f64;
    let is_longer = |length: Nanos| length as f64 > share * t as f64;
    let longest = longest(active);
    if is_longer(longest) {
        let text =
            format!("the longest overlap, {}, is {:.3} T; theory allows {share} T", duration(longest), of_t(longest));
        let undisturbed = longest_undisturbed(index, active);
        if is_longer(undisturbed) {
            finding.unsafe_as_expected = false;
            finding.fail(text);
        } else {
            let ran = duration(undisturbed);
            finding.inconclusive_by_stall(format!("{text}; in {ran} at most, nothing stalled and every server ran"));
        }
    }
    if is_longer(possible_max_ns) {
        let (possible, of_t) = (duration(possible_max_ns), of_t(possible_max_ns));
        finding.inconclusive(format!("an overlap of {possible}, {of_t:.3} T, is possible; theory allows {share} T"));
    }
}

/// The longest overlap by what is left of each without any stall of either process, or of one that is no host: many short ones keep a
/// leader from stepping down as a long one does. A process that was busy itself for most of a stall was kept from nothing. Times in
/// which a server did not run are left out too: it may be that of the leader that is to step down, since no event names that one.
fn longest_undisturbed(index: &Index<'_>, active: &Pairs) -> Nanos {
    let left = |(terms, pair): (&(usize, usize), &TermPair)| -> Nanos {
        let hosts = [terms.0, terms.1].map(|term| index.terms.all[term].host);
        let left = pair.spans.iter().map(|&span| {
            let stalls = index.lives.stalls_in(&hosts, span).filter(|stall| 2 * stall.waited > stall.own);
            let stalls = stalls.map(|stall| (stall.from, stall.to));
            let kept = stalls.chain(within(&index.servers.not_running, span)).collect();
            total(&without(span, &union(kept)))
        });
        left.sum()
    };
    active.iter().map(left).max().unwrap_or(0)
}

fn describe(index: &Index<'_>, finding: &mut Finding<SplitBrain>, active: &Pairs) {
    let mut worst: Vec<_> = active.iter().collect();
    worst.sort_by_key(|(_, pair)| std::cmp::Reverse(pair.length));
    for ((a, b), pair) in worst.into_iter().take(10) {
        let (a, b) = (&index.terms.all[*a], &index.terms.all[*b]);
        finding.note(format!(
            "{}: candidate {} on {} and candidate {} on {} both led for {} from {}",
            index.group_name(pair.group),
            a.cand,
            index.host_name(a.host),
            b.cand,
            index.host_name(b.host),
            duration(pair.length),
            moment(index, pair.spans.first().map_or(0, |s| s.0)),
        ));
    }
}

/// Sweeps every group over the pieces that `cut` makes of each term.
fn pairs(index: &Index<'_>, margin: i64, cut: BeliefSpanSelector) -> Pairs {
    let mut pairs = Pairs::new();
    for &group in index.terms.by_group.keys() {
        for Overlap { newcomer, other, from, to } in index.overlaps(group, margin, cut) {
            let pair = pairs.entry((newcomer.min(other), newcomer.max(other))).or_default();
            pair.group = group;
            pair.length += to - from;
            pair.spans.push((from, to));
        }
    }
    pairs
}

/// Where it certainly believed and its process certainly ran.
fn active_pieces(index: &Index<'_>, term: &Term<'_>) -> Vec<Span> {
    term.definite().map_or_else(Vec::new, |c| without(c, index.faults.stops_of(term.host)))
}

/// Where it may have believed while its process may have run.
fn possible_pieces(index: &Index<'_>, term: &Term<'_>) -> Vec<Span> {
    without(term.possible(), index.faults.certain_stops_of(term.host))
}

fn definite_pieces(_: &Index<'_>, term: &Term<'_>) -> Vec<Span> {
    term.definite().into_iter().collect()
}

/// Counts the overlaps that no recipe can prevent, by pair.
fn excused(index: &Index<'_>, active: &Pairs) -> ExcusedOverlaps {
    let mut excused = ExcusedOverlaps::default();
    for ((a, b), pair) in active {
        let terms = [a, b].map(|&term| &index.terms.all[term]);
        match index.leadership_confounder(&pair.spans, &terms) {
            Some(LeadershipConfounder::Waking) => excused.waking += 1,
            Some(LeadershipConfounder::Forced) => excused.forced += 1,
            None => {}
        }
    }
    excused
}

/// Cuts own stalls longer than T/10 of either process out of each overlap. The time for which the candidate that should
/// step down may continue after its stall is cut out too. Returns the overlaps of which nothing is left.
fn cut_stalls_out(index: &Index<'_>, active: &mut Pairs) -> Pairs {
    let mut doubtful = Pairs::new();
    for (terms, pair) in std::mem::take(active) {
        let stalled = stalled_parts(index, terms);
        let left: Vec<Span> = pair.spans.iter().flat_map(|&span| without(span, &stalled)).collect();
        if left.is_empty() {
            doubtful.insert(terms, pair);
        } else {
            active.insert(terms, TermPair { length: total(&left), spans: left, ..pair });
        }
    }
    doubtful
}

/// The candidate with the older token should have stepped down; either, if the order is unknown.
fn stalled_parts(index: &Index<'_>, terms: (usize, usize)) -> Vec<Span> {
    let (one, other) = (&index.terms.all[terms.0], &index.terms.all[terms.1]);
    let of = |term: &Term<'_>, rival: &Term<'_>| index.stalled(term, !term.is_newer_than(rival));
    union(of(one, other).into_iter().chain(of(other, one)).collect())
}

/// Number of certain overlaps with a part in which one of the processes was stopped, and the longest such part.
fn latent(index: &Index<'_>, epsilon: i64) -> (u64, Nanos) {
    let mut found = (0, 0);
    for ((a, b), pair) in pairs(index, -epsilon, definite_pieces) {
        let stops = [a, b].map(|term| index.faults.stops_of(index.terms.all[term].host));
        let parts = pair.spans.iter().flat_map(|&span| stops.iter().flat_map(move |stops| within(stops, span)));
        let length = total(&union(parts.collect()));
        if length > 0 {
            found = (found.0 + 1, found.1.max(length));
        }
    }
    found
}
