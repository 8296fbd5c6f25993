//! Repetitions that stalls of the harness spoilt: what they leave open the others tell, where most are left.

use hustings_record::{ComparisonSide, PairMember, Repetition};
use hustings_reports::compare::{ComparisonReport, ComparisonRules, ComparisonVerdict, Measure, sides_of};
use hustings_reports::gate::{GateRequirements, GateResult, gate, markdown};
use hustings_reports::sound::{cells_to_repeat, certain_failure, decided};
use hustings_reports::summary::{CellSummary, Summary};
use hustings_reports::verdict::Verdict;

use crate::compare::held;
use crate::made::{around, cell, run};

/// Leaves a check of it open.
fn open(mut cell: CellSummary, by_stalls: bool) -> CellSummary {
    let check = &mut cell.checks[0];
    (check.verdict, check.by_stalls) = (Verdict::Inconclusive, by_stalls);
    check.details = vec!["host-001.0 did not run for 300 ms".into()];
    cell.verdict = Verdict::Inconclusive;
    cell
}

fn spoilt(cell: CellSummary) -> CellSummary {
    open(cell, true)
}

fn repetition(number: u32, of: &str) -> CellSummary {
    let mut cell = cell(of, &around(20.0));
    cell.info.index = number;
    cell.info.name = if number == 1 { of.to_owned() } else { format!("{of}-r{number}") };
    cell.info.repetition = Some(Repetition { of: of.to_owned(), number, count: 5, at_most: 0 });
    cell
}

/// Repetitions of one cell, of which those with these numbers are as `how` makes them.
pub(crate) fn repetitions(count: u32, numbers: &[u32], how: impl Fn(CellSummary) -> CellSummary) -> Summary {
    let one = |number| {
        let cell = repetition(number, "naive");
        if numbers.contains(&number) { how(cell) } else { cell }
    };
    judged(run((1..=count).map(one).collect()))
}

pub(crate) fn judged(mut summary: Summary) -> Summary {
    summary.verdict = summary.cells.iter().map(|cell| cell.verdict).fold(Verdict::Pass, Verdict::merge);
    summary
}

fn gated(summary: &Summary) -> GateResult {
    gate(summary, &GateRequirements { limits: None, comparing: None }, |_, _| true).unwrap()
}

#[test]
fn what_stalls_spoilt_is_left_out_where_most_repetitions_are_not_and_is_told() {
    let few = repetitions(5, &[2, 4], spoilt);
    let found = gated(&few);
    assert_eq!((found.verdict, decided(&few)), (Verdict::Pass, Verdict::Pass));
    let left_out: Vec<&str> = found.left_out.iter().map(|left| left.cell.as_str()).collect();
    assert_eq!(left_out, ["naive-r2", "naive-r4"]);
    assert!(found.items.iter().all(|item| item.cell.as_deref() != Some("naive-r2")), "nothing is asked of it");
    let injections = found.items.iter().find(|item| item.name == "injections").unwrap();
    assert!(injections.text.starts_with("24 injections"), "{}", injections.text);
    let table = markdown(&found, None);
    for told in [
        "naive-r2 is left out: a stall of the harness spoilt it (split\\_brain: host-001.0 did not run for 300 ms)",
        "the other 3 of 5 repetitions decide",
    ] {
        assert!(table.contains(told), "{table}");
    }
    let half = repetitions(5, &[1, 2, 4], spoilt);
    assert_eq!((gated(&half).verdict, decided(&half)), (Verdict::Inconclusive, Verdict::Inconclusive));
    assert!(gated(&half).left_out.is_empty());
    assert_eq!(gated(&repetitions(2, &[2], spoilt)).verdict, Verdict::Inconclusive, "one of two is not most");
    let alone = judged(run(vec![spoilt(cell("naive", &around(20.0)))]));
    assert_eq!(gated(&alone).verdict, Verdict::Inconclusive);
}

