//! Runs of two sides that continue when the planned rounds do not decide their difference.

use std::collections::BTreeMap;

use hustings_record::ComparisonSide;
use hustings_reports::compare::{ComparisonRules, ComparisonVerdict, Measure, rounds_missing, undecided};
use hustings_reports::summary::{CellSummary, Summary};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::made::{around, injection, run};
use crate::spoilt::{compared, failed, renamed, turns};

const PLANNED: u32 = 5;
const AT_MOST: u32 = 25;

/// The same summary, of a run that may have this many rounds.
fn with_room(mut summary: Summary, at_most: u32) -> Summary {
    summary.cells.iter_mut().filter_map(|cell| cell.info.repetition.as_mut()).for_each(|one| one.at_most = at_most);
    summary
}

/// Rounds with this much variance between them; the new side's times are multiplied by `by`.
fn scattered(by: f64, apart: f64) -> impl Fn(u32, ComparisonSide) -> Vec<f64> {
    move |round, side| {
        let sign = if (round % 2 == 0) == (side == ComparisonSide::New) { 1.0 } else { -1.0 };
        around(20.0 * (1.0 + sign * apart) * if side == ComparisonSide::New { by } else { 1.0 })
    }
}

/// The rounds that each needs in total, where all ran in the planned ones alone.
fn totals(summary: &Summary, duration_ms: impl Fn(&str) -> u64) -> BTreeMap<String, u32> {
    let more = undecided(summary, ComparisonRules::default(), duration_ms);
    more.into_iter().map(|(name, more)| (name, PLANNED + more)).collect()
}

/// Its repetitions take the same time each.
fn again(summary: &Summary) -> BTreeMap<String, u32> {
    totals(summary, |_| 1_000)
}

fn names(summary: &Summary) -> Vec<String> {
    again(summary).into_keys().collect()
}

#[test]
fn what_is_missing_depends_on_the_variance_of_the_rounds_and_not_on_the_difference_of_the_sides() {
    let missing = |by: f64, apart: f64| {
        let summary = with_room(turns(2 * PLANNED, &[], &[], scattered(by, apart)), AT_MOST);
        rounds_missing(&summary, ComparisonRules::default())
    };
    let open = missing(1.0, 0.15);
    assert_eq!(open.keys().collect::<Vec<_>>(), ["naive", "naive (new)"]);
    assert!(open.values().all(|rounds| *rounds > 0), "{open:?}");
    for by in [0.9, 0.95, 1.05, 1.1] {
        assert_eq!(missing(by, 0.15), open, "{by}");
    }
    assert!(missing(1.0, 0.02).values().all(|rounds| *rounds == 0));
}

#[test]
fn what_the_planned_rounds_do_not_tell_is_run_again_on_both_sides() {
    let open = with_room(turns(PLANNED, &[], &[], scattered(1.0, 0.1)), AT_MOST);
    assert_eq!(compared(&open).answer, ComparisonVerdict::CannotTell);
    assert_eq!(names(&open), ["naive", "naive (new)"]);
    let rounds = again(&open);
    assert!(rounds.values().all(|rounds| *rounds >= 2 * PLANNED), "what is open takes new rounds: {rounds:?}");
}

#[test]
fn nothing_is_run_again_where_nothing_is_open_or_further_rounds_would_not_open_the_gate() {
    let of = |summary| names(&with_room(summary, AT_MOST));
    assert!(of(turns(PLANNED, &[], &[], scattered(1.0, 0.0))).is_empty(), "the same");
    assert!(of(turns(PLANNED, &[], &[], scattered(1.5, 0.01))).is_empty(), "worse");
    assert!(of(turns(PLANNED, &[], &[], scattered(0.9, 0.05))).is_empty(), "the same or better: a gate passes");
    assert!(of(turns(PLANNED, &[], &[], scattered(1.0, 0.8))).is_empty(), "too many are missing");
    assert!(names(&turns(PLANNED, &[], &[], scattered(1.0, 0.1))).is_empty(), "there is no room");
    let mut doubtful = turns(PLANNED, &[], &[], scattered(1.0, 0.1));
    doubtful.whole = hustings_reports::verdict::Verdict::Inconclusive;
    assert!(of(doubtful).is_empty(), "the record is not whole");
    assert!(of(turns(PLANNED, &[1, 2, 3], &[], scattered(1.0, 0.1))).is_empty(), "stalls are in the way");
}

/// Four cells with this between-round variance each.
fn of_four(apart: [f64; 4]) -> Summary {
    let cells = apart
        .iter()
        .zip(["a", "b", "c", "d"])
        .flat_map(|(apart, name)| renamed(turns(PLANNED, &[], &[], scattered(1.0, *apart)).cells, name));
    with_room(run(cells.collect()), AT_MOST)
}

