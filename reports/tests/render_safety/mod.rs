//! What the answer on safety says of overlaps, whatever became of their cells, and of handovers without any.

use crate::render_sample::pools::repeated;
use crate::render_sample::{fenced_and_unfenced, herd};
use crate::{page, skeleton};
use hustings_record::Expectation;
use hustings_reports::summary::{SplitBrain, Summary, Writes};
use hustings_reports::verdict::Verdict;

/// The sentences on safety.
fn safety(summary: &Summary) -> String {
    let text = skeleton(&page(summary));
    let (_, answer) = text.split_once("\nSafety\n").expect("an answer");
    answer.split_once("\nLeaderless time\n").or(answer.split_once("\nCaveats\n")).expect("a next one").0.to_owned()
}

const NO_HANDOVER: &str = "No handover was judged";

#[test]
fn handovers_of_cells_that_did_not_pass_are_no_evidence_but_were_there() {
    for verdict in [Verdict::Fail, Verdict::Inconclusive] {
        let mut summary = herd();
        summary.cells.iter_mut().for_each(|cell| cell.verdict = verdict);
        let answer = safety(&summary);
        assert!(answer.contains("No cell passed") && !answer.contains(NO_HANDOVER), "{answer}");
        // One passes, and has no handover.
        let first = &mut summary.cells[0];
        (first.verdict, first.split_brain, first.writes) = (Verdict::Pass, SplitBrain::default(), Writes::default());
        let answer = safety(&summary);
        assert!(answer.contains("Of the cells that passed, none had a handover"), "{answer}");
        assert!(!answer.contains(NO_HANDOVER), "{answer}");
        // No cell has one.
        for cell in &mut summary.cells {
            (cell.split_brain, cell.writes) = (SplitBrain::default(), Writes::default());
        }
        assert!(safety(&summary).contains(NO_HANDOVER));
    }
}

#[test]
fn overlaps_that_were_seen_are_named_with_the_verdict_of_their_cell() {
    let mut summary = fenced_and_unfenced();
    (summary.cells[0].verdict, summary.cells[1].verdict) = (Verdict::Fail, Verdict::Inconclusive);
    let answer = safety(&summary);
    for sentence in [
        "Two led at once, as the scenario expects or allows, where something else failed, for up to 8 ms: 3 overlaps in 40 \
         handovers (on-disconnect, fenced).",
        "Two led at once where the verdict is inconclusive, for up to 8 ms: 3 overlaps in 40 handovers (on-disconnect, \
         unfenced).",
        "Two led at once for moments, as the scenario allows, for up to 8 ms: 12 overlaps in 160 handovers",
    ] {
        assert!(answer.contains(sentence), "{answer}");
    }
    let check = summary.cells[0].checks.iter_mut().find(|check| check.name == "split-brain").expect("the check");
    check.verdict = Verdict::Fail;
    let answer = safety(&summary);
    assert!(answer.contains("Not safe: ") && !answer.contains("where something else failed"), "{answer}");
}

#[test]
fn stale_writes_of_cells_that_did_not_pass_are_named_too() {
    let mut summary = fenced_and_unfenced();
    for (cell, verdict) in summary.cells.iter_mut().zip([Verdict::Fail, Verdict::Inconclusive]) {
        (cell.verdict, cell.info.expect.stale_writes) = (verdict, Expectation::Any);
        (cell.writes.past_fence.seen, cell.writes.unfenced.seen) = (7, 7);
    }
    let answer = safety(&summary);
    for sentence in [
        "7 stale writes were accepted by the resource, as the scenario expects or allows, where something else failed \
         (on-disconnect, fenced).",
        "7 stale writes were accepted by a resource without a fence, where the verdict is inconclusive (on-disconnect, \
         unfenced).",
    ] {
        assert!(answer.contains(sentence), "{answer}");
    }
}

#[test]
fn an_overlap_of_a_repetition_that_is_in_no_figure_is_named() {
    let mut summary = repeated();
    let broken = summary.pools.iter().flat_map(|pool| &pool.repetitions).find(|one| !one.pooled).expect("one");
    let broken = broken.cell.clone();
    let cell = summary.cells.iter_mut().find(|cell| cell.info.name == broken).expect("its cell");
    cell.verdict = Verdict::Inconclusive;
    (cell.split_brain.active.seen, cell.split_brain.active_max_ns) = (1, 8_000_000);
    let answer = safety(&summary);
    let sentence = "Two led at once where the verdict is inconclusive, for up to 8 ms: 1 overlap in 40 handovers";
    assert!(answer.contains(sentence), "{answer}");
}

#[test]
fn an_overlap_that_is_longer_than_the_scenario_allows_is_not_safe_in_any_repetition() {
    let mut summary = repeated();
    for cell in summary.cells.iter_mut().filter(|cell| cell.info.recipe == "naive") {
        cell.info.expect.overlap = Expectation::Any;
        for check in cell.checks.iter_mut().filter(|check| check.name == "split_brain") {
            check.name = "split-brain".into();
        }
    }
    let answer = safety(&summary);
    assert!(answer.contains("Not safe: ") && !answer.contains("where something else failed"), "{answer}");
}