#[test]
fn what_fails_or_is_open_for_another_reason_is_never_left_out() {
    let failing = |mut cell: CellSummary| {
        cell.checks[1].verdict = Verdict::Fail;
        cell.verdict = Verdict::Fail;
        cell
    };
    assert_eq!(gated(&repetitions(5, &[3], |cell| failing(spoilt(cell)))).verdict, Verdict::Fail);
    assert_eq!(gated(&repetitions(5, &[3], |cell| open(cell, false))).verdict, Verdict::Inconclusive);
    let both = |cell| {
        let mut cell = spoilt(cell);
        cell.checks[1].verdict = Verdict::Inconclusive;
        cell
    };
    assert_eq!(gated(&repetitions(5, &[3], both)).verdict, Verdict::Inconclusive);
    let mut doubtful = repetitions(5, &[3], spoilt);
    assert_eq!(gated(&doubtful).verdict, Verdict::Pass);
    doubtful.whole = Verdict::Inconclusive;
    doubtful.notes.push("1 of 6 planned cells are missing".into());
    let found = gated(&doubtful);
    assert_eq!((found.verdict, decided(&doubtful)), (Verdict::Inconclusive, Verdict::Inconclusive));
    assert!(found.items.iter().any(|item| item.text.contains("are missing")), "the record as a whole is in doubt");
}

#[test]
fn cells_are_run_again_until_as_many_repetitions_as_were_planned_are_not_spoilt() {
    let names = |summary: &Summary| cells_to_repeat(summary).into_iter().collect::<Vec<_>>();
    assert!(names(&repetitions(5, &[], spoilt)).is_empty());
    assert_eq!(names(&repetitions(5, &[2], spoilt)), ["naive"]);
    assert!(names(&repetitions(6, &[2], spoilt)).is_empty());
    assert_eq!(names(&repetitions(6, &[2, 6], spoilt)), ["naive"]);
    assert!(names(&repetitions(5, &[2], |cell| open(cell, false))).is_empty(), "that would be so again");
    assert_eq!(names(&repetitions(10, &[1, 2, 3, 4, 5], spoilt)), ["naive"], "five of ten are not most");
    let mut failed = repetitions(5, &[2], spoilt);
    failed.cells[4].verdict = Verdict::Fail;
    assert!(names(&failed).is_empty(), "no further round would let it through");
    let mut servers = repetitions(5, &[2], spoilt);
    servers.cells.iter_mut().for_each(|cell| cell.info.candidates_per_group = 0);
    assert!(names(&servers).is_empty(), "cells without candidates are never left out");
}

/// The same repetition, which failed.
pub(crate) fn failed(mut cell: CellSummary) -> CellSummary {
    (cell.checks[1].verdict, cell.verdict) = (Verdict::Fail, Verdict::Fail);
    cell
}

#[test]
fn nothing_is_run_again_where_another_cell_failed_for_certain_and_the_failure_is_named() {
    let with = |other: CellSummary| {
        let mut summary = repetitions(5, &[2], spoilt);
        summary.cells.push(other);
        judged(summary)
    };
    let fails = with(failed(repetition(1, "crash")));
    assert!(cells_to_repeat(&fails).is_empty());
    let why = certain_failure(&fails).unwrap_or_default();
    assert!(why.starts_with("cell crash failed (") && why.contains(&fails.cells[5].checks[1].name), "{why}");
    let mut alone = repetition(1, "servers");
    alone.info.candidates_per_group = 0;
    assert!(cells_to_repeat(&with(failed(alone))).is_empty(), "a cell without candidates fails the run too");
    for other in [repetition(1, "crash"), open(repetition(1, "crash"), false), spoilt(repetition(1, "crash"))] {
        let summary = with(other);
        assert_eq!(certain_failure(&summary), None);
        assert!(cells_to_repeat(&summary).contains("naive"));
    }
    let mut self_test = failed(repetition(1, "broken"));
    self_test.info.self_test = true;
    assert!(cells_to_repeat(&with(self_test)).contains("naive"), "a broken recipe is meant to fail");
}

