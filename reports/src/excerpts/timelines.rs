//! Selects the groups that are worth a picture, and its content: few groups, and few enough bars to draw.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::index::{Index, LossOutcome};
use crate::stats::spans::{Span, union, within};
use hustings_record::numbers::to_u32;
use hustings_record::{FaultKind, Nanos};

const TIMELINES_MAX: usize = 6;
/// Each reason gets two groups before the first reason gets more.
const PER_REASON: usize = 2;
const BARS_MAX: usize = 400;

/// Beliefs of one group over time, for a picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timeline {
    pub group: String,
    /// Why it was chosen.
    pub because: String,
    pub from: Nanos,
    pub to: Nanos,
    pub terms: Vec<TermBar>,
    /// Faults that hit candidates of this group.
    pub faults: Vec<FaultBand>,
    /// Times of stale writes: (t, host index, whether the fence stopped it).
    pub stale_writes: Vec<(Nanos, u16, bool)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TermBar {
    pub host: u16,
    pub candidate: u32,
    pub from: Nanos,
    pub to: Nanos,
    /// Parts in which the process was stopped.
    pub latent: Vec<(Nanos, Nanos)>,
    /// Parts that definitely overlap with another incarnation's term.
    pub overlap: Vec<(Nanos, Nanos)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultBand {
    pub kind: FaultKind,
    pub host: Option<u16>,
    pub from: Nanos,
    pub to: Nanos,
}

/// The groups that are worth a picture, worst first: the largest overlap, the longest leaderless time, the longest
/// failover. If there are none, the first group that a fault hit.
pub(crate) fn worst(index: &Index<'_>) -> Vec<Timeline> {
    let reasons = [overlaps(index), leaderless(index), failovers(index)];
    let mut chosen: Vec<(u32, Span, &str)> = Vec::new();
    let mut taken = BTreeSet::new();
    let first = reasons.iter().flat_map(|r| r.iter().take(PER_REASON));
    let rest = reasons.iter().flat_map(|r| r.iter().skip(PER_REASON));
    for &(_, group, span, because) in first.chain(rest) {
        if chosen.len() < TIMELINES_MAX && taken.insert(group) {
            chosen.push((group, span, because));
        }
    }
    if chosen.is_empty()
        && let Some((&group, places)) = index.faults.by_group.first_key_value()
    {
        chosen.push((group, index.faults.all[places[0]].active, "the first group that a fault met"));
    }
    chosen.into_iter().map(|(group, span, because)| picture(index, group, span, because)).collect()
}

/// Severity, group, span, reason.
type RankedSpans = Vec<(Nanos, u32, Span, &'static str)>;

fn ranked(worst: BTreeMap<u32, Span>, because: &'static str) -> RankedSpans {
    let mut ranked: RankedSpans = worst.into_iter().map(|(group, s)| (s.1 - s.0, group, s, because)).collect();
    ranked.sort_by_key(|r| (std::cmp::Reverse(r.0), r.1));
    ranked.truncate(TIMELINES_MAX);
    ranked
}

fn keep_longest(worst: &mut BTreeMap<u32, Span>, group: u32, span: Span) {
    let best = worst.entry(group).or_insert(span);
    if span.1 - span.0 > best.1 - best.0 {
        *best = span;
    }
}

fn overlaps(index: &Index<'_>) -> RankedSpans {
    let mut worst = BTreeMap::new();
    for &group in index.terms.by_group.keys() {
        for overlap in index.definite_overlaps(group) {
            keep_longest(&mut worst, group, (overlap.from, overlap.to));
        }
    }
    ranked(worst, "the longest overlap of beliefs")
}

fn leaderless(index: &Index<'_>) -> RankedSpans {
    let Some(window) = index.window() else { return RankedSpans::new() };
    let mut worst = BTreeMap::new();
    for group in 0..to_u32(index.info.groups.len()) {
        for gap in index.terms.leaderless(group, window) {
            keep_longest(&mut worst, group, gap);
        }
    }
    ranked(worst, "the longest time without a leader")
}

fn failovers(index: &Index<'_>) -> RankedSpans {
    let mut worst = BTreeMap::new();
    for loss in &index.losses.all {
        let until = match loss.outcome {
            LossOutcome::Completed { successor } => index.terms.all[successor].granted.unwrap_or(loss.effect),
            LossOutcome::Censored { at } => at,
            LossOutcome::Survived => continue,
        };
        keep_longest(&mut worst, loss.group, (loss.effect, until.max(loss.effect)));
    }
    ranked(worst, "the longest failover")
}

/// The group's beliefs around `span`.
fn picture(index: &Index<'_>, group: u32, span: Span, because: &str) -> Timeline {
    let margin = index.timeout_or_asked().max((span.1 - span.0) / 4);
    // A term may be stamped with times before the cell.
    let begin = index.span.0.min(span.0);
    let window = (span.0.saturating_sub(margin).max(begin), (span.1 + margin).min(index.span.1));
    let shown = |s: Span| s.0 <= window.1 && s.1 >= window.0;
    let mut overlaps: BTreeMap<usize, Vec<Span>> = BTreeMap::new();
    for overlap in index.definite_overlaps(group) {
        for term in [overlap.newcomer, overlap.other] {
            overlaps.entry(term).or_default().push((overlap.from, overlap.to));
        }
    }
    let terms = index.terms.of_group(group).iter().map(|&place| (place, &index.terms.all[place]));
    let bars = terms.filter(|(_, t)| shown(t.possible())).take(BARS_MAX).map(|(place, term)| {
        let (from, to) = (term.granted.unwrap_or(term.grant).max(window.0), term.ended.0.min(window.1));
        let bar = (from, to.max(from));
        TermBar {
            host: term.host,
            candidate: term.cand,
            from: bar.0,
            to: bar.1,
            latent: within(index.faults.stops_of(term.host), bar),
            overlap: within(&union(overlaps.remove(&place).unwrap_or_default()), bar),
        }
    });
    let terms = bars.collect();
    let stale = index.writing.all().filter(|w| w.group == group && (w.found.stale || w.found.past));
    let mut stale_writes: Vec<_> = stale.map(|w| (w.t, w.host, w.found.rejected)).collect();
    stale_writes.retain(|w| shown((w.0, w.0)));
    stale_writes.truncate(BARS_MAX);
    let (from, to) = window;
    let faults = faults(index, group, window);
    Timeline { group: index.group_name(group), because: because.to_owned(), from, to, terms, faults, stale_writes }
}

/// Faults on candidates are shown on their hosts' rows. Faults on servers hit no host, and are shown on every row.
fn faults(index: &Index<'_>, group: u32, window: Span) -> Vec<FaultBand> {
    let mut bands = Vec::new();
    for fault in index.faults.on_servers() {
        let from = fault.injected.as_ref().map_or(fault.t, |p| p.from);
        let to = fault.active.1.max(from);
        if from <= window.1 && to >= window.0 {
            bands.push(FaultBand { kind: fault.kind, host: None, from: from.max(window.0), to: to.min(window.1) });
        }
    }
    for fault in index.faults.of_group(group) {
        let from = fault.injected.as_ref().map_or(fault.t, |p| p.from);
        let to = fault.active.1.max(from);
        if from > window.1 || to < window.0 {
            continue;
        }
        // The hosts that the fault hit through candidates of this group.
        let mut hosts: BTreeSet<Option<u16>> = BTreeSet::new();
        for cand in index.candidates.of_group(group).iter().filter(|&&c| fault.hits(c)) {
            hosts.insert(index.candidates.all.get(cand).map(|c| c.host));
        }
        let band = |host| FaultBand { kind: fault.kind, host, from: from.max(window.0), to: to.min(window.1) };
        bands.extend(hosts.into_iter().map(band));
        if bands.len() >= BARS_MAX {
            break;
        }
    }
    bands.truncate(BARS_MAX);
    bands
}
