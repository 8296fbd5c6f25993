//! Cells that differ in nothing but the step-down policy, side by side: what stepping down on a lost connection costs, and
//! what holding on costs.

use serde::Serialize;

use super::ensemble::{gap_range, range};
use crate::render::differing_parameters::{Axis, DifferingParameters};
use crate::render::{clean, format};
use crate::summary::CellSummary;

const SIDE_BY_SIDE_MAX: usize = 40;
/// What a table's words say in any case, or its rows do.
const SAID: [Axis; 8] = [
    Axis::Recipe,
    Axis::Fault,
    Axis::Timeout,
    Axis::Groups,
    Axis::Candidates,
    Axis::StepDown,
    Axis::Fencing,
    Axis::Repetition,
];

#[derive(Serialize)]
pub(crate) struct Policies {
    /// What the cells have in common.
    what: String,
    rows: Vec<PolicyLine>,
}

#[derive(Serialize)]
struct PolicyLine {
    anchor: String,
    step_down: String,
    leaderless: String,
    longest: String,
    interrupted: String,
    lost: String,
    unplanned: String,
    writes: String,
    outage: String,
}

/// Groups of at least two policies, of those of the shown cells whose sessions were disturbed.
pub(super) fn policies(cells: &[CellSummary], shown: &[usize]) -> Vec<Policies> {
    let mut groups: Vec<Vec<(usize, &CellSummary)>> = Vec::new();
    let disturbed = shown.iter().map(|&place| (place, &cells[place])).filter(|(_, cell)| cell.sessions.established > 0);
    for (place, cell) in disturbed {
        match groups.iter_mut().find(|group| alike(group[0].1, cell)) {
            Some(group) => group.push((place, cell)),
            None => groups.push(vec![(place, cell)]),
        }
    }
    let differs = |group: &&Vec<(usize, &CellSummary)>| {
        group.iter().any(|(_, cell)| cell.info.step_down != group[0].1.info.step_down)
    };
    // Where two tables would bear the same words, these say what tells them apart.
    let tables = DifferingParameters::of(groups.iter().filter(differs).map(|group| group[0].1));
    groups.iter().filter(differs).take(SIDE_BY_SIDE_MAX).map(|group| side_by_side(group, &tables)).collect()
}

fn alike(a: &CellSummary, b: &CellSummary) -> bool {
    let key = |cell: &CellSummary| {
        let info = &cell.info;
        let sizes = (info.groups.len(), info.hosts.len(), info.candidates_per_group, info.servers);
        (info.timeout_asked_ms, info.tick_ms, sizes, info.fault_kind)
    };
    key(a) == key(b)
        && (&a.info.recipe, &a.info.fault, a.info.sessions, a.info.links)
            == (&b.info.recipe, &b.info.fault, b.info.sessions, b.info.links)
        && (a.info.fencing_method, a.info.poll_interval_ms, a.info.init_limit, a.info.sync_limit)
            == (b.info.fencing_method, b.info.poll_interval_ms, b.info.init_limit, b.info.sync_limit)
}

fn side_by_side(cells: &[(usize, &CellSummary)], tables: &DifferingParameters) -> Policies {
    let apart = DifferingParameters::of(cells.iter().map(|(_, cell)| *cell));
    let info = &cells[0].1.info;
    let further = tables.parts(cells[0].1, &SAID).into_iter().map(|part| format!(", {part}")).collect::<String>();
    let what = format!(
        "{}, {}, T = {}, {} × {}{further}",
        clean::short(&info.recipe, 40),
        clean::short(&info.fault, 40),
        format::setting_ms(cells[0].1.timeout_ms.unwrap_or(info.timeout_asked_ms)),
        format::count(info.groups.len() as u64),
        info.candidates_per_group
    );
    let rows = cells.iter().map(|&(place, cell)| PolicyLine {
        anchor: format!("cell-{}", place + 1),
        step_down: apart.label(cell, &[]),
        leaderless: format::share(cell.leaderless.share),
        longest: format::duration(cell.leaderless.longest_ns),
        interrupted: format::count(cell.sessions.interrupted_terms),
        lost: format::count_of(cell.sessions.lost, cell.sessions.established),
        unplanned: format::count(cell.handovers.unplanned),
        writes: match cell.ensemble.watch.as_ref().and_then(|watch| watch.writes.as_ref()?.longest.as_ref()) {
            Some(longest) => gap_range(longest),
            None => format::NOTHING.into(),
        },
        outage: match cell.ensemble.elections.iter().map(|e| e.outage).max() {
            Some(longest) => range(longest),
            None => format::NOTHING.into(),
        },
    });
    Policies { what, rows: rows.collect() }
}
