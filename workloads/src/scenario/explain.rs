//! The plan of a run as text, for `--dry-run`.

use std::collections::BTreeSet;
use std::fmt::Write;

use hustings_record::words::{moment, numbers, plural, round_duration, setting_ms};
use hustings_record::{FaultKind, StepDown, Warning};

use super::cell::Cell;
use super::rounds::rounds;
use super::schema::Scenario;
use crate::faults::Moment;
use crate::scenario::plan::{Plan, PlannedFault, lengthened_gap_ms, plan};

/// Sessions that a modest machine connects and enrols in a second; only for the estimate.
const ENROL_A_SECOND: u64 = 1_000;

/// Time to start and end hosts, links and records of a cell, in milliseconds; only for the estimate.
const AROUND_A_CELL_MS: u64 = 1_500;

/// Time to start and stop an ensemble, in milliseconds; only for the estimate.
const AROUND_AN_ENSEMBLE_MS: u64 = 5_000;

/// Descriptors of a process in addition to its sessions.
const DESCRIPTORS_BESIDE: u64 = 64;

/// Estimated duration of a cell, in milliseconds.
#[must_use]
pub fn cell_duration_ms(cell: &Cell, plan: &Plan) -> u64 {
    let enrol = cell.candidates() * 1_000 / ENROL_A_SECOND;
    AROUND_A_CELL_MS + enrol + cell.phases.warm_up_ms + plan.measure_ms + cell.phases.drain_ms
}

/// Servers that a run does not start itself, as its plan describes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExternalServers {
    /// What is known of them, and what they must allow.
    pub lines: Vec<String>,
    /// Where the scenario asks for something that they do not have or grant.
    pub warnings: Vec<Warning>,
}

/// What a plan shows of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlanView<'a> {
    /// Servers that the run does not start itself.
    pub servers: Option<&'a ExternalServers>,
    /// One line for each cell, without the times of its faults.
    pub is_brief: bool,
}

/// Describes a run of these cells with this seed: their faults and times, its duration and its needs. The same
/// arguments give the same text. For repetitions it gives only their number.
#[must_use]
pub fn explain(scenario: &Scenario, cells: &[Cell], seed: u64) -> String {
    explain_as(scenario, cells, seed, PlanView::default())
}

/// As [`explain`], with the servers and the details of this view.
#[must_use]
pub fn explain_as(scenario: &Scenario, cells: &[Cell], seed: u64, view: PlanView<'_>) -> String {
    let count = scenario.repeat;
    let shapes = ensembles_of_a_round(cells);
    // With several ensembles, each round goes through all of them.
    let ensembles = if shapes == 1 { 1 } else { shapes * u64::from(count) };
    // A summary names the duration of one side.
    let sides = if has_two_sides(cells) { " of two sides" } else { "" };
    let how_many = format!("{}{sides}", plural(cells.len() as u64, "cell", "cells"));
    let how_many = match count {
        1 => how_many,
        _ => format!("{how_many}, each {count} times in {count} rounds over all of them"),
    };
    let mut text = String::new();
    // Writing to a String cannot fail.
    let rounds_ms = rounds_ms(cells, count, seed);
    let total_ms = rounds_ms + ensembles * AROUND_AN_ENSEMBLE_MS;
    let _ = head(&mut text, scenario, &format!("seed {seed}, {how_many}"), total_ms);
    let _ = needs(&mut text, scenario, cells, view.servers);
    if let Some(further) = further_rounds(scenario, cells, || rounds_ms) {
        let _ = writeln!(text, "{further}");
    }
    if view.is_brief {
        text.push('\n');
    } else if count > 1 {
        let _ = writeln!(
            text,
            "the first repetition of each is told; the others have times, victims and places of their own"
        );
    }
    for (number, cell) in (1..).zip(cells) {
        let plan = plan(cell, seed);
        let _ = title(&mut text, number, cell, &plan, view.is_brief);
        let _ = if view.is_brief { in_brief(&mut text, cell, &plan) } else { in_detail(&mut text, cell, &plan) };
    }
    if view.is_brief {
        text.push_str("\n-v, or --only CELL, shows when each fault hits, and why that result is expected\n");
    }
    text
}