#[test]
fn of_two_sides_only_a_failure_of_the_new_one_is_certain() {
    let failing = |side| {
        let mut crash = renamed(turns(5, &[], &[], |_, _| around(20.0)).cells, "crash");
        let at = crash.iter().position(|cell| cell.info.contest.as_ref().is_some_and(|contest| contest.side == side));
        let at = at.expect("two sides");
        crash[at] = failed(crash[at].clone());
        let mut summary = turns(5, &[], &[3], |_, _| around(20.0));
        summary.cells.extend(crash);
        cells_to_repeat(&judged(summary)).into_iter().collect::<Vec<_>>()
    };
    assert!(failing(ComparisonSide::New).is_empty());
    assert_eq!(failing(ComparisonSide::Base), ["naive", "naive (new)"], "the run may yet end without a failure");
}

/// So many rounds of two sides; those with these numbers are spoilt on the base's and on the new side.
pub(crate) fn turns(
    count: u32,
    base: &[u32],
    new: &[u32],
    values: impl Fn(u32, ComparisonSide) -> Vec<f64>,
) -> Summary {
    let one = |number, side| {
        let (of, numbers) = if side == ComparisonSide::Base { ("naive", base) } else { ("naive (new)", new) };
        let mut one = repetition(number, of);
        one.info.index = 2 * number + u32::from(side == ComparisonSide::New);
        one.injections = cell("", &values(number, side)).injections;
        one.info.contest = Some(PairMember { pair: "naive".into(), side });
        if numbers.contains(&number) { spoilt(one) } else { one }
    };
    judged(run((1..=count)
        .flat_map(|number| [one(number, ComparisonSide::Base), one(number, ComparisonSide::New)])
        .collect()))
}

/// The same cells of two sides, under this name.
pub(crate) fn renamed(mut cells: Vec<CellSummary>, name: &str) -> Vec<CellSummary> {
    for one in &mut cells {
        let contest = one.info.contest.as_mut().expect("two sides");
        contest.pair = name.to_owned();
        let of = format!("{name}{}", if contest.side == ComparisonSide::New { " (new)" } else { "" });
        one.info.repetition.as_mut().expect("rounds").of = of;
    }
    cells
}

pub(crate) fn compared(summary: &Summary) -> ComparisonReport {
    sides_of(summary, ComparisonRules::default(), |_| true).unwrap()
}

#[test]
fn of_a_round_that_one_side_has_to_leave_out_the_other_side_s_figures_are_left_out_too() {
    // The stall of the new side's third repetition slowed the base's down.
    let slowed = |number, side| around(if number == 3 && side == ComparisonSide::Base { 200.0 } else { 20.0 });
    let summary = turns(5, &[], &[3], slowed);
    let found = compared(&summary);
    let failover = found.pairs[0].comparisons.iter().find(|one| one.measure == Measure::Failover).unwrap();
    assert_eq!((found.answer, failover.base.injections, failover.new.injections), (ComparisonVerdict::Same, 32, 32));
    assert_eq!((found.pairs[0].base.left_out, found.pairs[0].new.left_out), (0, 1));
    assert_eq!(cells_to_repeat(&summary).len(), 2, "both sides are run again");
    assert!(cells_to_repeat(&turns(6, &[], &[3], slowed)).is_empty());
    assert_eq!(cells_to_repeat(&turns(6, &[2], &[3], slowed)).len(), 2, "of two rounds one side is missing");
}

#[test]
fn a_new_side_that_is_slower_is_worse_though_some_of_its_repetitions_are_spoilt() {
    let slower = |_, side| around(if side == ComparisonSide::New { 26.0 } else { 20.0 });
    assert_eq!(compared(&turns(5, &[1], &[3], slower)).answer, ComparisonVerdict::Worse);
}

#[test]
fn of_too_few_rounds_that_are_sound_on_both_sides_nothing_is_told() {
    let same = |_, _| around(20.0);
    let found = compared(&turns(5, &[1, 2], &[3, 4], same));
    assert_eq!(found.answer, ComparisonVerdict::CannotTell);
    assert!(found.pairs[0].why.as_ref().is_some_and(|why| why.contains("4 of 5 rounds")), "{:?}", found.pairs[0].why);
    assert_eq!(compared(&turns(5, &[1, 2], &[1, 2], same)).answer, ComparisonVerdict::Same);
}

