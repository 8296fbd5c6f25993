//! Self-tests: cells whose recipe is broken on purpose. The defect must be detected. If it is not, the same faults and
//! checkers would have missed it in a sound recipe too, and the record cannot pass.

use std::collections::{BTreeMap, BTreeSet};

use crate::check::Section as _;
use crate::summary::{
    CellSummary, CheckResult, FanOutSection, Handovers, LeaderlessTime, Listing, Ownership, Participation, Promptness,
    SplitBrain, StrayWrites, Writes,
};
use crate::verdict::Verdict;
use hustings_record::words::plural;
use hustings_record::{ComparisonSide, FindingKind};

/// Name of the check that it adds to a cell.
const NAME: &str = "self-test";

/// The kinds of findings that a cell's failed checkers show.
#[must_use]
pub fn shown(cell: &CellSummary) -> BTreeSet<FindingKind> {
    FindingKind::ALL.iter().copied().filter(|caught| !shown_by(cell, *caught).is_empty()).collect()
}

/// The checkers whose failure shows this kind of finding.
fn shown_by(cell: &CellSummary, caught: FindingKind) -> Vec<&str> {
    let failed = cell.checks.iter().filter(|check| check.verdict == Verdict::Fail).map(|check| check.name.as_str());
    let told = |name: &&str| checkers(caught).contains(name) && (*name != Participation::NAME || stands(cell, caught));
    failed.filter(told).collect()
}

/// Whether the participation check, which covers several kinds, found this one.
fn stands(cell: &CellSummary, caught: FindingKind) -> bool {
    let lists = cell.standing.begin.iter().chain(&cell.standing.end);
    let left = |of: fn(&Listing) -> u64| lists.map(of).sum::<u64>() > 0;
    match caught {
        FindingKind::Watches => left(|listing| listing.watches_left),
        FindingKind::Orphan => left(|listing| listing.znodes_left + listing.sessions_left),
        _ => true,
    }
}

/// The checkers that cover this kind of finding.
fn checkers(caught: FindingKind) -> &'static [&'static str] {
    match caught {
        FindingKind::Overlap => &[SplitBrain::NAME, Ownership::NAME],
        FindingKind::StaleWrite => &[Writes::NAME],
        FindingKind::StrayWrite => &[StrayWrites::NAME],
        FindingKind::Leaderless => &[LeaderlessTime::NAME],
        FindingKind::Orphan => &[Ownership::NAME, Participation::NAME],
        FindingKind::Watches => &[Participation::NAME],
        FindingKind::FanOut => &[FanOutSection::NAME],
        FindingKind::Unplanned => &[Handovers::NAME],
        FindingKind::Absent => &[Participation::NAME],
        FindingKind::Late => &[Promptness::NAME],
    }
}

/// Inverts the verdict of a broken recipe's cell, since that is meant to fail.
pub(super) fn judge(cell: &mut CellSummary) {
    if !cell.info.self_test {
        return;
    }
    // A failure for another reason does not show whether this bug would be detected.
    let kinds = &cell.info.must_show;
    let wanted: Vec<&str> = kinds.iter().flat_map(|caught| checkers(*caught)).copied().collect();
    let failed = cell.checks.iter().filter(|check| check.verdict == Verdict::Fail).map(|check| check.name.as_str());
    let by: BTreeSet<&str> = match &kinds[..] {
        [] => failed.collect(),
        kinds => kinds.iter().flat_map(|caught| shown_by(cell, *caught)).collect(),
    };
    let by: Vec<&str> = by.into_iter().collect();
    let caught = !by.is_empty();
    let recipe = &cell.info.recipe;
    let headline = match caught {
        true => format!("{recipe} was caught, by {}", by.join(", ")),
        false if wanted.is_empty() => format!("{recipe} was not caught under this fault"),
        false => format!("{recipe} was not caught under this fault by any of {}", wanted.join(", ")),
    };
    let about = "the lines below judge a recipe that is broken on purpose".to_owned();
    let verdict = if caught { Verdict::Pass } else { Verdict::Inconclusive };
    cell.checks.insert(
        0,
        CheckResult {
            name: NAME.to_owned(),
            verdict,
            headline,
            details: caught.then_some(about).into_iter().collect(),
            unsafe_as_expected: caught,
            rests_on: Vec::new(),
            by_stalls: false,
            testability: None,
        },
    );
    (cell.verdict, cell.unsafe_as_expected) = (verdict, caught);
}

/// The self-tests' doubts about the whole record: one for each broken recipe that was caught in none of its cells. One
/// cell of a recipe suffices, since not every fault gives its defect an opportunity. The cells of another recipe, or of
/// the other side of a comparison, show nothing about it.
pub(super) fn doubts(cells: &[CellSummary]) -> Vec<String> {
    let mut broken: BTreeMap<(Option<ComparisonSide>, &str), Vec<&CellSummary>> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell.info.self_test) {
        let side = cell.info.contest.as_ref().map(|contest| contest.side);
        broken.entry((side, cell.info.recipe.as_str())).or_default().push(cell);
    }
    let missed = broken.into_iter().filter(|(_, of_it)| of_it.iter().all(|cell| !cell.unsafe_as_expected));
    missed
        .map(|((side, recipe), of_it)| {
            let side = side.map_or_else(String::new, |side| format!(" on the {side} side"));
            format!(
                "self-test: {recipe} was not caught{side}, in {}: a bug like it would not have been seen in this run",
                plural(of_it.len() as u64, "cell", "cells")
            )
        })
        .collect()
}