#[test]
fn undecided_cells_share_the_time_that_further_rounds_of_all_cells_would_take() {
    let alone = again(&of_four([0.1, 0.0, 0.0, 0.0]));
    assert_eq!(alone.keys().collect::<Vec<_>>(), ["a", "a (new)"]);
    let room = PLANNED + 4 * (AT_MOST - PLANNED);
    assert!(alone.values().all(|rounds| (AT_MOST + 1..=room).contains(rounds)), "{alone:?}");
    let together = again(&of_four([0.075; 4]));
    assert!(together.len() == 8 && together.values().all(|rounds| *rounds <= AT_MOST), "{together:?}");
    let long = |name: &str| if name.starts_with('a') { 60_000 } else { 1_000 };
    let longest = totals(&of_four([0.1, 0.0, 0.0, 0.0]), long);
    assert!(longest.values().all(|rounds| *rounds < AT_MOST + 3), "the others' time is little: {longest:?}");
    let shortest = totals(&of_four([0.0, 0.1, 0.0, 0.0]), long);
    assert!(shortest.values().all(|rounds| *rounds > AT_MOST), "the others' time is much: {shortest:?}");
    let mut full = of_four([0.1, 0.0, 0.0, 0.0]);
    full.cells.iter_mut().filter_map(|cell| cell.info.repetition.as_mut()).for_each(|one| one.at_most = PLANNED);
    assert!(again(&full).is_empty(), "there is no room");
}

/// The same cells, with so many rounds before the last in which they were not run.
fn with_rounds_of_others(mut summary: Summary, others: u32) -> Summary {
    let rounds = summary.cells.iter_mut().filter_map(|cell| cell.info.repetition.as_mut());
    rounds.filter(|one| one.number == PLANNED).for_each(|one| one.number += others);
    summary
}

#[test]
fn rounds_in_which_other_cells_ran_alone_are_none_of_a_cell_and_cost_it_nothing() {
    let open = with_room(turns(PLANNED, &[], &[], scattered(1.0, 0.1)), AT_MOST);
    assert_eq!(again(&with_rounds_of_others(open.clone(), 2 * PLANNED)), again(&open));
}

#[test]
fn a_certain_failure_of_any_cell_ends_the_further_rounds_of_all() {
    let mut open = with_room(turns(PLANNED, &[], &[], scattered(1.0, 0.1)), AT_MOST);
    let mut other = open.cells[0].clone();
    (other.info.contest, other.info.candidates_per_group) = (None, 0);
    open.cells.push(other);
    assert!(!names(&open).is_empty());
    let last = open.cells.pop().expect("the other one");
    open.cells.push(failed(last));
    assert!(names(&open).is_empty());
}

#[test]
fn a_figure_without_an_estimate_wants_twice_the_planned_rounds_and_takes_none_from_other_cells() {
    let mut summary = of_four([0.15, 0.075, 0.0, 0.0]);
    let is_hidden = |cell: &CellSummary| {
        let (contest, repetition) = (cell.info.contest.as_ref(), cell.info.repetition.as_ref());
        contest.is_some_and(|contest| contest.pair == "a" && contest.side == ComparisonSide::New)
            && repetition.is_some_and(|repetition| repetition.number == 1)
    };
    for cell in summary.cells.iter_mut().filter(|cell| is_hidden(cell)) {
        cell.injections = (0..8).map(|at| injection(at, None)).collect();
    }
    let of_a = compared(&summary).pairs.remove(0).comparisons;
    let failover = of_a.iter().find(|one| one.measure == Measure::Failover).expect("it is compared");
    assert_eq!((failover.answer, failover.rounds_wanted), (ComparisonVerdict::CannotTell, None));
    let rounds = again(&summary);
    assert_eq!((rounds.get("a"), rounds.get("a (new)")), (Some(&(2 * PLANNED)), Some(&(2 * PLANNED))));
    assert!(rounds.contains_key("b") && !rounds.contains_key("c"), "{rounds:?}");
}

/// Rounds of the first look, by which the new side is in doubt.
const DOUBTED: u32 = 12;

/// So many rounds of one cell, and another. Stalls spoilt the first five of the new side, and those with these numbers.
fn doubtful(count: u32, base: &[u32], new: &[u32]) -> Summary {
    let new = [&[1, 2, 3, 4, 5][..], new].concat();
    let stalling = renamed(turns(count, base, &new, |_, _| around(20.0)).cells, "a");
    let other = renamed(turns(2 * PLANNED, &[], &[], |_, _| around(20.0)).cells, "b");
    with_room(run(stalling.into_iter().chain(other).collect()), AT_MOST)
}

#[test]
fn a_doubt_because_of_stalls_gets_further_rounds_and_goes_if_it_was_chance() {
    let more = |summary: &Summary| undecided(summary, ComparisonRules::default(), |_| 1_000);
    let first = doubtful(DOUBTED, &[], &[]);
    assert!(compared(&first).doubt.is_some());
    let planned = [("a".to_owned(), PLANNED), ("a (new)".to_owned(), PLANNED)];
    assert_eq!(more(&first), BTreeMap::from(planned), "the other cell has no spoilt repetitions");
    assert!(more(&with_room(first, 2 * PLANNED)).is_empty(), "there is no room");
    let by_chance = compared(&doubtful(DOUBTED + PLANNED, &[13, 14], &[15]));
    assert_eq!((by_chance.answer, by_chance.doubt), (ComparisonVerdict::Same, None));
}

