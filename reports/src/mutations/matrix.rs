//! The table of a cell: every mutation, the checks that catch it, or why none can.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::examine::{STALLED, catches, needed, turned};
use super::indexed_cell::IndexedCell;
use super::mutation::Mutation;
use super::registry::MUTATIONS;
use super::sites::Sites;
use crate::check::{CHECKERS, judged};
use crate::index::{Index, plausible};
use crate::verdict::Verdict;
use hustings_record::CellRecord;

/// Maximum of sites of a mutation tried one by one, spread over all of them.
const SINGLE_MAX: usize = 3;

/// What mutations of one cell come to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Matrix {
    pub cell: String,
    /// Checks that pass on the cell as it is.
    pub passed: Vec<String>,
    pub rows: Vec<MutationRow>,
}

/// What one mutation comes to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MutationRow {
    pub mutation: String,
    /// The check that must catch it.
    pub check: String,
    pub outcome: SiteOutcome,
}

/// What became of a mutation in a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum SiteOutcome {
    /// It cannot be shown here.
    NoSite { reason: String },
    /// The check did not pass on the cell as it is: nothing can be told.
    NotPassed,
    /// It was applied: at how many sites at once, and whether its check came to the verdict that it must; to which checks came
    /// what; and of some sites one by one, how many were tried, and the numbers of those at which it was not caught.
    Applied { sites: u64, caught: bool, turned: Vec<(String, Verdict)>, tried_alone: u64, missed_alone: Vec<u64> },
}

impl Matrix {
    /// The rows in which the check that must catch the mutation did not, at all sites together or at one alone.
    pub fn holes(&self) -> impl Iterator<Item = &MutationRow> {
        self.rows.iter().filter(|row| match &row.outcome {
            SiteOutcome::Applied { caught, missed_alone, .. } => !caught || !missed_alone.is_empty(),
            SiteOutcome::NoSite { .. } | SiteOutcome::NotPassed => false,
        })
    }

    /// Checks that pass, and caught a mutation that they are there to catch.
    #[must_use]
    pub fn testable(&self) -> Vec<&str> {
        let catches = |name: &str| {
            self.rows.iter().filter(|row| row.check == name).any(|row| match &row.outcome {
                SiteOutcome::Applied { caught, .. } => *caught,
                SiteOutcome::NoSite { .. } | SiteOutcome::NotPassed => false,
            })
        };
        self.passed.iter().map(String::as_str).filter(|name| catches(name)).collect()
    }
}

/// Applies every mutation to the cell, wherever it has sites.
#[must_use]
pub fn matrix(cell: &CellRecord) -> Matrix {
    let (cell, implausible) = plausible(cell);
    let index = Index::new(&cell, implausible);
    let checks = judged(&index, |_| true).checks.into_iter();
    let passed: Vec<String> = checks.filter(|check| check.verdict == Verdict::Pass).map(|check| check.name).collect();
    let scene = IndexedCell { cell: &cell, index: &index };
    let rows = MUTATIONS.iter().map(|mutation| MutationRow {
        mutation: mutation.name.to_owned(),
        check: mutation.check.to_owned(),
        outcome: outcome(&scene, mutation, &passed),
    });
    Matrix { cell: index.info.name.clone(), rows: rows.collect(), passed }
}

fn outcome(scene: &IndexedCell<'_>, mutation: &Mutation, passed: &[String]) -> SiteOutcome {
    let checker = CHECKERS.iter().find(|checker| checker.name == mutation.check);
    if !checker.is_some_and(|checker| (checker.applies)(scene.index)) {
        return SiteOutcome::NoSite { reason: "the check does not apply to this cell".into() };
    }
    let sites = match (mutation.sites)(scene) {
        Sites::Nowhere(reason) => return SiteOutcome::NoSite { reason },
        Sites::At(sites) => sites,
    };
    if !passed.iter().any(|name| name == mutation.check) {
        return SiteOutcome::NotPassed;
    }
    let names: Vec<&str> = passed.iter().map(String::as_str).collect();
    let all = turned(scene, mutation, &sites, &names);
    let singles = if mutation.one_by_one { spread(sites.len()) } else { Vec::new() };
    let caught = all.iter().any(|(name, verdict)| name == mutation.check && *verdict >= needed(scene, mutation));
    if !caught && scene.index.has_stalled() {
        return SiteOutcome::NoSite { reason: STALLED.into() };
    }
    // A stall covers some sites, and not others.
    let is_missed = |number: &usize| !scene.index.has_stalled() && !catches(scene, mutation, &[sites[*number]]);
    let missed_alone = singles.iter().copied().filter(is_missed).map(|number| number as u64).collect();
    SiteOutcome::Applied {
        sites: sites.len() as u64,
        caught,
        turned: all,
        tried_alone: singles.len() as u64,
        missed_alone,
    }
}

/// The numbers of the first of so many sites, the last, and some in between at equal steps.
fn spread(sites: usize) -> Vec<usize> {
    let count = sites.min(SINGLE_MAX);
    let mut chosen: Vec<usize> = (0..count).map(|at| at * (sites - 1) / (count - 1).max(1)).collect();
    chosen.dedup();
    chosen
}

/// The cell as this mutation alters it at one of its sites, counted from 0, or at all; `None`: it has no such site.
#[must_use]
pub fn altered(cell: &CellRecord, mutation: &Mutation, site: Option<usize>) -> Option<CellRecord> {
    let (cell, implausible) = plausible(cell);
    let index = Index::new(&cell, implausible);
    let scene = IndexedCell { cell: &cell, index: &index };
    let Sites::At(sites) = (mutation.sites)(&scene) else { return None };
    let chosen = match site {
        Some(site) => vec![*sites.get(site)?],
        None => sites,
    };
    Some((mutation.edit)(&scene, &chosen).apply(&cell))
}
