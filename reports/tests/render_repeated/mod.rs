//! What the output of a run with repetitions tells of all of them together.

use crate::render_sample::herd;
use crate::render_sample::pools::repeated;
use hustings_record::{ComparisonSide, PairMember, Repetition};
use hustings_reports::render::{html, terminal};
use hustings_reports::summary::Summary;
use hustings_reports::verdict::Verdict;

/// Four repetitions of one configuration, which passed.
fn passed() -> Summary {
    let mut summary = repeated();
    summary.cells.retain(|cell| cell.info.recipe == "predecessor-watch");
    summary.pools.truncate(1);
    summary.notes.clear();
    summary.manifest.cells_planned = 4;
    summary.verdict = Verdict::Pass;
    summary
}

fn told(summary: &Summary) -> String {
    terminal(summary, 150, false)
}

#[test]
fn of_a_thousand_repetitions_a_page_shows_those_that_matter() {
    let mut summary = repeated();
    let (passed, failed) = (summary.cells[0].clone(), summary.cells[7].clone());
    summary.cells = (0..1_000).map(|i| if i == 777 { failed.clone() } else { passed.clone() }).collect();
    for (i, cell) in summary.cells.iter_mut().enumerate() {
        cell.info.name = format!("it-r{}", i + 1);
        if let Some(repetition) = &mut cell.info.repetition {
            repetition.number = i as u32 + 1;
        }
    }
    let page = html(&summary).expect("the page is made");
    assert_eq!(page.matches("<details class=\"cell").count(), 101, "the first, and a hundred more");
    assert!(page.contains("id=\"cell-778\"") && page.contains("899 repetitions more, which passed"));
    let text = terminal(&summary, 80, false);
    assert!(text.lines().count() < 101 * 3 + 60, "three lines a cell at most: {text}");
}

#[test]
fn every_repetition_passed_only_where_all_that_were_planned_left_a_record() {
    let mut summary = passed();
    let text = told(&summary);
    assert!(text.contains("\nEvery repetition passed.\n"), "{text}");
    summary.manifest.cells_planned = 6;
    let text = told(&summary);
    assert!(text.contains("\nEvery repetition with a record passed; 2 left none.\n"), "{text}");
}

#[test]
fn repetitions_that_did_not_pass_for_one_cause_share_a_line() {
    for (times, first) in [([300, 300, 300], ""), ([300, 415, 1_280], ", the first")] {
        let mut summary = passed();
        for (cell, ms) in summary.cells.iter_mut().zip(times) {
            cell.checks[0].details = vec![format!("host-001.0 did not run for {ms} ms")];
            (cell.checks[0].verdict, cell.verdict) = (Verdict::Inconclusive, Verdict::Inconclusive);
        }
        let reason = format!("in 3 of 4 repetitions{first}: host-001.0 did not run for 300 ms");
        let text = told(&summary);
        assert!(text.contains(&format!("\n? predecessor-watch, split_brain: {reason}\n")), "{text}");
        assert_eq!(text.matches("did not run").count(), 1, "{text}");
        assert!(html(&summary).expect("the page is made").contains(&reason));
    }
}

#[test]
fn leads_lost_without_a_fault_are_told_with_the_stalls_of_their_cells() {
    let mut summary = passed();
    summary.cells[0].handovers.unplanned = 54;
    summary.cells[1].stalls.over_limit = 7;
    let lost = "54 leads were lost though no fault explains it";
    let text = told(&summary);
    assert!(text.contains(&format!("{lost}.\n")), "{text}");
    let stalls = &mut summary.cells[0].stalls;
    (stalls.over_limit, stalls.longest_ns) = (2, 1_200_000_000);
    let text = told(&summary);
    let stalled = "in the same cells the harness itself stalled 2 times for longer than T/10, at most for 1.2 s";
    assert!(text.contains(&format!("{lost}; {stalled}.\n")), "{text}");
}

#[test]
fn times_of_few_failovers_are_marked() {
    let mut summary = passed();
    summary.pools[0].handovers.injections = 20;
    let failover = &mut summary.pools[0].failover;
    failover.void = 17;
    let whole = failover.whole.as_mut().expect("failovers");
    (whole.n, whole.censored) = (3, 0);
    let text = told(&summary);
    let why = "! predecessor-watch-crash: its times are of 3 failovers, and 17 more are void by stalls\n";
    assert!(text.contains("5.46 s (few)") && text.contains(why), "{text}");
    assert!(text.contains("A crash costs 5.46 s with T = 6 s (3 failovers)"), "{text}");
}

#[test]
fn the_base_stands_before_the_new_side_whichever_was_run_first() {
    let mut summary = passed();
    let turns =
        [(ComparisonSide::New, 1), (ComparisonSide::Base, 1), (ComparisonSide::Base, 2), (ComparisonSide::New, 2)];
    for (cell, (side, number)) in summary.cells.iter_mut().zip(turns) {
        let of = if side == ComparisonSide::New { "crash-new" } else { "crash" };
        cell.info.contest = Some(PairMember { pair: "crash".into(), side });
        cell.info.repetition = Some(Repetition { of: of.into(), number, count: 2, at_most: 0 });
        cell.injections = herd().cells[0].injections.clone();
    }
    let pool = |place: usize| {
        let mut pool = summary.pools[0].clone();
        pool.repetitions[0].cell = summary.cells[place].info.name.clone();
        pool
    };
    summary.pools = vec![pool(0), pool(1)];
    let lines = |text: &str, begins: &[&str]| -> Vec<usize> {
        begins.iter().map(|begin| text.find(*begin).unwrap_or_else(|| panic!("{begin} is missing: {text}"))).collect()
    };
    assert!(lines(&told(&summary), &["\nbase ", "\nnew "]).is_sorted());
    summary.pools.clear();
    let rounds = ["\nbase, repetition 1", "\nnew, repetition 1", "\nbase, repetition 2", "\nnew, repetition 2"];
    assert!(lines(&told(&summary), &rounds).is_sorted());
}
