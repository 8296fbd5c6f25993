//! A cell in one line: what it was, the three headline numbers, its verdict. The page and the terminal show the same.

use serde::Serialize;

use super::ensemble::in_short;
use crate::render::differing_parameters::{Axis, DifferingParameters, negotiated};
use crate::render::{clean, format};
use crate::state::{State, StateBadge, overlaps_briefly};
use crate::stats::Tail;
use crate::summary::{CellSummary, Rate, Summary};
use hustings_record::{Expectation, Fencing, Repetition};

/// What stands in columns of its own in every table of cells.
const COLUMNS: [Axis; 2] = [Axis::Fault, Axis::Timeout];
/// What the sections of cells say of each in any case.
const SAID: [Axis; 7] =
    [Axis::Recipe, Axis::StepDown, Axis::Fault, Axis::Timeout, Axis::Groups, Axis::Candidates, Axis::Repetition];

/// Where a recipe and its policy would stand, in a cell about the servers alone.
const NO_CANDIDATES: &str = "no candidates";

#[derive(Serialize)]
pub(crate) struct CellRow {
    /// Name of the cell's section within the page.
    pub(crate) anchor: String,
    pub(crate) name: String,
    /// What tells it from the others of its table, by line: fault and T apart, which have columns of their own.
    pub(crate) title: Vec<String>,
    /// What it is beside recipe, policy, fault, T and size, as far as that tells it from others.
    pub(crate) besides: String,
    pub(crate) recipe: String,
    pub(crate) step_down: String,
    /// Which repetition of its configuration it is; empty where that was run once.
    pub(crate) repetition: String,
    pub(crate) fault: String,
    /// T, the negotiated one; and the one asked for where they differ.
    pub(crate) t: String,
    pub(crate) size: String,
    pub(crate) p50: String,
    /// p99, or the longest where there is none.
    pub(crate) tail: String,
    /// How many handovers stand behind these.
    pub(crate) handovers: String,
    /// The same for a narrow column: `34`, or `34+6` where six more had not ended.
    pub(crate) n: String,
    pub(crate) woken: String,
    pub(crate) overlaps: String,
    pub(crate) overlaps_short: String,
    /// Whether they are to be seen in red: they may not be there, or must, or are longer than a race of who hears first.
    pub(crate) overlaps_loud: bool,
    pub(crate) overlap_longest: String,
    pub(crate) stale: String,
    pub(crate) stale_short: String,
    pub(crate) stale_seen: bool,
    /// What the unfenced ledger says, where it has something to say.
    pub(crate) stale_note: String,
    /// The ensemble's own elections in short; empty where nobody watched the servers.
    pub(crate) elections: String,
    pub(crate) state: StateBadge,
}

/// Rows of a table, with what is said of all of them.
pub(crate) struct Rows {
    pub(crate) rows: Vec<CellRow>,
    /// The name of the column of tails: where nothing has a 99th percentile it is that of the longest, and no value needs to say
    /// so.
    pub(crate) tail_name: &'static str,
    /// What all of them share.
    pub(crate) shared: String,
}

/// The rows of these cells, by their places.
pub(crate) fn rows(summary: &Summary, shown: &[usize]) -> Rows {
    let has_p99 = has_p99(summary.cells.iter());
    let cells = || shown.iter().map(|&place| &summary.cells[place]);
    let apart = DifferingParameters::of(cells());
    let rows = shown.iter().map(|&place| CellRow::new(place, &summary.cells[place], &apart, has_p99)).collect();
    Rows { rows, tail_name: tail_name(has_p99), shared: shared(&apart, cells()) }
}

pub(super) fn tail_name(has_p99: bool) -> &'static str {
    if has_p99 { "p99" } else { "longest" }
}

/// What all cells of a table share; a cell about the servers alone has no part in that.
pub(super) fn shared<'a>(apart: &DifferingParameters, mut cells: impl Iterator<Item = &'a CellSummary>) -> String {
    cells.find(|cell| cell.info.has_candidates()).map_or_else(String::new, |first| apart.shared(first, &COLUMNS))
}

/// Whether some cell's tail is a 99th percentile.
pub(super) fn has_p99<'a>(mut cells: impl Iterator<Item = &'a CellSummary>) -> bool {
    cells.any(|cell| cell.failover.whole.as_ref().is_some_and(|d| matches!(d.tail(), Tail::P99(_))))
}

