//! What the sides of a comparison are: the programs that took part, and the build that hosts were started from.

use crate::check::CellSummary;
use crate::sound::configurations;
use crate::summary::Summary;
use hustings_record::{BASE_BUILD, ComparisonSide};

/// Limit of programs that are named.
const NAMED_MAX: usize = 3;

/// The name of a side, or of a run that has none. None if the record tells neither its programs nor its build.
pub(super) fn side_name(summary: &Summary, side: Option<ComparisonSide>) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    for one in configurations(summary, side) {
        let Some(found) = one.all().find_map(program) else { continue };
        if !names.contains(&found) {
            names.push(found);
        }
    }
    let more = names.len().saturating_sub(NAMED_MAX);
    names.truncate(NAMED_MAX);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    names.extend(side.and_then(|side| build(summary, side)));
    (!names.is_empty()).then(|| names.join(", "))
}

/// The command of a cell's program, and the name and version that the program gives.
fn program(cell: &CellSummary) -> Option<String> {
    let versions = cell.programs.names.join(", ");
    match cell.info.program() {
        Some(command) if versions.is_empty() => Some(command.to_owned()),
        Some(command) => Some(format!("{command} ({versions})")),
        None => (!versions.is_empty()).then_some(versions),
    }
}

/// The build of hustings that the hosts of a side were started from, if the two sides have different ones.
fn build(summary: &Summary, side: ComparisonSide) -> Option<String> {
    let versions = &summary.manifest.versions;
    let base = versions.get(BASE_BUILD)?;
    match side {
        ComparisonSide::Base => Some(format!("hosts of {base}")),
        ComparisonSide::New => Some(format!("hosts of the run's own hustings {}", versions.get("hustings")?)),
    }
}
