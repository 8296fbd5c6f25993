//! `hustings check RECORD --mutations`: the cells on which each check could have failed at all.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use hustings_record::words::plural;
use hustings_record::{Damage, RecordReader};
use hustings_reports::mutations::{Matrix, SiteOutcome, matrix};

use crate::cmd::files::unread;
use crate::console::exit::{Exit, Failure};
use crate::console::output::{inform, say_json};

/// Applies every mutation to every cell of a record, and reports the results. Writes no files.
pub(super) fn mutations(folder: &Path, damage: Damage, json: bool) -> Result<Exit, Failure> {
    let mut reading = RecordReader::begin(folder, damage).map_err(|error| unread(folder, error, damage))?;
    let mut all = Vec::new();
    while let Some(cell) = reading.next_cell().map_err(|error| unread(folder, error, damage))? {
        // A recipe that is broken on purpose is expected to fail.
        if !cell.info.self_test {
            let found = matrix(&cell);
            tell_cell(&found);
            all.push(found);
        }
    }
    tell_all(&all);
    if json {
        say_json(serde_json::to_string_pretty(&all).map_err(Failure::infrastructure)?)?;
    }
    let holes = all.iter().any(|found| found.holes().next().is_some());
    Ok(if holes || all.is_empty() { Exit::Inconclusive } else { Exit::Pass })
}

/// Prints a line for the cell, one for each untestable check, and one for each missed mutation.
fn tell_cell(found: &Matrix) {
    let testable: BTreeSet<&str> = found.testable().into_iter().collect();
    inform!("{}: {} of {} checks that pass could have failed", found.cell, testable.len(), found.passed.len());
    for check in found.passed.iter().filter(|check| !testable.contains(check.as_str())) {
        let reasons: BTreeSet<&str> = found
            .rows
            .iter()
            .filter(|row| row.check == *check)
            .filter_map(|row| match &row.outcome {
                SiteOutcome::NoSite { reason } => Some(reason.as_str()),
                SiteOutcome::NotPassed | SiteOutcome::Applied { .. } => None,
            })
            .collect();
        inform!("  – {check} is not testable here: {}", reasons.into_iter().collect::<Vec<_>>().join("; "));
    }
    for row in found.holes() {
        if let SiteOutcome::Applied { sites, caught, tried_alone, missed_alone, .. } = &row.outcome {
            let sites = plural(*sites, "site", "sites");
            let how = match caught {
                false => format!("at {sites} together"),
                true => format!("at {} of {tried_alone} single sites", missed_alone.len()),
            };
            inform!("  ✗ {} misses {} {how}", row.check, row.mutation);
        }
    }
}

/// Results of a mutation over all cells: caught, missed, or impossible and why.
#[derive(Default)]
struct MutationTally<'m> {
    check: &'m str,
    caught: u64,
    missed: u64,
    reasons: BTreeMap<&'m str, u64>,
}

/// Prints the table of all cells: how many caught or missed each mutation, and why it was impossible in the others.
fn tell_all(all: &[Matrix]) {
    let mut names: Vec<&str> = Vec::new();
    let mut tallies: BTreeMap<&str, MutationTally<'_>> = BTreeMap::new();
    for row in all.iter().flat_map(|found| &found.rows) {
        let tally = tallies.entry(&row.mutation).or_insert_with(|| {
            names.push(&row.mutation);
            MutationTally { check: &row.check, ..MutationTally::default() }
        });
        match &row.outcome {
            SiteOutcome::Applied { caught, missed_alone, .. } if *caught && missed_alone.is_empty() => {
                tally.caught += 1
            }
            SiteOutcome::Applied { .. } => tally.missed += 1,
            SiteOutcome::NotPassed => *tally.reasons.entry("the check did not pass").or_default() += 1,
            SiteOutcome::NoSite { reason } => *tally.reasons.entry(reason).or_default() += 1,
        }
    }
    inform!("");
    inform!("mutation (check): caught, missed; not possible, and why, by cells");
    for name in names {
        let MutationTally { check, caught, missed, reasons } = &tallies[name];
        let reasons: Vec<String> = reasons.iter().map(|(reason, cells)| format!("{cells} {reason}")).collect();
        let reasons = if reasons.is_empty() { String::new() } else { format!("; {}", reasons.join(", ")) };
        inform!("  {name} ({check}): {caught}, {missed}{reasons}");
    }
    let (passed, testable): (usize, usize) =
        all.iter().fold((0, 0), |sum, found| (sum.0 + found.passed.len(), sum.1 + found.testable().len()));
    let holes: usize = all.iter().map(|found| found.holes().count()).sum();
    inform!(
        "{testable} of {passed} pairs of a cell and a check that passes are testable; {} by the check that must catch it",
        plural(holes as u64, "mutation was missed", "mutations were missed")
    );
}