impl CellRow {
    /// `has_p99`: some cell's tail is a 99th percentile.
    pub(super) fn new(place: usize, cell: &CellSummary, apart: &DifferingParameters, has_p99: bool) -> Self {
        let info = &cell.info;
        let stale = counted_writes(cell);
        let quantile = |of: fn(&crate::summary::Distribution) -> Option<u64>| {
            cell.failover.measured().map_or_else(|| format::NOTHING.into(), |d| format::duration_or_hidden(of(d)))
        };
        let longest = cell.split_brain.active_max_ns;
        // A cell about the servers alone has nothing to say on candidates, not even that there was nothing.
        let of_candidates = |text: String| if cell.info.has_candidates() { text } else { format::NOTHING.into() };
        let title = apart.parts(cell, &COLUMNS);
        let plain = !info.has_candidates() || title.is_empty();
        Self {
            anchor: format!("cell-{}", place + 1),
            name: clean::short(&info.name, 60),
            title: if plain { vec![apart.label(cell, &COLUMNS)] } else { title },
            besides: apart.parts(cell, &SAID).join(", "),
            recipe: clean::short(if cell.info.has_candidates() { &info.recipe } else { &info.name }, 40),
            step_down: if cell.info.has_candidates() { info.step_down_words() } else { NO_CANDIDATES.into() },
            repetition: info.repetition.as_ref().map_or_else(String::new, Repetition::words),
            fault: clean::short(&info.fault, 40),
            t: of_candidates(negotiated(cell)),
            size: of_candidates(format!("{} × {}", format::count(info.groups.len() as u64), info.candidates_per_group)),
            p50: quantile(|d| d.p50),
            tail: cell.failover.measured().map_or_else(|| format::NOTHING.into(), |d| format::tail_short(d, has_p99)),
            n: samples(cell),
            handovers: if cell.info.has_candidates() { handovers(cell) } else { NO_CANDIDATES.into() },
            woken: woken(cell.fan_out.woken),
            overlaps: of_candidates(format::rate(&cell.split_brain.active)),
            overlaps_short: of_candidates(format::rate_short(&cell.split_brain.active)),
            overlaps_loud: is_loud(cell),
            overlap_longest: match longest {
                0 => String::new(),
                longest if overlaps_briefly(cell) => format!("moments: at most {}", format::duration(longest)),
                longest => format!("longest {}", format::duration(longest)),
            },
            stale: of_candidates(format::rate_within(stale)),
            stale_short: of_candidates(format::rate_short(stale)),
            stale_seen: stale.seen > 0,
            stale_note: match info.fencing {
                _ if !cell.info.has_candidates() => String::new(),
                Fencing::Fenced if cell.writes.unfenced.seen == 0 => String::new(),
                Fencing::Fenced => {
                    format!("past the fence; {} without it", format::count(cell.writes.unfenced.seen))
                }
                Fencing::Unfenced => "without a fence".into(),
            },
            elections: in_short(cell).unwrap_or_default(),
            state: State::of_cell(cell).into(),
        }
    }
}

/// Stale writes of the ledger that the cell's verdict counts.
pub(super) fn counted_writes(cell: &CellSummary) -> &Rate {
    match cell.info.fencing {
        Fencing::Fenced => &cell.writes.past_fence,
        Fencing::Unfenced => &cell.writes.unfenced,
    }
}

/// What may be there and is over in a moment is shown without raising the voice.
fn is_loud(cell: &CellSummary) -> bool {
    let allowed = matches!(cell.info.expect.overlap, Expectation::Any | Expectation::Excused);
    let passed = State::of_cell(cell) < State::Fail;
    cell.split_brain.active.seen > 0 && !(allowed && passed && overlaps_briefly(cell))
}

fn handovers(cell: &CellSummary) -> String {
    let void = match cell.failover.void {
        0 => String::new(),
        void => format!(", {} void by a stall", format::count(void)),
    };
    match cell.failover.whole.as_ref() {
        Some(d) if d.censored > 0 => {
            format!("n {}, {} not ended{void}", format::count(d.n), format::count(d.censored))
        }
        Some(d) => format!("n {}{void}", format::count(d.n)),
        None if void.is_empty() => "no handover".into(),
        None => format!("n 0{void}"),
    }
}

/// How many failovers a cell's percentiles are of; behind a `+` those that had not ended.
pub(super) fn samples(cell: &CellSummary) -> String {
    match cell.failover.measured() {
        None => format::NOTHING.into(),
        Some(d) if d.censored > 0 => format!("{}+{}", format::count(d.n), format::count(d.censored)),
        Some(d) => format::count(d.n),
    }
}

/// `1`, or the median with least and most where they differ.
pub(super) fn woken(woken: Option<(u64, u64, u64)>) -> String {
    match woken {
        None => format::NOTHING.into(),
        Some((least, _, most)) if least == most => format::count(most),
        Some((least, median, most)) => {
            format!("{} ({}–{})", format::count(median), format::count(least), format::count(most))
        }
    }
}