/// Says how many rounds a run may add to the planned ones, why, and how long they take at most. `None`: it adds none.
#[must_use]
pub fn describe_further_rounds(scenario: &Scenario, cells: &[Cell], seed: u64) -> Option<String> {
    further_rounds(scenario, cells, || rounds_ms(cells, scenario.repeat, seed))
}

/// `planned_ms`: how long the planned rounds take.
fn further_rounds(scenario: &Scenario, cells: &[Cell], planned_ms: impl FnOnce() -> u64) -> Option<String> {
    let planned = scenario.repeat;
    let further = u64::from(scenario.rounds_max().saturating_sub(planned));
    if further == 0 {
        return None;
    }
    let undecided = if has_two_sides(cells) { ", or the planned rounds do not tell the two sides apart" } else { "" };
    // Servers are started anew for further rounds.
    let servers_ms = ensembles_of_a_round(cells) * AROUND_AN_ENSEMBLE_MS;
    let round_ms = planned_ms() / u64::from(planned.max(1)) + servers_ms;
    let (rounds, at_most) =
        (plural(further, "further round", "further rounds"), round_duration(further * round_ms * 1_000_000));
    Some(format!(
        "{planned} rounds are planned; cells run again for at most {at_most} more, the time of {rounds} of all cells, \
         where nothing but stalls of the harness spoils a repetition{undecided} (--further sets the number)"
    ))
}

/// Estimated duration of this many rounds over all cells, in milliseconds.
fn rounds_ms(cells: &[Cell], count: u32, seed: u64) -> u64 {
    rounds(cells, count).map(|cell| cell_duration_ms(&cell, &plan(&cell, seed))).sum()
}

/// Whether these are the cells of two sides that are compared.
fn has_two_sides(cells: &[Cell]) -> bool {
    cells.iter().any(|cell| cell.contest.is_some())
}

fn ensembles_of_a_round(cells: &[Cell]) -> u64 {
    cells.chunk_by(Cell::same_ensemble).count() as u64
}

fn head(text: &mut String, scenario: &Scenario, what: &str, total_ms: u64) -> std::fmt::Result {
    writeln!(text, "{}: {}", scenario.name, scenario.summary)?;
    // The summary is of the scenario as it is written.
    writeln!(text, "this run: {what}, about {}", round_duration(total_ms * 1_000_000))
}

/// The servers, and what they do not grant.
fn needs(
    text: &mut String,
    scenario: &Scenario,
    cells: &[Cell],
    servers: Option<&ExternalServers>,
) -> std::fmt::Result {
    let warnings = match servers {
        Some(servers) => {
            servers.lines.iter().try_for_each(|line| writeln!(text, "{line}"))?;
            servers.warnings.clone()
        }
        None => {
            cells.chunk_by(Cell::same_ensemble).try_for_each(|cells| ensemble(text, &cells[0]))?;
            scenario.warnings()
        }
    };
    warnings.iter().try_for_each(|warning| writeln!(text, "warning: {warning}"))
}

fn ensemble(text: &mut String, first: &Cell) -> std::fmt::Result {
    let fsync = if first.fsync { "on" } else { "off" };
    write!(text, "ensemble: {}, tick {} ms, fsync {fsync}", servers(first), first.tick_ms)?;
    for (name, limit) in [("initLimit", first.init_limit), ("syncLimit", first.sync_limit)] {
        if let Some(limit) = limit {
            write!(text, ", {name} {limit} ticks ({})", setting_ms(u64::from(limit) * first.tick_ms))?;
        }
    }
    writeln!(text)
}

fn servers(cell: &Cell) -> String {
    plural(cell.servers.into(), "server", "servers")
}

fn title(text: &mut String, number: u32, cell: &Cell, plan: &Plan, is_brief: bool) -> std::fmt::Result {
    let (before, after) = if is_brief { ("", ": ") } else { ("\n", "\n") };
    let long = round_duration(cell_duration_ms(cell, plan) * 1_000_000);
    write!(text, "{before}{number}. {}  (about {long}){after}", cell.name)
}

