//! A run of three configurations, four times each: one passes, one has a failed repetition, and one was cut short.

use hustings_record::{FaultKind, Repetition};
use hustings_reports::summary::{
    CellSummary, Medians, OutageShare, Pool, PooledRepetition, Rate, SplitBrain, Summary, Writes,
};
use hustings_reports::verdict::Verdict;

use super::build::{MS, S, cell, distribution, excess, rate};
use super::{empty, expiring, failing};

const COUNT: u32 = 4;

pub(crate) fn repeated() -> Summary {
    let mut summary = empty();
    for number in 1..=COUNT {
        for (place, recipe) in ["predecessor-watch", "naive", "lock-race"].into_iter().enumerate() {
            let index = (number - 1) * 3 + place as u32;
            let mut one = expiring(cell(index, recipe, "on-disconnect", FaultKind::Crash, 10));
            if (number, place) == (3, 1) {
                one = failing(one);
            }
            // The last repetition of the third one was never begun.
            if (number, place) != (COUNT, 2) {
                summary.cells.push(named(one, recipe, number));
            }
        }
    }
    summary.manifest.cells_planned = 3 * COUNT;
    summary.verdict = Verdict::Fail;
    summary.notes.push("1 of 12 planned cells are missing".into());
    let of = |recipe: &str| summary.cells.iter().filter(|cell| cell.info.recipe == recipe).collect::<Vec<_>>();
    summary.pools = ["predecessor-watch", "naive", "lock-race"].map(|recipe| pool(recipe, &of(recipe))).into();
    // Its third repetition did not end cleanly.
    let broken = &mut summary.pools[2];
    (broken.pooled, broken.verdict, broken.repetitions[2].pooled) = (2, Verdict::Inconclusive, false);
    broken.medians = Some(Medians { of: 2, least: Some(5_800 * MS), most: None });
    summary
}

fn named(mut cell: CellSummary, recipe: &str, number: u32) -> CellSummary {
    let of = format!("{recipe}-crash");
    cell.info.name = if number == 1 { of.clone() } else { format!("{of}-r{number}") };
    cell.info.repetition = Some(Repetition { of, number, count: COUNT, at_most: 0 });
    cell
}

fn pool(recipe: &str, cells: &[&CellSummary]) -> Pool {
    let (first, n) = (cells[0], cells.len() as u64);
    let repetitions: Vec<PooledRepetition> = cells.iter().zip(1..).map(|(cell, number)| one(cell, number)).collect();
    let failed = repetitions.iter().filter(|one| one.verdict == Verdict::Fail).count() as u32;
    let mut failover = first.failover.clone();
    failover.whole = Some(distribution(40 * n, 2, 5 * S, 2 * S));
    failover.detect = Some(distribution(40 * n, 2, 5 * S, 2 * S));
    failover.excess = Some(excess(40 * n, 0));
    let active = Rate::pooled(cells.iter().map(|cell| cell.split_brain.active));
    Pool {
        name: format!("{recipe}-crash"),
        verdict: if failed > 0 { Verdict::Fail } else { Verdict::Pass },
        unsafe_as_expected: false,
        timeout_ms: first.timeout_ms,
        planned: COUNT,
        pooled: cells.len() as u32,
        failed,
        inconclusive: 0,
        repetitions,
        medians: Some(Medians { of: cells.len() as u32, least: Some(5_650 * MS), most: Some(5_710 * MS) }),
        handovers: first.handovers,
        failover,
        split_brain: SplitBrain { active, active_max_ns: u64::from(failed) * 2 * MS, ..SplitBrain::default() },
        writes: Writes {
            total: 8_300 * n,
            unfenced: rate(0, 40 * n),
            past_fence: rate(0, 40 * n),
            ..Writes::default()
        },
        without_leader: Some(OutageShare { share: 0.031, longest_ns: 7 * S }),
        without_write: Some(OutageShare { share: 0.034, longest_ns: 7 * S + 30 * MS }),
    }
}

fn one(cell: &CellSummary, number: u32) -> PooledRepetition {
    PooledRepetition {
        cell: cell.info.name.clone(),
        number,
        verdict: cell.verdict,
        unsafe_as_expected: cell.unsafe_as_expected,
        pooled: true,
        p50: cell.failover.whole.as_ref().and_then(|whole| whole.p50),
    }
}
