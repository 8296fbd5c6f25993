//! A page over many runs: each scenario with its configurations, how their failovers went from run to run, and the runs themselves.

use std::collections::BTreeMap;

use serde::Serialize;

use super::templates::filled;
use super::{RenderError, clean, format};
use crate::history::HistoryEntry;
use crate::state::{State, StateBadge};
use hustings_record::Nanos;
use hustings_record::words::duration;

const WIDTH: f64 = 160.0;
const HEIGHT: f64 = 28.0;
/// So that no line is cut at its edge.
const EDGE: f64 = 3.0;

#[derive(Serialize)]
struct Page {
    scenarios: Vec<Scenario>,
}

#[derive(Serialize)]
struct Scenario {
    name: String,
    ensemble: &'static str,
    lines: Vec<HistoryLine>,
    runs: Vec<HistoryRun>,
}

/// One configuration over all runs.
#[derive(Serialize)]
struct HistoryLine {
    cell: String,
    /// In the last run that had it.
    last: String,
    least: String,
    most: String,
    /// Pieces of the curve, each as points of a drawing: it is broken where a run has no median.
    pieces: Vec<String>,
    /// Where each median lies, so that one alone is seen too.
    points: Vec<(String, String)>,
    title: String,
}

#[derive(Serialize)]
struct HistoryRun {
    started: String,
    folder: String,
    link: String,
    state: StateBadge,
    cells: u64,
}

/// All runs, those of one scenario on one kind of ensemble together, in order of time. Links lead to the reports in their folders.
///
/// # Errors
/// Faults of this program.
pub fn runs_page(runs: &[HistoryEntry]) -> Result<String, RenderError> {
    let mut by_scenario: BTreeMap<(&str, &'static str), Vec<&HistoryEntry>> = BTreeMap::new();
    for run in runs {
        by_scenario.entry((&run.scenario, run.ensemble.name())).or_default().push(run);
    }
    let scenarios = by_scenario.into_iter().map(|((name, ensemble), mut runs)| {
        runs.sort_by(|one, other| (&one.started_utc, &one.folder).cmp(&(&other.started_utc, &other.folder)));
        Scenario {
            name: clean::short(name, 80),
            ensemble,
            lines: lines(&runs),
            runs: runs.iter().rev().map(|run| shown(run)).collect(),
        }
    });
    let page = Page { scenarios: scenarios.collect() };
    Ok(filled("runs.html", &page)?)
}

fn shown(run: &HistoryEntry) -> HistoryRun {
    // A folder's name may hold what means something in a link.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./~".contains(&byte);
    let link = run.folder.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") });
    HistoryRun {
        started: clean::short(&run.started_utc, 40),
        folder: clean::short(&run.folder, 80),
        link: format!("./{}/report.html", link.collect::<String>()),
        state: State::told(run.verdict, run.unsafe_as_expected).into(),
        cells: run.cells,
    }
}

/// Every configuration that any of the runs had, in the order in which they came.
fn lines(runs: &[&HistoryEntry]) -> Vec<HistoryLine> {
    let mut cells: Vec<&str> = Vec::new();
    for median in runs.iter().flat_map(|run| &run.medians) {
        if !cells.contains(&median.cell.as_str()) {
            cells.push(&median.cell);
        }
    }
    cells.into_iter().map(|cell| line(cell, runs)).collect()
}

fn line(cell: &str, runs: &[&HistoryEntry]) -> HistoryLine {
    let of = |run: &&HistoryEntry| run.medians.iter().find(|median| median.cell == cell).and_then(|median| median.p50);
    let medians: Vec<Option<Nanos>> = runs.iter().map(of).collect();
    let known = || medians.iter().flatten().copied();
    let (least, most) = (known().min(), known().max());
    let place = |(at, median): (usize, &Option<Nanos>)| -> Option<(f64, f64)> {
        let x = if runs.len() < 2 {
            WIDTH / 2.0
        } else {
            EDGE + at as f64 / (runs.len() - 1) as f64 * (WIDTH - 2.0 * EDGE)
        };
        // From zero: a curve that fills its frame looks as if everything had changed.
        let share = (*median)? as f64 / most.unwrap_or(1).max(1) as f64;
        Some((x, HEIGHT - EDGE - share * (HEIGHT - 2.0 * EDGE)))
    };
    let places: Vec<Option<(f64, f64)>> = medians.iter().enumerate().map(place).collect();
    let words = |(x, y): &(f64, f64)| format!("{x:.1},{y:.1}");
    let pieces = places.split(Option::is_none).filter(|piece| piece.len() > 1);
    HistoryLine {
        cell: clean::short(cell, 60),
        last: format::duration_or_hidden(medians.iter().rev().copied().flatten().next()),
        least: format::duration_or_hidden(least),
        most: format::duration_or_hidden(most),
        pieces: pieces.map(|piece| piece.iter().flatten().map(words).collect::<Vec<_>>().join(" ")).collect(),
        points: places.iter().flatten().map(|(x, y)| (format!("{x:.1}"), format!("{y:.1}"))).collect(),
        title: format!(
            "{}: {} of {} runs have a median, between {} and {}",
            clean::short(cell, 60),
            known().count(),
            runs.len(),
            least.map_or_else(|| "nothing".into(), duration),
            most.map_or_else(|| "nothing".into(), duration)
        ),
    }
}
