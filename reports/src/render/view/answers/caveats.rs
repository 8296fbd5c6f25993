//! What to mind: of whom the sentences do not speak, and what the figures in them stand on.

use super::judged::JudgedCells;
use crate::render::format;
use crate::render::view::run::join_and;
use crate::summary::{CellSummary, Summary};
use hustings_record::EnsembleKind;

pub(super) fn sentences(judged: &JudgedCells<'_>, summary: &Summary) -> Vec<String> {
    let mut sentences: Vec<String> = model(summary.manifest.ensemble_kind).map(str::to_owned).into_iter().collect();
    let without =
        [(judged.failed.len(), "failed", "failed"), (judged.inconclusive.len(), "is inconclusive", "are inconclusive")];
    let without = without.into_iter().filter(|(n, ..)| *n > 0);
    let without: Vec<String> =
        without.map(|(n, one, many)| format!("{} {}", judged.counted(n), if n == 1 { one } else { many })).collect();
    if !without.is_empty() {
        sentences.push(format!("{}: no time in these sentences is of those.", join_and(&without)));
    }
    let missing = summary.cells_missing();
    if missing > 0 {
        sentences.push(format!("{} left no record.", format::plural(missing, "planned cell", "planned cells")));
    }
    if judged.self_tests > 0 {
        let cells = format::plural(judged.self_tests, "cell", "cells");
        sentences.push(format!(
            "{cells} of the self-test ran a recipe that is broken on purpose, and none of this is of those."
        ));
    }
    sentences.extend(samples(judged));
    if judged.passed.iter().any(|cell| cell.failover.measured().is_some()) {
        sentences.push("Times of failovers are medians; the tables below have their tails.".into());
    }
    sentences
}

fn model(kind: EnsembleKind) -> Option<&'static str> {
    match kind {
        EnsembleKind::Simulated => {
            Some("All of this was simulated: times are those of a model of ZooKeeper in virtual time.")
        }
        EnsembleKind::Embedded => {
            Some("The servers were a model of ZooKeeper: times are those of the model, not of real servers.")
        }
        EnsembleKind::Local | EnsembleKind::Docker | EnsembleKind::External => None,
    }
}

/// What became of the handovers that are no plain sample.
fn samples(judged: &JudgedCells<'_>) -> Option<String> {
    let sum = |of: fn(&CellSummary) -> u64| judged.passed.iter().map(|cell| of(cell)).sum::<u64>();
    let all = [
        (sum(|cell| cell.handovers.censored), "had not ended when the run did and count as longer than all that had"),
        (
            sum(|cell| cell.failover.void),
            "are void by stalls and in no time of a failover (overlaps, stale writes, wake-ups and promptness leave out by rules \
             of their own)",
        ),
        (sum(|cell| cell.handovers.retaken), "were retaken by whoever had lost the lead"),
    ];
    let parts: Vec<String> =
        all.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", format::count(*n))).collect();
    let planned = format::plural(sum(|cell| cell.handovers.planned), "handover", "handovers");
    (!parts.is_empty()).then(|| format!("Of {planned} {}.", join_and(&parts)))
}
