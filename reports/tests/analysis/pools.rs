//! Pooled repetitions of one configuration: all their samples and injections, and the effect of a broken repetition.

use hustings_reports::stats::upper_95;
use hustings_reports::summary::{Medians, Pool};
use proptest::prelude::*;

use crate::runs::run_of;
use crate::*;

/// A run of these cells as repetitions 1, 2 … of one configuration, of which `count` were planned.
fn run(cells: Vec<Cell>, count: u32) -> Summary {
    let repetitions = cells.into_iter().zip(1_u32..).map(|(mut cell, number)| {
        cell.info.name = if number == 1 { "it".to_owned() } else { format!("it-r{number}") };
        cell.info.repetition = Some(Repetition { of: "it".into(), number, count, at_most: 0 });
        cell
    });
    run_of(repetitions, count)
}

fn pool(cells: Vec<Cell>, count: u32) -> Pool {
    let pools = run(cells, count).pools;
    assert_eq!(pools.len(), 1, "{pools:#?}");
    pools.into_iter().next().expect("a pool")
}

/// Two groups whose leader crashes; the detection is this many milliseconds over the earliest possible.
fn crashed(over: u64) -> Cell {
    let mut cell = Cell::new("predecessor-watch", 2, 3, FaultKind::Crash);
    cell.crash(20_000, over);
    cell
}

/// As `crashed`, without a later leader.
fn never_led_again() -> Cell {
    let mut cell = Cell::new("predecessor-watch", 2, 3, FaultKind::Crash);
    cell.inject(FaultKind::Crash, 0, &[0, 1], 20_000, None);
    cell.kill(0, 20_000);
    cell
}

#[test]
fn where_each_cell_was_run_once_there_is_no_pool() {
    let summary = summarise(&crashed(300).record());
    assert!(summary.pools.is_empty());
    let json = serde_json::to_string(&summary).unwrap();
    assert!(!json.contains("pools") && !json.contains("repetition"), "nothing tells of it");
}

#[test]
fn repetitions_that_pass_are_one_pass_of_all_their_handovers() {
    let summary = run(vec![crashed(300), crashed(500), crashed(400)], 3);
    assert_eq!(summary.verdict, Pass, "{:?}", summary.notes);
    let pool = &summary.pools[0];
    assert_eq!((pool.name.as_str(), pool.verdict, pool.timeout_ms), ("it", Pass, Some(4_000)));
    assert_eq!((pool.planned, pool.pooled, pool.failed, pool.inconclusive), (3, 3, 0, 0));
    assert_eq!((pool.handovers.completed, pool.handovers.injections), (6, 3));
    let named: Vec<&str> = pool.repetitions.iter().map(|one| one.cell.as_str()).collect();
    assert_eq!(named, ["it", "it-r2", "it-r3"]);
    let each: Vec<u64> =
        summary.cells.iter().map(|cell| cell.failover.whole.as_ref().and_then(|d| d.p50).unwrap()).collect();
    let whole = pool.failover.whole.as_ref().unwrap();
    assert_eq!((whole.n, whole.p50, whole.min, whole.max), (6, Some(each[2]), each[0], each[1]));
    assert_eq!(pool.medians, Some(Medians { of: 3, least: Some(each[0]), most: Some(each[1]) }));
    for phase in [&pool.failover.detect, &pool.failover.decide, &pool.failover.act, &pool.failover.from_intended] {
        assert_eq!(phase.as_ref().unwrap().n, 6);
    }
    assert_eq!(pool.failover.excess.as_ref().unwrap().over_floor.n, 6);
    let shares: Vec<f64> = summary.cells.iter().map(|cell| cell.leaderless.share).collect();
    let mean = shares.iter().sum::<f64>() / 3.0;
    assert!((pool.without_leader.unwrap().share - mean).abs() < 1e-12, "windows are alike");
    let longest = summary.cells.iter().map(|cell| cell.effect.longest_ns).max();
    assert_eq!(pool.without_write.map(|without| without.longest_ns), longest);
}

#[test]
fn a_pooled_zero_is_worth_the_injections_of_all_repetitions() {
    let pool = pool(vec![crashed(300), crashed(300), crashed(300), crashed(300)], 4);
    for (rate, why) in [(pool.split_brain.active, "believe"), (pool.writes.past_fence, "write")] {
        assert_eq!((rate.n, rate.upper_95), (0, None), "the dead cannot {why}");
    }
    let rate = self::pool(vec![partition(22_000), partition(22_000), partition(22_000)], 3).split_brain.active;
    assert_eq!((rate.seen, rate.n, rate.injections, rate.bad_injections), (0, 3, 3, 0));
    assert_eq!(rate.upper_95, upper_95(0, 3));
}