#[test]
fn a_new_side_that_causes_stalls_ends_in_doubt_after_further_rounds_too() {
    let stalls_again = compared(&doubtful(DOUBTED + PLANNED, &[], &[13, 14]));
    assert_eq!(stalls_again.answer, ComparisonVerdict::CannotTell);
    assert!(stalls_again.doubt.is_some_and(|why| why.contains("7 of the new side's")));
}

#[test]
fn of_two_looks_each_counts_for_a_half() {
    let p = |at_most| {
        let found = compared(&with_room(turns(PLANNED, &[], &[], scattered(1.012, 0.0)), at_most));
        (found.looks, found.pairs[0].comparisons[0].p_holm)
    };
    let ((one, alone), (two, again)) = (p(0), p(AT_MOST));
    assert_eq!((one, two), (1, 2));
    assert!((again / alone - 2.0).abs() < 1e-9, "{alone} {again}");
}

/// Approximately normally distributed, with this deviation.
fn noise(random: &mut ChaCha8Rng, deviation: f64) -> f64 {
    ((0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0) * deviation
}

struct SimulatedComparison {
    answer: ComparisonVerdict,
    /// Whether no comparison makes a gate fail.
    passes: bool,
    went_on: bool,
}

impl SimulatedComparison {
    fn of(summary: &Summary, went_on: bool) -> Self {
        let found = compared(summary);
        let all = || found.pairs.iter().flat_map(|pair| &pair.comparisons);
        let passes = all().all(|one| one.no_worse || one.answer <= ComparisonVerdict::Better);
        Self { answer: found.answer, passes, went_on }
    }
}

/// The result of a run that continues while it is undecided, of four cells whose rounds and injections vary randomly;
/// and whether it continued.
fn chance(by: f64, seed: u64) -> SimulatedComparison {
    let side = |cell: u64| {
        move |round: u32, side: ComparisonSide| {
            let of = 100 * cell + u64::from(2 * round) + u64::from(side == ComparisonSide::New);
            let mut random = ChaCha8Rng::seed_from_u64(seed * 1_000 + of);
            let round_variance = noise(&mut random, 0.06);
            let level = 20.0 * round_variance.exp() * if side == ComparisonSide::New { by } else { 1.0 };
            (0..6).map(|_| level * noise(&mut random, 0.15).exp()).collect()
        }
    };
    let of = |count| {
        let cells = (0..4).flat_map(|cell| {
            let mut cells = turns(count, &[], &[], side(cell)).cells;
            for one in &mut cells {
                one.info.contest.as_mut().expect("two sides").pair = format!("cell {cell}");
                one.info.repetition.as_mut().expect("rounds").of = format!("cell {cell} {:?}", one.info.contest);
            }
            cells
        });
        with_room(run(cells.collect()), PLANNED + (AT_MOST - PLANNED) / 4)
    };
    let first = of(PLANNED);
    let mut open = again(&first);
    if open.is_empty() {
        return SimulatedComparison::of(&first, false);
    }
    // The other cells stay as they are.
    let until = |open: &BTreeMap<String, u32>, done: u32| {
        let mut summary = of(open.values().copied().max().expect("some are open").min(done));
        summary.cells.retain(|cell| {
            let repetition = cell.info.repetition.as_ref().expect("rounds");
            repetition.number <= PLANNED || open.get(&repetition.of).is_some_and(|rounds| repetition.number <= *rounds)
        });
        summary
    };
    let (mut done, mut batch) = (PLANNED, PLANNED);
    while open.values().any(|rounds| *rounds > done) {
        done += batch;
        batch *= 2;
        let missing = rounds_missing(&until(&open, done), ComparisonRules::default());
        for (name, rounds) in &mut open {
            let needs = missing.get(name).map(|missing| (*rounds).min(done) + missing);
            *rounds = needs.map_or(*rounds, |needs| needs.min(*rounds));
        }
    }
    SimulatedComparison::of(&until(&open, done), true)
}

#[test]
fn two_looks_find_no_more_by_chance_than_one_may() {
    const RUNS: u64 = 16;
    // 1 of 20, and two standard deviations of that.
    const BY_CHANCE: usize = 1 + 2;
    let all = |by: f64, runs: u64| (0..runs).map(|seed| chance(by, seed)).collect::<Vec<_>>();
    let count =
        |all: &[SimulatedComparison], so: fn(&SimulatedComparison) -> bool| all.iter().filter(|one| so(one)).count();
    let alike = all(1.0, RUNS);
    assert!(count(&alike, |one| one.went_on) > 4, "the second look has to be had");
    assert!(count(&alike, |one| one.answer == ComparisonVerdict::Worse) <= BY_CHANCE);
    assert!(count(&alike, |one| one.passes) >= 12, "and yet it tells: {}", count(&alike, |one| one.passes));
    assert!(count(&all(1.152, RUNS), |one| one.passes) <= BY_CHANCE, "it is worse by more than the margin");
    assert!(count(&all(1.5, 4), |one| one.answer == ComparisonVerdict::Worse) >= 3);
}
