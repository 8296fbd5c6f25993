//! The section of one cell: what was expected of it, what the checks say, its numbers, beliefs and verifications.

use minijinja::Value;
use serde::Serialize;

use super::ensemble::EnsembleView;
use super::exceptions::Exceptions;
use super::facts::{DistributionLine, Subject, distributions, subjects};
use super::parts::{Fact, Figures, Panel, first_lines};
use super::row::CellRow;
use super::verifications::VerificationTable;

use crate::check::Testability;
use crate::render::differing_parameters::negotiated;
use crate::render::plots::{CHARTS, ChartScope, PlotError};
use crate::render::{clean, format};
use crate::state::{State, StateBadge};
use crate::summary::{CellSummary, CheckResult, Timeline};
use hustings_record::{Expect, Expectation, Fencing, LinkUse, SessionUse};

/// Terms listed under a group's picture.
const TERMS_MAX: usize = 60;

#[derive(Serialize)]
pub(super) struct CellSection {
    anchor: String,
    name: String,
    /// Recipe, policy and fault in one line.
    what: String,
    headline: String,
    state: StateBadge,
    open: bool,
    because: String,
    parameters: Vec<Fact>,
    checks: Vec<Check>,
    distributions: Vec<DistributionLine>,
    not_measured: String,
    subjects: Vec<Subject>,
    exceptions: Option<Exceptions>,
    verifications: VerificationTable,
    ensemble: Option<EnsembleView>,
    panels: Vec<Panel>,
    timelines: Vec<TermTable>,
}

#[derive(Serialize)]
struct Check {
    name: String,
    headline: String,
    /// Whom one has to trust for it.
    rests_on: String,
    details: Vec<String>,
    state: StateBadge,
    open: bool,
}

#[derive(Serialize)]
struct TermTable {
    group: String,
    because: String,
    /// Candidate, from, to, latent, overlap.
    rows: Vec<[String; 5]>,
    left_out: usize,
    stale: String,
}

impl CellSection {
    pub(super) fn new(cell: &CellSummary, row: &CellRow, figures: &mut Figures) -> Result<Self, PlotError> {
        let state = State::of_cell(cell);
        let (distributions, missing) = distributions(cell);
        Ok(Self {
            anchor: row.anchor.clone(),
            name: row.name.clone(),
            what: what(cell, row),
            headline: headline(cell),
            state: state.into(),
            open: state >= State::Inconclusive,
            because: clean::short(&cell.info.expect.because, 600),
            parameters: parameters(cell),
            checks: worst_first(cell).into_iter().map(|one| check(cell, one)).collect(),
            distributions,
            not_measured: if cell.info.has_candidates() { missing.join(", ") } else { String::new() },
            subjects: subjects(cell),
            exceptions: Exceptions::new(cell),
            verifications: VerificationTable::new(cell),
            ensemble: EnsembleView::new(cell),
            panels: panels(cell, figures)?,
            timelines: cell.timelines.iter().map(|timeline| term_table(cell, timeline)).collect(),
        })
    }
}

fn what(cell: &CellSummary, row: &CellRow) -> String {
    let further = [&row.besides, &row.repetition].into_iter().filter(|part| !part.is_empty());
    let which: String = further.map(|part| format!(", {part}")).collect();
    if cell.info.has_candidates() {
        format!("{}, {}, {}, T = {}, {}{which}", row.recipe, row.step_down, row.fault, row.t, row.size)
    } else {
        let servers = format::plural(cell.info.servers.into(), "server", "servers");
        format!("{}, {servers}, {}{which}", row.fault, row.step_down)
    }
}

fn panels(cell: &CellSummary, figures: &mut Figures) -> Result<Vec<Panel>, PlotError> {
    let mut panels = Vec::new();
    for chart in CHARTS {
        if let ChartScope::Cell(draw) = chart.draw {
            let drawn: Vec<Value> = figures.place(&draw(cell)?);
            if !drawn.is_empty() {
                panels.push(Panel { heading: chart.heading, about: chart.about.to_owned(), figures: drawn });
            }
        }
    }
    Ok(panels)
}

fn headline(cell: &CellSummary) -> String {
    match worst_first(cell).first() {
        Some(check) if State::of_check(cell, check) > State::Untestable => clean::short(check.reason(), 200),
        Some(_) => {
            let checks = format::plural(cell.checks.len() as u64, "check", "checks");
            let untestable = |check: &&CheckResult| State::of_check(cell, check) == State::Untestable;
            match cell.checks.iter().filter(untestable).count() as u64 {
                0 => format!("all {checks} passed"),
                n => format!("all {checks} passed, {} not testable here", format::count(n)),
            }
        }
        None => "no check was made".into(),
    }
}

fn worst_first(cell: &CellSummary) -> Vec<&CheckResult> {
    let mut checks: Vec<&CheckResult> = cell.checks.iter().collect();
    checks.sort_by_key(|check| std::cmp::Reverse(State::of_check(cell, check)));
    checks
}

fn check(cell: &CellSummary, check: &CheckResult) -> Check {
    let state = State::of_check(cell, check);
    Check {
        name: clean::short(&check.name, 40),
        headline: clean::short(&check.headline, 400),
        rests_on: check.rests_on.iter().map(|grade| grade.name()).collect::<Vec<_>>().join(" and "),
        details: first_lines(&details(check), 20, 400),
        state: state.into(),
        open: state >= State::Inconclusive,
    }
}

