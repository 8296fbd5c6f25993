//! Was it safe: whether two led at once, for how long, and what the resource took of it. Cells that must be safe, cells in which a
//! race is allowed and cells that must be unsafe are three things; overlaps and stale writes are two, and are never added up.

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
    let overlapping = |cell: &&&CellSummary| cell.split_brain.active.seen > 0;
    let forbidden = |cell: &&&CellSummary| is_forbidden(cell, SplitBrain::NAME, cell.info.expect.overlap);
    let failed: Vec<&CellSummary> = judged.failed.iter().filter(overlapping).filter(forbidden).copied().collect();
    sentences.extend(twice(judged, &failed, "Not safe: two led at once, where that must not be,"));
    let passed = |must: bool| {
        let state = if must { State::Unsafe } else { State::Pass };
        let is = move |cell: &&&CellSummary| State::of_cell(cell) == state;
        judged.passed.iter().filter(overlapping).filter(is).copied().collect::<Vec<_>>()
    };
    let (brief, long): (Vec<_>, Vec<_>) = passed(false).into_iter().partition(|cell| overlaps_briefly(cell));
    sentences.extend(nobody_twice(judged));
    sentences.extend(twice(judged, &long, "Two led at once, which the scenario allows,"));
    sentences.extend(twice(judged, &brief, "Two led at once for moments, as the scenario allows,"));
    let (must, race): (Vec<_>, Vec<_>) =
        passed(true).into_iter().partition(|cell| cell.info.expect.overlap == Expectation::Some);
    sentences.extend(twice(judged, &must, "Two led at once where the policy is known to be unsafe,"));
    sentences.extend(twice(judged, &race, "Two led at once, where only the writes are known to be unsafe,"));
    sentences.extend(stale(judged));
    let possible: u64 = judged.passed.iter().chain(&judged.inconclusive).map(|cell| cell.split_brain.possible).sum();
    if possible > 0 {
        let n = format::plural(possible, "overlap is", "overlaps are");
        sentences.push(format!("{n} possible: the clocks' brackets neither prove nor exclude them."));
    }
    if sentences.is_empty() {
        sentences
            .push("No handover was judged in which two could have led at once: nothing is shown either way.".into());
    }
    sentences
}

/// Whether the cell forbids what this check looks for: it may have failed for another reason.
fn is_forbidden(cell: &CellSummary, check: &str, expected: Expectation) -> bool {
    let failed = cell.checks.iter().any(|one| one.name == check && one.verdict == Verdict::Fail);
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
    let took = |cell: &&&CellSummary| counted_writes(cell).seen > 0;
    let forbidden = |cell: &&&CellSummary| is_forbidden(cell, Writes::NAME, cell.info.expect.stale_writes);
    let failed: Vec<&CellSummary> = judged.failed.iter().filter(took).filter(forbidden).copied().collect();
    let allowed: Vec<&CellSummary> = judged.passed.iter().filter(took).copied().collect();
    for (cells, how) in [(failed, "where none may be"), (allowed, "as the scenario expects or allows")] {
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
