//! Pools the repetitions of one configuration. Cells that differ in more than their number are different
//! configurations, whatever their names.

use crate::check::CellSummary;
use crate::check::evidence::group_time;
use crate::check::failover::Failover;
use crate::check::handovers::Handovers;
use crate::check::phases::Phases;
use crate::check::split_brain::{SplitBrain, lengths};
use crate::check::stale_writes::Writes;
use crate::index::Index;
use crate::repetitions::pool::{Medians, OutageShare, Pool, PooledRepetition};
use crate::stats::Samples;
use crate::verdict::Verdict;
use hustings_record::numbers::to_u32;
use hustings_record::{CellInfo, Nanos, Repetition};

/// The samples of a cell, which its summary does not keep and its pool needs.
#[derive(Debug, Default)]
pub(crate) struct CellSamples {
    phases: Phases,
    overlaps: Samples,
    /// The time that its groups had together, in nanoseconds.
    group_time: Option<f64>,
}

impl CellSamples {
    pub(crate) fn of(index: &Index<'_>) -> Self {
        Self {
            phases: Phases::of(index),
            overlaps: lengths(index),
            group_time: index.window().map(|window| group_time(index, window)),
        }
    }
}

/// Repetitions of one configuration.
struct PooledGroup<'a> {
    of: &'a str,
    /// What they have in common.
    common: CellInfo,
    timeout_ms: Option<u64>,
    planned: u32,
    cells: Vec<(&'a CellSummary, u32, Option<CellSamples>)>,
}

/// The pools of a run, in the order of their first repetitions. `kept` has one entry per cell; None for one that does
/// not enter.
pub(crate) fn pools(cells: &[CellSummary], kept: Vec<Option<CellSamples>>) -> Vec<Pool> {
    let mut groups: Vec<PooledGroup<'_>> = Vec::new();
    for (cell, kept) in cells.iter().zip(kept) {
        let Some(Repetition { of, number, count, .. }) = &cell.info.repetition else { continue };
        let common = common(&cell.info);
        let alike = |group: &&mut PooledGroup<'_>| {
            let same_t = group.timeout_ms.zip(cell.timeout_ms).is_none_or(|(one, other)| one == other);
            group.of == of && group.planned == *count && same_t && group.common == common
        };
        match groups.iter_mut().find(alike) {
            Some(group) => {
                group.timeout_ms = group.timeout_ms.or(cell.timeout_ms);
                group.cells.push((cell, *number, kept));
            }
            None => {
                let cells = vec![(cell, *number, kept)];
                groups.push(PooledGroup { of, common, timeout_ms: cell.timeout_ms, planned: *count, cells });
            }
        }
    }
    groups.into_iter().map(pool).collect()
}

/// Everything but the identity of a repetition.
fn common(info: &CellInfo) -> CellInfo {
    CellInfo { index: 0, name: String::new(), repetition: None, ..info.clone() }
}

fn pool(group: PooledGroup<'_>) -> Pool {
    let PooledGroup { of, timeout_ms, planned, cells, .. } = group;
    // Repetitions that stalls spoilt were run again.
    let planned = planned.max(to_u32(cells.len()));
    let repetitions: Vec<PooledRepetition> =
        cells.iter().map(|(cell, number, kept)| repeated(cell, *number, kept)).collect();
    let (mut phases, mut overlaps) = (Phases::default(), Samples::default());
    let mut entered: Vec<(&CellSummary, Option<f64>)> = Vec::new();
    for (cell, _, kept) in cells {
        let Some(kept) = kept else { continue };
        phases.absorb(kept.phases);
        overlaps.absorb(kept.overlaps);
        entered.push((cell, kept.group_time));
    }
    let pooled = to_u32(entered.len());
    let count = |verdict| to_u32(repetitions.iter().filter(|cell| cell.verdict == verdict).count());
    // The results of missing repetitions are unknown.
    let whole = if pooled < planned { Verdict::Inconclusive } else { Verdict::Pass };
    Pool {
        name: of.to_owned(),
        verdict: repetitions.iter().map(|cell| cell.verdict).fold(whole, Verdict::merge),
        unsafe_as_expected: repetitions.iter().any(|cell| cell.unsafe_as_expected),
        timeout_ms,
        planned,
        pooled,
        failed: count(Verdict::Fail),
        inconclusive: count(Verdict::Inconclusive),
        medians: medians(&entered),
        handovers: Handovers::pooled(&of_each(&entered, |cell| &cell.handovers)),
        failover: Failover::of(phases),
        split_brain: SplitBrain::pooled(&of_each(&entered, |cell| &cell.split_brain), overlaps),
        writes: Writes::pooled(&of_each(&entered, |cell| &cell.writes)),
        without_leader: without(&entered, |cell| (cell.leaderless.share, cell.leaderless.longest_ns)),
        without_write: without(&entered, |cell| (cell.effect.without_write, cell.effect.longest_ns)),
        repetitions,
    }
}

fn repeated(cell: &CellSummary, number: u32, kept: &Option<CellSamples>) -> PooledRepetition {
    PooledRepetition {
        cell: cell.info.name.clone(),
        number,
        verdict: cell.verdict,
        unsafe_as_expected: cell.unsafe_as_expected,
        pooled: kept.is_some(),
        p50: cell.failover.measured().and_then(|whole| whole.p50),
    }
}

fn of_each<'a, S>(
    entered: &[(&'a CellSummary, Option<f64>)],
    section: impl Fn(&'a CellSummary) -> &'a S,
) -> Vec<&'a S> {
    entered.iter().map(|(cell, _)| section(cell)).collect()
}

fn medians(entered: &[(&CellSummary, Option<f64>)]) -> Option<Medians> {
    let medians: Vec<Option<Nanos>> =
        entered.iter().filter_map(|(cell, _)| Some(cell.failover.measured()?.p50)).collect();
    let hidden = medians.contains(&None);
    let known = || medians.iter().flatten().copied();
    let most = known().max().filter(|_| !hidden);
    (!medians.is_empty()).then(|| Medians { of: to_u32(medians.len()), least: known().min(), most })
}

/// Shares are weighted by their time, which gives the share of all that time.
fn without(entered: &[(&CellSummary, Option<f64>)], of: impl Fn(&CellSummary) -> (f64, Nanos)) -> Option<OutageShare> {
    let measured: Vec<_> = entered.iter().filter_map(|(cell, time)| Some((of(cell), (*time)?))).collect();
    let all: f64 = measured.iter().map(|(_, time)| time).sum();
    let share = measured.iter().map(|((share, _), time)| share * time).sum::<f64>() / all;
    let longest_ns = measured.iter().map(|((_, longest), _)| *longest).max().unwrap_or(0);
    (all > 0.0).then_some(OutageShare { share, longest_ns })
}