#[test]
fn a_new_side_that_stalls_more_often_than_the_base_is_not_let_through() {
    let same = |_, _| around(20.0);
    for (count, base, new, of) in [
        (10, &[][..], &[1, 2, 3, 4][..], "4 of the new side's 10"),
        (11, &[], &[1, 2, 3, 4, 5], "5 of the new side's 11"),
        (5, &[], &[1, 2, 3], "3 of the new side's 5"),
    ] {
        let summary = turns(count, base, new, same);
        let found = compared(&summary);
        assert_eq!(found.answer, ComparisonVerdict::CannotTell, "{of}");
        assert!(found.doubt.as_ref().is_some_and(|why| why.contains(of)), "{:?}", found.doubt);
        let asked = GateRequirements { limits: None, comparing: Some(&found) };
        assert_eq!(gate(&summary, &asked, |_, _| true).unwrap().verdict, Verdict::Inconclusive, "{of}");
    }
    assert_eq!(
        compared(&turns(11, &[1, 2, 3, 4, 5], &[], same)).answer,
        ComparisonVerdict::Same,
        "the base's stalls accuse nobody"
    );
    assert_eq!(compared(&turns(11, &[1, 5, 9], &[1, 5, 9, 10], same)).doubt, None, "both of them stall");
}

#[test]
fn one_pair_of_many_raises_a_doubt_only_if_it_would_among_as_many_equal_ones() {
    // The others' bases stall once more than their new sides.
    let of_four = |count: u32, base: &[u32], new: &[u32]| {
        let first = renamed(turns(count, base, new, |_, _| around(20.0)).cells, "a");
        let others = ["b", "c", "d"].map(|name| renamed(turns(count, &[5], &[], |_, _| around(20.0)).cells, name));
        run(first.into_iter().chain(others.into_iter().flatten()).collect())
    };
    // The probability of the first by chance is 0.04, that of the second 0.002.
    assert_eq!(compared(&of_four(10, &[], &[1, 2, 3, 4])).doubt, None);
    let doubt = compared(&of_four(20, &[], &[1, 2, 3, 4, 6, 7, 8, 9])).doubt.unwrap_or_default();
    assert!(doubt.contains("8 of the new side's 20 repetitions of a"), "{doubt}");
}

#[test]
fn a_record_that_stalls_more_often_than_its_baseline_is_not_let_through() {
    let spoilt = repetitions(10, &[1, 2, 3, 4], spoilt);
    let found = held(&repetitions(10, &[], |cell| cell), &spoilt);
    assert!(found.doubt.is_some());
    let asked = GateRequirements { limits: None, comparing: Some(&found) };
    assert_eq!(gate(&spoilt, &asked, |_, _| true).unwrap().verdict, Verdict::Inconclusive);
}

#[test]
fn a_record_that_is_not_whole_tells_nothing_whatever_its_cells_show() {
    let whole = repetitions(5, &[], |cell| cell);
    let mut cut = whole.clone();
    cut.whole = Verdict::Inconclusive;
    cut.notes.push("the run was interrupted".into());
    for found in [held(&whole, &cut), held(&cut, &whole)] {
        assert_eq!(found.answer, ComparisonVerdict::CannotTell);
        assert!(found.doubt.is_some_and(|why| why.contains("the run was interrupted")));
    }
    let mut turns = turns(5, &[], &[], |_, _| around(20.0));
    turns.whole = Verdict::Inconclusive;
    assert_eq!(compared(&turns).answer, ComparisonVerdict::CannotTell);
}

#[test]
fn of_a_record_with_two_sides_the_new_one_is_compared_with_a_baseline_and_may_be_one() {
    let plain = repetitions(5, &[], |cell| cell);
    let slower = |_, side| around(if side == ComparisonSide::New { 26.0 } else { 20.0 });
    let two_sided = turns(5, &[], &[], slower);
    assert_eq!(held(&plain, &two_sided).answer, ComparisonVerdict::Worse);
    assert_eq!(held(&two_sided, &plain).answer, ComparisonVerdict::Better);
}
