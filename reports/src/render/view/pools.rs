//! Configurations that were run several times, each in one line: the figures of all repetitions together, how far their medians
//! are apart, and what did not enter.

use std::borrow::Cow;

use serde::Serialize;

use super::facts::{DistributionLine, distributions};
use super::parts::FEW;
use super::row::{CellRow, has_p99, samples, shared, tail_name};
use crate::render::differing_parameters::DifferingParameters;
use crate::render::{clean, format};
use crate::sound::round;
use crate::state::{State, StateBadge};
use crate::summary::{CellSummary, Medians, OutageShare, Pool, PooledRepetition, Summary};
use crate::verdict::Verdict;
use hustings_record::{CellInfo, ComparisonSide};

/// Repetitions that are listed one by one.
const LISTED_MAX: usize = 100;

#[derive(Serialize)]
pub(crate) struct PoolRow {
    /// Its figures as those of a cell.
    pub(crate) row: CellRow,
    /// `5`, or `4 of 5`: how many repetitions are in the figures.
    pub(crate) entered: String,
    /// How many repetitions show its verdict, to be read after that: `1 of 5`. If none does, how many are pooled: `only 4
    /// of 5`.
    pub(crate) show_it: String,
    /// The least and the most of the repetitions' own medians.
    pub(crate) least: String,
    pub(crate) most: String,
    /// What is not in the figures, and which of them rest on few samples; empty where neither is so.
    pub(crate) left_out: String,
    without_leader: String,
    without_write: String,
    durations: Vec<DistributionLine>,
    repetitions: Vec<RepeatedLine>,
    more: usize,
}

#[derive(Serialize)]
struct RepeatedLine {
    anchor: String,
    number: u32,
    p50: String,
    n: String,
    pooled: bool,
    state: StateBadge,
}

/// All pools, the name of their column of tails, and what all of them share.
pub(crate) fn pooled(summary: &Summary) -> (Vec<PoolRow>, &'static str, String) {
    let cells = of_pools(summary);
    let each = || cells.iter().map(|(_, cell)| cell);
    let (has_p99, apart) = (has_p99(each()), DifferingParameters::of(each()));
    let rows = cells.iter().enumerate().map(|(i, (pool, cell))| {
        let row = CellRow { anchor: format!("pool-{}", i + 1), ..CellRow::new(i, cell, &apart, has_p99) };
        pool_row(summary, pool, cell, row)
    });
    (rows.collect(), tail_name(has_p99), shared(&apart, each()))
}

/// The summary as it is of configurations: of those that were run several times the pool stands in the place of the cells.
pub(crate) fn configurations(summary: &Summary) -> Cow<'_, Summary> {
    if summary.pools.is_empty() {
        return Cow::Borrowed(summary);
    }
    let alone = summary.cells.iter().filter(|cell| cell.info.repetition.is_none()).cloned();
    let cells = of_pools(summary).into_iter().map(|(_, cell)| cell).chain(alone).collect();
    let (manifest, pools, notes) = (summary.manifest.clone(), Vec::new(), Vec::new());
    let (verdict, whole, recorded_ns, replays) = (summary.verdict, summary.whole, summary.recorded_ns, Vec::new());
    Cow::Owned(Summary { verdict, whole, manifest, recorded_ns, notes, pools, cells, replays })
}

fn of_pools(summary: &Summary) -> Vec<(&Pool, CellSummary)> {
    let place = |pool: &Pool| {
        let first = pool.repetitions.first()?;
        summary.cells.iter().find(|cell| cell.info.name == first.cell)
    };
    let mut pools: Vec<(&Pool, &CellSummary)> =
        summary.pools.iter().filter_map(|pool| Some((pool, place(pool)?))).collect();
    base_first(&mut pools, |(_, first)| *first);
    pools.into_iter().map(|(pool, first)| (pool, as_cell(pool, first))).collect()
}

/// Of two sides the base's before the new one's: rounds begin with either.
fn base_first<'a, T>(all: &mut [T], cell: impl Fn(&T) -> &'a CellSummary) {
    let pair = |one: &T| Some((&cell(one).info.contest.as_ref()?.pair, round(cell(one))));
    let is_new = |one: &T| cell(one).info.contest.as_ref().is_some_and(|contest| contest.side == ComparisonSide::New);
    let pairs = all.chunk_by_mut(|one, next| pair(one).is_some() && pair(one) == pair(next));
    pairs.for_each(|sides| sides.sort_by_key(is_new));
}

/// A pool as a cell of its configuration. What pools say nothing of is that of no cell either, and of no use.
fn as_cell(pool: &Pool, first: &CellSummary) -> CellSummary {
    let mut cell = CellSummary::of(first.info.clone(), pool.timeout_ms);
    (cell.info.name, cell.info.repetition) = (pool.name.clone(), None);
    (cell.verdict, cell.unsafe_as_expected) = (pool.verdict, pool.unsafe_as_expected);
    cell.handovers = pool.handovers;
    cell.failover = pool.failover.clone();
    cell.split_brain = pool.split_brain.clone();
    cell.writes = pool.writes.clone();
    cell
}