#[test]
fn a_repetition_that_failed_fails_the_pool_and_is_counted() {
    let summary = run(vec![partition(22_000), partition(25_600), partition(22_000)], 3);
    let pool = &summary.pools[0];
    assert_eq!((summary.verdict, pool.verdict, pool.failed, pool.pooled), (Fail, Fail, 1, 3));
    let verdicts: Vec<_> = pool.repetitions.iter().map(|one| one.verdict).collect();
    assert_eq!(verdicts, [Pass, Fail, Pass]);
    let rate = pool.split_brain.active;
    assert_eq!((rate.seen, rate.n, rate.injections, rate.bad_injections), (1, 3, 3, 1));
    assert_eq!(rate.upper_95, upper_95(1, 3));
    let of_cell = &summary.cells[1].split_brain;
    assert_eq!(pool.split_brain.lengths, of_cell.lengths);
    assert_eq!(
        (pool.split_brain.active_max_ns, pool.split_brain.active_total_ns),
        (of_cell.active_max_ns, of_cell.active_total_ns)
    );
}

#[test]
fn a_repetition_that_did_not_end_in_order_is_left_out_and_told() {
    let mut cut_short = partition(25_600);
    cut_short.complete = false;
    let pool = pool(vec![in_time(), cut_short, in_time()], 3);
    assert_eq!((pool.planned, pool.pooled), (3, 2));
    assert_eq!(pool.repetitions.iter().map(|one| one.pooled).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(
        (pool.split_brain.active.seen, pool.split_brain.active.injections),
        (0, 2),
        "none of its injections counts"
    );
    assert_eq!((pool.verdict, pool.failed), (Fail, 1), "what it showed stays visible");
}

fn in_time() -> Cell {
    partition(22_000)
}

#[test]
fn a_repetition_that_left_no_record_leaves_the_pool_inconclusive() {
    let pool = pool(vec![crashed(300), crashed(300)], 5);
    assert_eq!((pool.verdict, pool.planned, pool.pooled), (Inconclusive, 5, 2));
    assert_eq!((pool.failed, pool.inconclusive, pool.is_whole()), (0, 0, false));
}

#[test]
fn a_repetition_of_which_events_are_missing_is_left_out() {
    let mut record = crashed(300).record();
    let cell = &mut record.cells[0];
    cell.info.repetition = Some(Repetition { of: "it".into(), number: 1, count: 2, at_most: 0 });
    cell.segments.pop();
    let pools = summarise(&record).pools;
    assert_eq!((pools[0].pooled, pools[0].failover.whole.is_none()), (0, true));
}

#[test]
fn configurations_that_differ_are_never_pooled_whatever_they_are_called() {
    let naive = || {
        let mut cell = Cell::new("naive", 2, 3, FaultKind::Crash);
        cell.crash(20_000, 300);
        cell
    };
    let slower = || {
        let mut cell = crashed(300);
        cell.info.tick_ms *= 2;
        cell
    };
    let pools = run(vec![crashed(300), naive(), crashed(300), slower()], 4).pools;
    let counts: Vec<_> = pools.iter().map(|pool| (pool.pooled, pool.planned, pool.verdict)).collect();
    assert_eq!(counts, [(2, 4, Inconclusive), (1, 4, Inconclusive), (1, 4, Inconclusive)]);
}

#[test]
fn a_median_that_censoring_hides_is_longer_than_all_that_are_known() {
    let pool = pool(vec![crashed(300), never_led_again(), crashed(400)], 3);
    let medians = pool.medians.unwrap();
    assert_eq!((medians.of, medians.most), (3, None));
    assert_eq!(medians.least, pool.repetitions[0].p50);
    let whole = pool.failover.whole.unwrap();
    assert_eq!((whole.n, whole.censored, whole.p90), (4, 2, None), "what never ended stays in");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn quantiles_are_those_of_all_samples_and_no_mean(overs in prop::collection::vec(100_u64..700, 1..7)) {
        let summary = run(overs.iter().map(|over| crashed(*over)).collect(), overs.len() as u32);
        let one = |cell: &hustings_reports::summary::CellSummary| cell.failover.whole.as_ref().unwrap().max;
        let mut union: Vec<u64> = summary.cells.iter().flat_map(|cell| [one(cell), one(cell)]).collect();
        union.sort_unstable();
        let whole = summary.pools[0].failover.whole.as_ref().unwrap();
        let at = |percent: usize| Some(union[(percent * union.len()).div_ceil(100) - 1]);
        prop_assert_eq!((whole.n, whole.p50, whole.p90), (union.len() as u64, at(50), at(90)));
        prop_assert_eq!(whole.mean, union.iter().sum::<u64>() / union.len() as u64);
    }
}
