//! Was it safe: whether two led at once, for how long, and what the resource took of it. Cells that must be safe, cells in which a
//! race is allowed and cells that must be unsafe are three things; overlaps and stale writes are two, and are never added up. Each
//! one that was seen is in a sentence, with the verdict of its cell.

use super::judged::{JudgedCells, behind};
use crate::check::Section as _;
use crate::render::format;
use crate::render::view::row::counted_writes;
use crate::render::view::run::join_and;
use crate::state::{State, overlaps_briefly};
use crate::summary::{CellSummary, Rate, SplitBrain, Writes};
use crate::verdict::Verdict;
use hustings_record::{Expectation, Fencing};

/// Cells that are named one by one.
const NAMED_MAX: usize = 4;

pub(super) fn sentences(judged: &JudgedCells<'_>) -> Vec<String> {
    let mut sentences = Vec::new();
    let overlapping = |state: State| showing(judged, &[state], |cell| cell.split_brain.active.seen > 0);
    let forbidden = |cell: &&CellSummary| is_forbidden(judged, cell, SplitBrain::NAME, cell.info.expect.overlap);
    let (failed, allowed): (Vec<_>, Vec<_>) = overlapping(State::Fail).into_iter().partition(forbidden);
    sentences.extend(twice(judged, &failed, "Not safe: two led at once, where that must not be,"));
    let (brief, long): (Vec<_>, Vec<_>) = overlapping(State::Pass).into_iter().partition(|cell| overlaps_briefly(cell));
    sentences.extend(nobody_twice(judged));
    sentences.extend(twice(judged, &long, "Two led at once, which the scenario allows,"));
    sentences.extend(twice(judged, &brief, "Two led at once for moments, as the scenario allows,"));
    let (must, race): (Vec<_>, Vec<_>) =
        overlapping(State::Unsafe).into_iter().partition(|cell| cell.info.expect.overlap == Expectation::Some);
    sentences.extend(twice(judged, &must, "Two led at once where the policy is known to be unsafe,"));
    sentences.extend(twice(judged, &race, "Two led at once, where only the writes are known to be unsafe,"));
    let elsewhere = "Two led at once, as the scenario expects or allows, where something else failed,";
    sentences.extend(twice(judged, &allowed, elsewhere));
    let open = overlapping(State::Inconclusive);
    sentences.extend(twice(judged, &open, "Two led at once where the verdict is inconclusive,"));
    sentences.extend(stale(judged));
    let possible: u64 = judged.passed.iter().chain(&judged.inconclusive).map(|cell| cell.split_brain.possible).sum();
    if possible > 0 {
        let n = format::plural(possible, "overlap is", "overlaps are");
        sentences.push(format!("{n} possible: the clocks' brackets neither prove nor exclude them."));
    }
    if sentences.is_empty() {
        sentences.push(nothing_shown(judged));
    }
    sentences
}

/// Why there is no sentence, neither on an overlap nor on handovers without one.
fn nothing_shown(judged: &JudgedCells<'_>) -> String {
    let [one, many] = judged.noun;
    if judged.recorded.iter().all(|cell| cell.split_brain.active.n == 0) {
        "No handover was judged in which two could have led at once: nothing is shown either way.".into()
    } else if judged.passed.is_empty() {
        format!("No {one} passed, and the handovers of the others are no evidence: nothing is shown either way.")
    } else {
        format!("Of the {many} that passed, none had a handover in which two could have led at once: nothing is shown.")
    }
}

/// The cells of these states that show something.
fn showing<'a>(
    judged: &JudgedCells<'a>,
    states: &[State],
    shows: impl Fn(&CellSummary) -> bool,
) -> Vec<&'a CellSummary> {
    let all = [&judged.passed, &judged.failed, &judged.inconclusive, &judged.unpooled].into_iter().flatten().copied();
    all.filter(|cell| states.contains(&State::of_cell(cell)) && shows(cell)).collect()
}

/// Whether the cell forbids what this check looks for: it may have failed for another reason.
fn is_forbidden(judged: &JudgedCells<'_>, cell: &CellSummary, check: &str, expected: Expectation) -> bool {
    let fails = |cell: &CellSummary| cell.checks.iter().any(|one| one.name == check && one.verdict == Verdict::Fail);
    // A pool has no checks of its own: its repetitions have them.
    let is_repetition = |one: &&&CellSummary| one.info.configuration() == cell.info.configuration();
    let failed = if cell.checks.is_empty() {
        judged.recorded.iter().filter(is_repetition).any(|one| fails(one))
    } else {
        fails(cell)
    };
    failed || expected.forbids_the_unexplained()
}