fn pool_row(summary: &Summary, pool: &Pool, cell: &CellSummary, mut row: CellRow) -> PoolRow {
    let (least, most) = medians(pool.medians.as_ref());
    if has_few(pool) {
        row.p50.push_str(" (few)");
    }
    PoolRow {
        entered: if pool.is_whole() {
            pool.planned.to_string()
        } else {
            format!("{} of {}", pool.pooled, pool.planned)
        },
        show_it: show_it(pool, &cell.info),
        least,
        most,
        left_out: left_out(pool),
        without_leader: without(pool.without_leader.as_ref()),
        without_write: without(pool.without_write.as_ref()),
        durations: distributions(cell).0,
        repetitions: pool.repetitions.iter().take(LISTED_MAX).map(|one| repeated(summary, one, &cell.info)).collect(),
        more: pool.repetitions.len().saturating_sub(LISTED_MAX),
        row,
    }
}

/// How many repetitions show what the pool's verdict says.
fn show_it(pool: &Pool, info: &CellInfo) -> String {
    let state = State::of(pool.verdict, pool.unsafe_as_expected, info);
    let same = pool.repetitions.iter().filter(|one| State::of(one.verdict, one.unsafe_as_expected, info) == state);
    match same.count() {
        // It is so for what is missing alone.
        0 => format!("only {} of {}", pool.pooled, pool.planned),
        n => format!("{n} of {}", pool.planned),
    }
}

/// Whether its times rest on fewer failovers than anybody should quote.
fn has_few(pool: &Pool) -> bool {
    pool.failover.measured().is_some_and(|whole| whole.samples() < FEW)
}

fn left_out(pool: &Pool) -> String {
    let told: Vec<String> = [incomplete(pool), few(pool)].into_iter().flatten().collect();
    if told.is_empty() { String::new() } else { format!("{}: {}", clean::short(&pool.name, 60), told.join("; ")) }
}

fn few(pool: &Pool) -> Option<String> {
    let whole = pool.failover.measured().filter(|_| has_few(pool))?;
    let failovers = format::plural(whole.samples(), "failover", "failovers");
    let void = match pool.failover.void {
        0 => String::new(),
        void => format!(", and {} more are void by stalls", format::count(void)),
    };
    Some(format!("its times are of {failovers}{void}"))
}

fn incomplete(pool: &Pool) -> Option<String> {
    if pool.is_whole() {
        return None;
    }
    let broken: Vec<String> =
        pool.repetitions.iter().filter(|one| !one.pooled).map(|one| clean::short(&one.cell, 60)).collect();
    let missing = (pool.planned as usize).saturating_sub(pool.repetitions.len());
    let mut why = Vec::new();
    if !broken.is_empty() {
        let more = if broken.len() > 5 { format!(" and {} more", broken.len() - 5) } else { String::new() };
        let named = broken.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
        why.push(format!("{named}{more} did not end in order, or lost events"));
    }
    if missing > 0 {
        why.push(format!("{} left no record", format::count(missing as u64)));
    }
    Some(format!("{} of {} repetitions are in its figures; {}", pool.pooled, pool.planned, why.join(", ")))
}

fn medians(medians: Option<&Medians>) -> (String, String) {
    let Some(Medians { least, most, .. }) = medians else { return (format::NOTHING.into(), format::NOTHING.into()) };
    // A duration does not break in a narrow column.
    let one = |ns: &Option<u64>| format::duration_or_hidden(*ns).replace(' ', "\u{a0}");
    (one(least), one(most))
}

fn without(without: Option<&OutageShare>) -> String {
    without.map_or_else(
        || format::NOTHING.into(),
        |without| {
            format!("{} of the time, longest {}", format::share(without.share), format::duration(without.longest_ns))
        },
    )
}

fn repeated(summary: &Summary, one: &PooledRepetition, info: &CellInfo) -> RepeatedLine {
    let place = summary.cells.iter().position(|cell| cell.info.name == one.cell);
    RepeatedLine {
        anchor: place.map_or_else(String::new, |place| format!("cell-{}", place + 1)),
        number: one.number,
        p50: one.p50.map_or_else(|| format::NOTHING.into(), format::duration),
        n: place.map_or_else(|| format::NOTHING.into(), |place| samples(&summary.cells[place])),
        pooled: one.pooled,
        state: State::of(one.verdict, one.unsafe_as_expected, info).into(),
    }
}

/// Whether a cell is told of one by one beside its pool: the first repetitions, and of the others as many as can be read, the worst
/// before the rest. In the order of the run.
pub(crate) fn shown(summary: &Summary) -> Vec<usize> {
    let further = |place: &usize| summary.cells[*place].info.repetition.as_ref().is_some_and(|one| one.number > 1);
    let (mut others, mut shown): (Vec<usize>, Vec<usize>) = (0..summary.cells.len()).partition(further);
    others.sort_by_key(|place| std::cmp::Reverse(State::of_cell(&summary.cells[*place])));
    shown.extend(others.into_iter().take(LISTED_MAX));
    shown.sort_unstable();
    base_first(&mut shown, |place| &summary.cells[*place]);
    shown
}

/// What is said of the repetitions that are not told of one by one.
pub(crate) fn not_shown(summary: &Summary) -> Option<String> {
    let shown = shown(summary);
    let hidden = summary.cells.len() - shown.len();
    let passed = summary.cells.iter().enumerate().all(|(i, cell)| shown.contains(&i) || cell.verdict == Verdict::Pass);
    let how = if passed { ", which passed" } else { ", no worse than those" };
    (hidden > 0).then(|| {
        format!(
            "… and {}{how}: they are in the summary",
            format::plural(hidden as u64, "repetition more", "repetitions more")
        )
    })
}
