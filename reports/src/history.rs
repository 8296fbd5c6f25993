//! What is worth keeping of a run among many: when, what, its verdict, and the medians of its failovers.

use serde::Serialize;

use crate::compare::{compared_sides, overall};
use crate::state::State;
use crate::summary::Summary;
use crate::verdict::Verdict;
use hustings_record::{EnsembleKind, Nanos, RunState};

/// One run among others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryEntry {
    /// The record's folder, as seen from where all of them are.
    pub folder: String,
    /// RFC 3339, UTC.
    pub started_utc: String,
    pub scenario: String,
    pub ensemble: EnsembleKind,
    pub verdict: Verdict,
    pub unsafe_as_expected: bool,
    pub state: RunState,
    pub cells: u64,
    pub medians: Vec<Median>,
}

/// Of one configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Median {
    pub cell: String,
    /// The median failover; None where censoring hides it.
    pub p50: Option<Nanos>,
}

impl HistoryEntry {
    /// What a summary says of it.
    #[must_use]
    pub fn of(folder: String, summary: &Summary) -> Self {
        let manifest = &summary.manifest;
        let pooled = summary.pools.iter().map(|pool| (&pool.name, &pool.failover));
        let alone = summary.cells.iter().filter(|cell| cell.info.repetition.is_none() && !cell.info.self_test);
        let alone = alone.map(|cell| (&cell.info.name, &cell.failover));
        let medians = pooled
            .chain(alone)
            .filter_map(|(cell, failover)| Some(Median { cell: cell.clone(), p50: failover.measured()?.p50 }));
        let verdict = overall(summary, compared_sides(summary).as_ref());
        Self {
            folder,
            started_utc: manifest.started_utc.clone(),
            scenario: manifest.scenario.clone(),
            ensemble: manifest.ensemble_kind,
            verdict,
            unsafe_as_expected: State::of_run(summary, verdict) == State::Unsafe,
            state: manifest.state,
            cells: summary.cells.len() as u64,
            medians: medians.collect(),
        }
    }
}