/// For how long two led at once in these cells.
fn twice(judged: &JudgedCells<'_>, cells: &[&CellSummary], what: &str) -> Option<String> {
    let longest = cells.iter().map(|cell| cell.split_brain.active_max_ns).max()?;
    let rate = Rate::pooled(cells.iter().map(|cell| cell.split_brain.active));
    Some(format!(
        "{what} for up to {}: {} in {} ({}).",
        format::said(longest),
        format::plural(rate.seen, "overlap", "overlaps"),
        format::plural(rate.n, "handover", "handovers"),
        named(judged, cells)
    ))
}

/// The cells that must be safe, and were: all of their zeros together.
fn nobody_twice(judged: &JudgedCells<'_>) -> Option<String> {
    let zero = |cell: &&&CellSummary| {
        cell.split_brain.active.seen == 0 && cell.split_brain.possible == 0 && cell.split_brain.active.n > 0
    };
    let cells: Vec<&CellSummary> = judged.passed.iter().filter(zero).copied().collect();
    let behind = behind(cells.iter().copied(), |cell| cell.split_brain.active)?;
    let clean = |cell: &&CellSummary| cell.split_brain.active.seen == 0 && cell.split_brain.possible == 0;
    let all = judged.all_passed() && judged.passed.iter().all(clean);
    let where_ = if all { String::new() } else { format!("In {} ", judged.counted(cells.len())) };
    let nobody = if all { "Nobody" } else { "nobody" };
    Some(format!("{where_}{nobody} led beside another {behind}."))
}

/// What the resource took of leaders that had been succeeded, in the ledger that each cell's verdict counts.
fn stale(judged: &JudgedCells<'_>) -> Vec<String> {
    let mut sentences = Vec::new();
    let took = |states: &[State]| showing(judged, states, |cell| counted_writes(cell).seen > 0);
    let forbidden = |cell: &&CellSummary| is_forbidden(judged, cell, Writes::NAME, cell.info.expect.stale_writes);
    let (failed, elsewhere): (Vec<_>, Vec<_>) = took(&[State::Fail]).into_iter().partition(forbidden);
    for (cells, how) in [
        (failed, "where none may be"),
        (took(&[State::Pass, State::Unsafe]), "as the scenario expects or allows"),
        (elsewhere, "as the scenario expects or allows, where something else failed"),
        (took(&[State::Inconclusive]), "where the verdict is inconclusive"),
    ] {
        if !cells.is_empty() {
            let seen = cells.iter().map(|cell| counted_writes(cell).seen).sum();
            let seen = format::plural(seen, "stale write was", "stale writes were");
            let unfenced = cells.iter().all(|cell| cell.info.fencing == Fencing::Unfenced);
            let by = if unfenced { "a resource without a fence" } else { "the resource" };
            sentences.push(format!("{seen} accepted by {by}, {how} ({}).", named(judged, &cells)));
        }
    }
    let clean = judged.passed.iter().filter(|cell| counted_writes(cell).n > 0 && counted_writes(cell).seen == 0);
    if let Some(behind) = behind(clean.clone().copied(), |cell| *counted_writes(cell)) {
        let nothing = if sentences.is_empty() && judged.all_passed() {
            "No stale write was accepted".into()
        } else {
            format!("In {} no stale write was accepted", judged.counted(clean.count()))
        };
        sentences.push(format!("{nothing} {behind}."));
    }
    let fenced = judged.passed.iter().filter(|cell| cell.info.fencing == Fencing::Fenced);
    let refused: u64 = fenced.map(|cell| cell.writes.fenced_off).sum();
    if refused > 0 {
        sentences.push(format!("Where there is a fence it refused {}.", format::plural(refused, "write", "writes")));
    }
    sentences
}

/// What tells these cells from the others; the rest is counted.
fn named(judged: &JudgedCells<'_>, cells: &[&CellSummary]) -> String {
    let names: Vec<String> = cells.iter().take(NAMED_MAX).map(|cell| judged.name(cell)).collect();
    match cells.len().saturating_sub(NAMED_MAX) {
        0 if names.len() == 1 => names.concat(),
        0 => names.join("; "),
        more => format!("{}; {}", names.join("; "), join_and(&[format!("{more} more")])),
    }
}
