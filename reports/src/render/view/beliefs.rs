//! Two leaders at once, in milliseconds: what they believed beside what came of it, for every policy that met the same fault. Shown
//! of faults under which two led at once, or a write came late, anywhere in the run.

use serde::Serialize;

use crate::render::differing_parameters::{Axis, DifferingParameters};
use crate::render::{clean, format};
use crate::state::overlaps_briefly;
use crate::summary::CellSummary;

const FAULTS_MAX: usize = 20;

#[derive(Serialize)]
pub(crate) struct BeliefsView {
    /// The fault that they have in common.
    what: String,
    rows: Vec<BeliefLine>,
}

#[derive(Serialize)]
struct BeliefLine {
    anchor: String,
    title: String,
    overlaps: String,
    median: String,
    longest: String,
    of_t: String,
    /// Longer than a race of who hears first.
    long: bool,
    latent: String,
    accepted: String,
    past_fence: String,
    refused: String,
}

/// Cells by fault, of those that are shown.
pub(super) fn beliefs(cells: &[CellSummary], shown: &[usize]) -> Vec<BeliefsView> {
    let mut faults: Vec<(&str, Vec<usize>)> = Vec::new();
    for &place in shown.iter().filter(|&&place| cells[place].info.has_candidates()) {
        let fault = cells[place].info.fault.as_str();
        match faults.iter_mut().find(|(known, _)| *known == fault) {
            Some((_, places)) => places.push(place),
            None => faults.push((fault, vec![place])),
        }
    }
    let seen = |place: &usize| {
        let cell = &cells[*place];
        cell.split_brain.active.seen + cell.split_brain.latent + cell.writes.unfenced.seen > 0
    };
    let worth_it = faults.into_iter().filter(|(_, places)| places.iter().any(seen)).take(FAULTS_MAX);
    let table = |(fault, places): (&str, Vec<usize>)| {
        let apart = DifferingParameters::of(places.iter().map(|&place| &cells[place]));
        let rows = places.into_iter().map(|place| line(place, &cells[place], &apart)).collect();
        BeliefsView { what: clean::short(fault, 40), rows }
    };
    worth_it.map(table).collect()
}

fn line(place: usize, cell: &CellSummary, apart: &DifferingParameters) -> BeliefLine {
    let overlaps = &cell.split_brain;
    let nothing = || format::NOTHING.to_owned();
    let seen = overlaps.active.seen > 0;
    let of_t = cell.timeout_ms.filter(|&ms| ms > 0 && seen).map(|ms| overlaps.active_max_ns as f64 / (ms as f64 * 1e6));
    BeliefLine {
        anchor: format!("cell-{}", place + 1),
        title: apart.label(cell, &[Axis::Fault]),
        overlaps: format::rate(&overlaps.active),
        median: overlaps.lengths.as_ref().map_or_else(nothing, |lengths| format::duration_or_hidden(lengths.p50)),
        longest: if seen { format::duration(overlaps.active_max_ns) } else { nothing() },
        of_t: match of_t {
            None => nothing(),
            Some(share) if share < 0.005 => "< 0.01 T".into(),
            Some(share) => format!("{share:.2} T"),
        },
        long: seen && !overlaps_briefly(cell),
        latent: if overlaps.latent > 0 {
            format!("{}, longest {}", format::count(overlaps.latent), format::duration(overlaps.latent_max_ns))
        } else {
            "none".into()
        },
        accepted: format::count(cell.writes.unfenced.seen),
        past_fence: format::count(cell.writes.past_fence.seen),
        refused: format::count(cell.writes.fenced_off),
    }
}