/// What there is to know of a check; first, why it could not have failed.
fn details(check: &CheckResult) -> Vec<String> {
    let why = match &check.testability {
        Some(Testability::NotTestableHere(reasons)) => {
            reasons.iter().map(|reason| format!("not testable here: {reason}")).collect()
        }
        Some(Testability::WouldCatch(names)) => vec![format!("it would have caught: {}", names.join(", "))],
        None => Vec::new(),
    };
    why.into_iter().chain(check.details.iter().cloned()).collect()
}

fn parameters(cell: &CellSummary) -> Vec<Fact> {
    let info = &cell.info;
    let hosts: Vec<String> = info.hosts.iter().take(8).map(|host| clean::short(host, 40)).collect();
    let more = if info.hosts.len() > 8 { ", …" } else { "" };
    vec![
        Fact::new("T", if cell.info.has_candidates() { negotiated(cell) } else { format::NOTHING.into() }),
        Fact::new("Tick", format::setting_ms(info.tick_ms)),
        Fact::new("Servers", info.servers.to_string()),
        Fact::new("Groups", format::count(info.groups.len() as u64)),
        Fact::new("Candidates a group", info.candidates_per_group.to_string()),
        Fact::new("Hosts", format!("{} ({}{more})", format::count(info.hosts.len() as u64), hosts.join(", "))),
        Fact::new(
            "Sessions",
            match info.sessions {
                SessionUse::PerCandidate => "one a candidate",
                SessionUse::PerHost => "one a host",
            },
        ),
        Fact::new(
            "Links",
            match info.links {
                LinkUse::Direct => "none: direct connections",
                LinkUse::Embedded => "embedded proxy",
                LinkUse::External => "external Toxiproxy",
            },
        ),
        Fact::new("Relays", relays(cell)),
        Fact::new(
            "Verdict on stale writes",
            match info.fencing {
                Fencing::Fenced => "counts what got past the fence",
                Fencing::Unfenced => "counts without a fence",
            },
        ),
        Fact::new("A leader writes every", format::setting_ms(info.work_interval_ms)),
        Fact::new("Fencing of the old active", info.fencing_method.to_string()),
        Fact::new("Poll interval", format::setting_ms(info.poll_interval_ms)),
        Fact::new("Expected", expected(&info.expect)),
    ]
}

/// Who goes through a relay of its host, and writes over HTTP.
fn relays(cell: &CellSummary) -> &'static str {
    if cell.programs.belief.is_some() {
        "one a host and server, as for every program"
    } else if cell.info.has_equal_paths() {
        "one a host and server, as for programs"
    } else {
        "none"
    }
}

fn expected(expect: &Expect) -> String {
    let word = |expectation| match expectation {
        Expectation::None => "none",
        Expectation::Some => "some (known unsafe)",
        Expectation::Any => "any",
        Expectation::Excused => "only what no recipe can promise not to be",
    };
    let mut text = format!("overlaps {}", word(expect.overlap));
    if let Some(most) = expect.overlap_of_t_max {
        text.push_str(&format!(", up to {most} T"));
    }
    text.push_str(&format!(
        "; stale writes {}; unplanned handovers {}",
        word(expect.stale_writes),
        word(expect.unplanned)
    ));
    if let Some(handovers) = expect.handovers {
        text.push_str(&format!("; lost leads {}", word(handovers)));
    }
    if let Some(hung) = expect.hung_leads {
        text.push_str(&format!("; leads kept through a hang {}", word(hung)));
    }
    if let Some(server) = expect.server_leader {
        text.push_str(&format!("; server {server} leads the ensemble"));
    }
    if let Some(fan_out) = expect.fan_out {
        text.push_str(&format!("; fan-out {fan_out}"));
    }
    text
}

fn term_table(cell: &CellSummary, timeline: &Timeline) -> TermTable {
    let host = |index: u16| {
        cell.info.hosts.get(usize::from(index)).map_or_else(|| format!("host {index}"), |name| clean::short(name, 40))
    };
    let at = |ns: u64| format!("+{}", format::duration(ns.saturating_sub(timeline.from)));
    let spans = |spans: &[(u64, u64)]| {
        let shown: Vec<String> = spans
            .iter()
            .take(4)
            .map(|&(from, to)| format!("{} for {}", at(from), format::duration(to.saturating_sub(from))))
            .collect();
        match spans.len() {
            0 => format::NOTHING.into(),
            n if n > 4 => format!("{} and {} more", shown.join(", "), n - 4),
            _ => shown.join(", "),
        }
    };
    let rows = timeline.terms.iter().take(TERMS_MAX).map(|term| {
        let candidate = format!("{} #{}", host(term.host), term.candidate);
        [candidate, at(term.from), at(term.to), spans(&term.latent), spans(&term.overlap)]
    });
    let fenced = timeline.stale_writes.iter().filter(|(_, _, fenced)| *fenced).count() as u64;
    let accepted = timeline.stale_writes.len() as u64 - fenced;
    TermTable {
        group: clean::short(&timeline.group, 80),
        because: clean::short(&timeline.because, 200),
        rows: rows.collect(),
        left_out: timeline.terms.len().saturating_sub(TERMS_MAX),
        stale: format!(
            "stale writes: {} accepted, {} stopped by the fence",
            format::count(accepted),
            format::count(fenced)
        ),
    }
}
