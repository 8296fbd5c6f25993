//! Could the checks that passed on this cell have failed? Each is run on mutations of the cell until it catches one.

use std::collections::BTreeMap;

use super::indexed_cell::IndexedCell;
use super::mutation::Mutation;
use super::registry::MUTATIONS;
use super::sites::Sites;
use crate::check::{CellSummary, Testability, judged};
use crate::index::{Index, plausible};
use crate::verdict::Verdict;
use hustings_record::CellRecord;

/// Cells with more events are not examined: each mutation costs as much as judging the cell.
pub const EVENTS_MAX: usize = 1_000_000;

/// Examines the passed checks of a cell, and records the results in the summary.
pub(crate) fn examine(cell: &CellRecord, index: &Index<'_>, summary: &mut CellSummary) {
    let events: usize = cell.segments.iter().map(|segment| segment.events.len()).sum();
    if events > EVENTS_MAX {
        return;
    }
    let passed = summary.checks.iter().filter(|check| check.verdict == Verdict::Pass);
    let mut open: BTreeMap<String, Vec<String>> = passed.map(|check| (check.name.clone(), Vec::new())).collect();
    let mut caught: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let scene = IndexedCell { cell, index };
    for mutation in MUTATIONS.iter() {
        let Some(reasons) = open.get_mut(mutation.check) else { continue };
        match (mutation.sites)(&scene) {
            Sites::Nowhere(why) => reasons.push(format!("{}: {why}", mutation.name)),
            Sites::At(sites) if catches(&scene, mutation, &sites) => {
                open.remove(mutation.check);
                caught.entry(mutation.check.to_owned()).or_default().push(mutation.name.to_owned());
            }
            Sites::At(_) if scene.index.has_stalled() => reasons.push(format!("{}: {STALLED}", mutation.name)),
            Sites::At(_) => reasons.push(format!("{}: it would have passed all the same", mutation.name)),
        }
    }
    for check in &mut summary.checks {
        check.testability = caught.remove(&check.name).map(Testability::WouldCatch);
        if let Some(reasons) = open.remove(&check.name) {
            check.testability = Some(Testability::NotTestableHere(reasons));
        }
    }
}

/// Whether the check that must catch the mutation does so, where it is applied to these sites.
pub(super) fn catches(scene: &IndexedCell<'_>, mutation: &Mutation, sites: &[usize]) -> bool {
    turned(scene, mutation, sites, &[mutation.check]).iter().any(|(_, verdict)| *verdict >= needed(scene, mutation))
}

/// The least verdict that the check must reach on this cell. A result that a stall may explain is inconclusive, not a
/// failure. In a cell with such a stall, the check has caught the mutation if it no longer passes.
pub(super) fn needed(scene: &IndexedCell<'_>, mutation: &Mutation) -> Verdict {
    if scene.index.has_stalled() { Verdict::Inconclusive } else { mutation.verdict }
}

/// Why a mutation is not caught in a cell in which the harness stalled.
pub(super) const STALLED: &str = "a stall of the harness may have caused it";

/// The verdicts of these checks on the altered cell, other than pass.
pub(super) fn turned(
    scene: &IndexedCell<'_>,
    mutation: &Mutation,
    sites: &[usize],
    checks: &[&str],
) -> Vec<(String, Verdict)> {
    let altered = (mutation.edit)(scene, sites).apply(scene.cell);
    let (altered, implausible) = plausible(&altered);
    let index = Index::new(&altered, implausible);
    let turned = judged(&index, |checker| checks.contains(&checker.name))
        .checks
        .into_iter()
        .filter(|check| check.verdict > Verdict::Pass);
    turned.map(|check| (check.name, check.verdict)).collect()
}
