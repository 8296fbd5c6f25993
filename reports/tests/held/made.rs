//! Summaries built from given injections.

use hustings_record::FaultKind;
use hustings_reports::summary::{CellSummary, InjectionCost, KaplanMeier, Summary};
use hustings_reports::verdict::Verdict;

use crate::render_sample::{empty, sample};

/// An injection that cost one lead, with a new leader after this time; `None`: there was none before the end.
pub(crate) fn injection(at: usize, failover_ms: Option<f64>) -> InjectionCost {
    let ns = failover_ms.map(|ms| (ms * 1e6) as u64);
    let reduced = KaplanMeier { n: ns.is_some().into(), censored: ns.is_none().into(), p50: ns, longest: ns };
    InjectionCost {
        after_ns: at as u64 * 1_000_000_000,
        lost: 1,
        censored: ns.is_none().into(),
        failover: Some(reduced),
        failovers: ns.into_iter().collect(),
        until_write: Some(KaplanMeier { p50: ns.map(|ns| ns + 1_000_000), longest: None, ..reduced }),
        until_writes: ns.iter().map(|ns| ns + 1_000_000).collect(),
        over_floor: None,
        woken: Some(1),
    }
}

pub(crate) fn cell(name: &str, failovers_ms: &[f64]) -> CellSummary {
    let mut cell = sample().cells.into_iter().find(|cell| cell.verdict == Verdict::Pass).expect("a cell that passes");
    cell.info.name = name.to_owned();
    (cell.unsafe_as_expected, cell.info.fault_kind) = (false, FaultKind::Resign);
    cell.injections = failovers_ms.iter().enumerate().map(|(at, &ms)| injection(at, Some(ms))).collect();
    cell
}

pub(crate) fn run(cells: Vec<CellSummary>) -> Summary {
    let mut run = Summary { cells, ..empty() };
    run.manifest.cells_planned = run.cells.len() as u32;
    run
}

/// Eight injections around this many milliseconds.
pub(crate) fn around(ms: f64) -> Vec<f64> {
    [0.0, 0.8, -0.6, 0.3, -0.9, 0.5, -0.2, 0.1].map(|off| ms + off * ms / 100.0).to_vec()
}