/// The faults by kind, the size, and the expectations.
fn in_brief(text: &mut String, cell: &Cell, plan: &Plan) -> std::fmt::Result {
    let kinds: BTreeSet<FaultKind> = plan.faults.iter().map(PlannedFault::kind).collect();
    let count = |kind: FaultKind| plan.faults.iter().filter(|fault| fault.kind() == kind).count();
    let faults: Vec<String> = kinds.into_iter().map(|kind| format!("{} × {kind}", count(kind))).collect();
    let faults = if faults.is_empty() { "no fault".to_owned() } else { faults.join(", ") };
    let size = match cell.candidates() {
        0 => "no candidates".to_owned(),
        candidates => format!("{candidates} candidates, T {} ms", cell.timeout_granted_ms()),
    };
    writeln!(text, "{faults}; {size}; expected: {}", expected(cell))
}

fn in_detail(text: &mut String, cell: &Cell, plan: &Plan) -> std::fmt::Result {
    if cell.groups > 0 {
        candidates(text, cell)?;
    } else {
        writeln!(text, "   no candidates: {} alone", servers(cell))?;
    }
    if let Some(watch_ms) = cell.watch_ms {
        writeln!(text, "   every server is asked for its state every {watch_ms} ms")?;
    }
    for fault in &plan.faults {
        planned(text, fault)?;
    }
    if let Some((set_ms, planned_ms)) = lengthened_gap_ms(cell) {
        let (set, planned) = (setting_ms(set_ms), setting_ms(planned_ms));
        writeln!(
            text,
            "   injections are {planned} apart on average, and not {set} (faults.{}.every_ms), for T = {} needs that long",
            cell.fault_name,
            setting_ms(cell.timeout_granted_ms())
        )?;
    }
    write!(text, "   expected: {}", expected(cell))?;
    if !cell.expect.because.is_empty() {
        write!(text, " ({})", cell.expect.because)?;
    }
    writeln!(text)
}

fn candidates(text: &mut String, cell: &Cell) -> std::fmt::Result {
    writeln!(
        text,
        "   {} candidates: {} groups of {} on {} hosts; {}, {}, T {} ms; sessions {} ({} in all); {}; resource {}",
        cell.candidates(),
        cell.groups,
        cell.candidates_per_group,
        cell.hosts,
        cell.recipe,
        StepDown::words(cell.policy()),
        cell.timeout_granted_ms(),
        cell.sessions,
        cell.session_count(),
        match (cell.over_links, cell.equal_paths || cell.program.is_some()) {
            (true, false) => "over links",
            (true, true) => "over links and relays",
            (false, true) => "over relays",
            (false, false) => "connected directly",
        },
        cell.resource,
    )?;
    let a_host = cell.session_count().div_ceil(u64::from(cell.hosts.max(1))) + DESCRIPTORS_BESIDE;
    write!(text, "   descriptors: {a_host} a host")?;
    if cell.over_links {
        write!(text, ", {} for the links", 2 * cell.session_count() + DESCRIPTORS_BESIDE)?;
    }
    writeln!(text)
}

fn planned(text: &mut String, fault: &PlannedFault) -> std::fmt::Result {
    let lasts = fault.for_ms().map(|ms| format!(" for {}", setting_ms(ms))).unwrap_or_default();
    write!(text, "   {:>10}  {} on {}{lasts}", moment(fault.at_ms * 1_000_000), fault.kind(), fault.target)?;
    if fault.moment == Moment::Won {
        write!(text, ", once a candidate has won there")?;
    }
    if !fault.from.is_empty() {
        write!(text, ", from servers {} alone", numbers(&fault.from))?;
    }
    if let Some(parameters) = fault.fault.parameters() {
        write!(text, ", {parameters}")?;
    }
    writeln!(text)
}

fn expected(cell: &Cell) -> String {
    let expect = &cell.expect;
    let mut what = Vec::new();
    if cell.groups > 0 {
        what.push(format!("overlap {}", expect.overlap.name()));
        what.push(format!("stale writes {}", expect.stale_writes.name()));
        what.push(format!("unplanned {}", expect.unplanned.name()));
        what.extend(expect.handovers.map(|expected| format!("handovers {}", expected.name())));
        what.extend(expect.hung_leads.map(|expected| format!("hung leads {}", expected.name())));
    }
    match expect.server_leader {
        Some(leader) => what.push(format!("server {leader} leads the ensemble")),
        None if cell.groups == 0 => what.push("the server that the votes elect leads the ensemble".to_owned()),
        None => {}
    }
    what.join(", ")
}
