//! A cell in one line: what it was, the three headline numbers, its verdict. The page and the terminal show the same.

use std::collections::BTreeSet;

use serde::Serialize;

use super::ensemble::in_short;
use crate::render::state::{Chip, State};
use crate::render::{clean, format};
use crate::stats::Tail;
use crate::summary::{CellSummary, Rate, Summary};
use hustings_record::Fencing;

/// Where a recipe and its policy would stand, in a cell about the servers alone.
const NO_CANDIDATES: &str = "no candidates";

#[derive(Serialize)]
pub(crate) struct Row {
    /// Name of the cell's section within the page.
    pub(crate) anchor: String,
    pub(crate) name: String,
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
    pub(crate) woken: String,
    pub(crate) overlaps: String,
    pub(crate) overlaps_short: String,
    /// Whether there is something to be seen in red.
    pub(crate) overlapped: bool,
    pub(crate) overlap_longest: String,
    pub(crate) stale: String,
    pub(crate) stale_short: String,
    pub(crate) stale_seen: bool,
    /// What the unfenced ledger says, where it has something to say.
    pub(crate) stale_note: String,
    /// The ensemble's own elections in short; empty where nobody watched the servers.
    pub(crate) elections: String,
    pub(crate) state: Chip,
}

/// The rows of these cells, by their places, and the name of their column of tails: where nothing has a 99th percentile it is that of the longest, and
/// no value needs to say so.
pub(crate) fn rows(summary: &Summary, shown: &[usize]) -> (Vec<Row>, &'static str) {
    let has_p99 = has_p99(summary.cells.iter());
    let rows = shown.iter().map(|&i| Row::new(i, &summary.cells[i], has_p99)).collect();
    (rows, if has_p99 { "p99" } else { "longest" })
}

/// Whether some cell's tail is a 99th percentile.
pub(super) fn has_p99<'a>(mut cells: impl Iterator<Item = &'a CellSummary>) -> bool {
    cells.any(|cell| cell.failover.whole.as_ref().is_some_and(|d| matches!(d.tail(), Tail::P99(_))))
}

/// Whether recipe, policy, fault and T tell every row from the others. Cells may differ in their sizes alone, for one.
pub(crate) fn told_apart<'a>(rows: impl IntoIterator<Item = &'a Row>) -> bool {
    let mut seen = BTreeSet::new();
    rows.into_iter().all(|row| seen.insert([&row.recipe, &row.step_down, &row.fault, &row.t]))
}

impl Row {
    /// `has_p99`: some cell's tail is a 99th percentile.
    pub(super) fn new(place: usize, cell: &CellSummary, has_p99: bool) -> Self {
        let info = &cell.info;
        let stale = counted_writes(cell);
        let quantile = |of: fn(&crate::summary::Distribution) -> Option<u64>| {
            cell.failover.whole.as_ref().map_or_else(|| format::NOTHING.into(), |d| format::duration_or_hidden(of(d)))
        };
        let longest = cell.split_brain.active_max_ns;
        // A cell about the servers alone has nothing to say on candidates, not even that there was nothing.
        let of_candidates = |text: String| if cell.info.has_candidates() { text } else { format::NOTHING.into() };
        Self {
            anchor: format!("cell-{}", place + 1),
            name: clean::short(&info.name, 60),
            recipe: clean::short(if cell.info.has_candidates() { &info.recipe } else { &info.name }, 40),
            step_down: if cell.info.has_candidates() { info.step_down.to_string() } else { NO_CANDIDATES.into() },
            repetition: info
                .repetition
                .as_ref()
                .map_or_else(String::new, |one| format!("repetition {} of {}", one.number, one.count)),
            fault: clean::short(&info.fault, 40),
            t: of_candidates(negotiated(cell)),
            size: of_candidates(format!("{} × {}", format::count(info.groups.len() as u64), info.candidates_per_group)),
            p50: quantile(|d| d.p50),
            tail: cell
                .failover
                .whole
                .as_ref()
                .map_or_else(|| format::NOTHING.into(), |d| format::tail_short(d, has_p99)),
            handovers: if cell.info.has_candidates() { handovers(cell) } else { NO_CANDIDATES.into() },
            woken: woken(cell.fan_out.woken),
            overlaps: of_candidates(format::rate(&cell.split_brain.active)),
            overlaps_short: of_candidates(format::rate_short(&cell.split_brain.active)),
            overlapped: cell.split_brain.active.seen > 0,
            overlap_longest: if longest > 0 { format!("longest {}", format::duration(longest)) } else { String::new() },
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

pub(super) fn negotiated(cell: &CellSummary) -> String {
    let asked = format::setting_ms(cell.info.timeout_asked_ms);
    match cell.timeout_ms {
        Some(ms) if ms == cell.info.timeout_asked_ms => asked,
        Some(ms) => format!("{} (asked {asked})", format::setting_ms(ms)),
        None => format!("none (asked {asked})"),
    }
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
