//! The run as a whole: its verdict in plain words, what was run and on what, and what a reader must know beforehand.

use std::collections::BTreeMap;

use serde::Serialize;

use super::parts::{Fact, first_lines};
use super::problems::{Problem, problems};
use super::row::counted_writes;
use crate::compare::{ComparisonReport, overall};
use crate::render::{clean, compared, format};
use crate::state::{State, StateBadge};
use crate::summary::{CellSummary, Summary};
use hustings_record::{EnsembleKind, Manifest, RunState, WarningKind};

/// Problems named at the top; the rest is counted.
const PROBLEMS_MAX: usize = 12;
const LINES_MAX: usize = 40;
const CHARS_MAX: usize = 600;

#[derive(Serialize)]
pub(crate) struct Banner {
    pub(crate) state: StateBadge,
    /// What is compared with what, in a line each.
    pub(crate) sides: Vec<String>,
    /// The comparison's answer as a sentence; None of a run that has no two sides.
    pub(crate) compared: Option<String>,
    /// The verdicts of the cells as a sentence.
    pub(crate) sentence: String,
    pub(crate) problems: Vec<Problem>,
    /// Problems that there was no room for.
    pub(crate) more: usize,
}

#[derive(Serialize)]
pub(crate) struct RunView {
    scenario: String,
    summary: String,
    /// By paragraphs: a line break alone is where the scenario's author wrapped the text.
    analysis: Vec<String>,
    facts: Vec<Fact>,
    versions: Vec<(String, String)>,
    /// Said before anything else: warnings of the run, notes of the reader, a run that did not end.
    cautions: Vec<String>,
    /// Which checks could not have failed.
    untestable: Option<String>,
    /// The kind of ensemble and the machine's load, beside the times of failovers.
    conditions: String,
    command: String,
    folder: String,
    seed: String,
    id: String,
}

pub(crate) fn banner(summary: &Summary, comparing: Option<&ComparisonReport>) -> Banner {
    let mut problems = problems(summary);
    let more = problems.len().saturating_sub(PROBLEMS_MAX);
    problems.truncate(PROBLEMS_MAX);
    Banner {
        state: State::of_run(summary, overall(summary, comparing)).into(),
        sides: comparing.map(compared::side_names).unwrap_or_default(),
        compared: comparing.map(compared::headline),
        sentence: sentence(summary),
        problems,
        more,
    }
}

fn sentence(summary: &Summary) -> String {
    let there = summary.cells.len() as u64;
    let missing = match summary.cells_missing() {
        0 => String::new(),
        n => format!(" {} that the scenario asks for left no record.", format::plural(n, "cell", "cells")),
    };
    if there == 0 {
        return format!("No cell was recorded, so nothing was shown.{missing}");
    }
    let parts: Vec<String> = [State::Fail, State::Inconclusive, State::Unsafe, State::Pass]
        .into_iter()
        .map(|state| (state, summary.cells.iter().filter(|cell| State::of_cell(cell) == state).count() as u64))
        .filter(|&(_, n)| n > 0)
        .map(|(state, n)| {
            let are = if n == 1 { "is" } else { "are" };
            match state {
                State::Pass => format!("{} passed", format::count(n)),
                State::Untestable | State::Unsafe => format!("{} {are} unsafe as expected", format::count(n)),
                State::Inconclusive => format!("{} {are} inconclusive", format::count(n)),
                State::Fail => format!("{} failed", format::count(n)),
            }
        })
        .collect();
    let cells = format::plural(there, "cell", "cells");
    let allowed = allowed(summary);
    let of = planned(summary).map_or_else(String::new, |(times, further)| {
        let configurations = format::plural(summary.pools.len() as u64, "configuration", "configurations");
        format!(" ({configurations}, each planned {}{further})", format::plural(times.into(), "time", "times"))
    });
    format!("Of {cells}{of}, {}{allowed}.{missing}", join_and(&parts))
}

/// How often each configuration was planned, and the further repetitions beyond that in words. None where each was run
/// once.
fn planned(summary: &Summary) -> Option<(u32, String)> {
    let pools = summary.pools.iter().map(|pool| pool.planned).max()?;
    let all = || summary.cells.iter().filter_map(|cell| cell.info.repetition.as_ref());
    let further = all().filter(|one| one.number > one.count).count() as u64;
    let further = match further {
        0 => String::new(),
        n => format!(", and {}", format::plural(n, "further repetition", "further repetitions")),
    };
    Some((all().map(|one| one.count).max().unwrap_or(pools), further))
}

/// What a pass must not hide, where the scenario allows it: two that led at once, and stale writes that were accepted.
fn allowed(summary: &Summary) -> String {
    let passed = || summary.cells.iter().filter(|cell| State::of_cell(cell) == State::Pass);
    let overlapped: Vec<&CellSummary> = passed().filter(|cell| cell.split_brain.active.seen > 0).collect();
    let longest = overlapped.iter().map(|cell| cell.split_brain.active_max_ns).max();
    let cells = format::plural(overlapped.len() as u64, "cell", "cells");
    let led = longest.map(|longest| {
        let longest = format::said(longest);
        format!("in {cells} two candidates led at once, for {longest} at most")
    });
    let accepted: u64 = passed().map(|cell| counted_writes(cell).seen).sum();
    let wrote = (accepted > 0).then(|| {
        let were = if accepted == 1 { "was" } else { "were" };
        format!("{} {were} accepted", format::plural(accepted, "stale write", "stale writes"))
    });
    let parts: Vec<String> = led.into_iter().chain(wrote).collect();
    if parts.is_empty() { String::new() } else { format!("; {}, as the scenario allows", parts.join(", and ")) }
}

pub(super) fn join_and(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

impl RunView {
    pub(super) fn new(summary: &Summary) -> Self {
        let manifest = &summary.manifest;
        let versions = manifest.versions.iter();
        Self {
            scenario: clean::short(&manifest.scenario, 80),
            summary: clean::short(&manifest.summary, CHARS_MAX),
            analysis: paragraphs(&clean::prose(&manifest.analysis)),
            facts: facts(summary),
            versions: versions.map(|(name, v)| (clean::short(name, 60), clean::short(v, 120))).collect(),
            cautions: cautions(summary),
            untestable: not_testable(summary),
            conditions: conditions(manifest),
            command: clean::line(&manifest.command),
            folder: if manifest.folder.is_empty() { "RECORD".into() } else { clean::line(&manifest.folder) },
            seed: manifest.seed.to_string(),
            id: clean::short(&manifest.run, 80),
        }
    }
}

/// What was run, on what, and when.
pub(crate) fn facts(summary: &Summary) -> Vec<Fact> {
    let manifest = &summary.manifest;
    let mut facts = vec![
        Fact::new("Ensemble", clean::short(&manifest.ensemble, 200)),
        Fact::new("ZooKeeper", clean::short(&manifest.ensemble_version, 120)),
    ];
    facts.extend(servers_work(summary).map(|work| Fact::new("Work of the servers", work)));
    facts.extend(machine_and_day(manifest));
    facts.extend([
        Fact::new("Recorded for", summary.recorded_ns.map_or_else(|| format::NOTHING.into(), format::duration)),
        Fact::new("Seed", manifest.seed.to_string()),
        Fact::new("Cells", cells(summary)),
    ]);
    facts.extend(repetitions(summary));
    facts.extend([Fact::new("T asked → negotiated", timeouts(summary))]);
    let largest = summary.cells.iter().max_by_key(|cell| cell.enrolment.candidates);
    if let Some(cell) = largest {
        let groups = format::plural(cell.info.groups.len() as u64, "group", "groups");
        let hosts = format::plural(cell.info.hosts.len() as u64, "host", "hosts");
        let candidates = format::plural(cell.enrolment.candidates, "candidate", "candidates");
        let sessions = format::plural(cell.enrolment.sessions, "session", "sessions");
        facts.push(Fact::new("Largest cell", format!("{candidates} in {groups} on {hosts}, {sessions}")));
    }
    facts.push(Fact::new("Run", clean::short(&manifest.run, 80)));
    facts
}

/// What else the servers had to do, and whether they waited for their disks: real servers take longer where they do. None where no
/// servers were real.
fn servers_work(summary: &Summary) -> Option<String> {
    match summary.manifest.ensemble_kind {
        EnsembleKind::Local | EnsembleKind::Docker => {}
        EnsembleKind::External => return Some("not known: they belong to others".into()),
        EnsembleKind::Embedded | EnsembleKind::Simulated => return None,
    }
    let synced = |wanted: &str| {
        summary.cells.iter().any(|cell| cell.info.parameters.get("fsync").is_some_and(|fsync| fsync == wanted))
    };
    let disk = match (synced("true"), synced("false")) {
        (true, false) => "every write is on disk before it is answered (forceSync=yes)",
        (false, true) => "no write waits for the disk (forceSync=no)",
        (true, true) => "writes wait for the disk in some cells only (forceSync)",
        (false, false) => "whether writes wait for the disk is not recorded",
    };
    Some(format!("nothing but this run: idle servers otherwise; {disk}"))
}

/// Where and when; a simulation has neither.
fn machine_and_day(manifest: &Manifest) -> Vec<Fact> {
    let machine = &manifest.machine;
    if manifest.ensemble_kind == EnsembleKind::Simulated {
        return vec![Fact::new("Machine", format!("none: {}", manifest.ensemble_kind))];
    }
    let load = |text: &str, of: &str| format!("{} (one-minute average{of})", clean::short(text, 20));
    let mut facts = vec![
        Fact::new(
            "Machine",
            format!(
                "{}, {}, {} of memory, {}",
                clean::short(&machine.cpu, 80),
                format::plural(machine.cores.into(), "core", "cores"),
                format::memory_kb(machine.memory_mb as f64 * 1024.0),
                clean::short(&machine.kernel, 80)
            ),
        ),
        Fact::new("Load when it began", load(&machine.load_1m, "")),
    ];
    let ended = machine.load_1m_end.as_ref().map(|end| load(end, ", its own included"));
    facts.extend(ended.map(|load| Fact::new("Load when it ended", load)));
    facts.extend([
        Fact::new("Began", clean::short(&manifest.started_utc, 40)),
        Fact::new("Ended", manifest.ended_utc.as_ref().map_or("not noted".into(), |ended| clean::short(ended, 40))),
    ]);
    facts
}

/// The kind of ensemble, and how busy the machine was.
fn conditions(manifest: &Manifest) -> String {
    let kind = manifest.ensemble_kind;
    // Behind the first semicolon is why it was chosen.
    let described = clean::short(manifest.ensemble.split(';').next().unwrap_or_default(), 160);
    let ensemble = if described.starts_with(kind.name()) { described } else { format!("{kind}: {described}") };
    if kind == EnsembleKind::Simulated {
        return format!("Ensemble: {ensemble}.");
    }
    let machine = &manifest.machine;
    let (cores, load) = (format::plural(machine.cores.into(), "core", "cores"), clean::short(&machine.load_1m, 20));
    let load = match &machine.load_1m_end {
        Some(end) => {
            let end = clean::short(end, 20);
            format!("load {load} before the run and {end} in its last minute, its own included (one-minute averages)")
        }
        None => format!("load {load} when the run began (one-minute average)"),
    };
    format!("Ensemble: {ensemble}. Machine: {cores}, {load}.")
}

/// How often configurations were run.
fn repetitions(summary: &Summary) -> Option<Fact> {
    let (times, further) = planned(summary)?;
    let configurations = format::plural(summary.pools.len() as u64, "configuration", "configurations");
    Some(Fact::new("Repetitions", format!("{times} of each of {configurations}, in rounds over all of them{further}")))
}

fn cells(summary: &Summary) -> String {
    let (there, planned) = (summary.cells.len() as u64, u64::from(summary.manifest.cells_planned));
    format!("{} of {} planned", format::count(there), format::count(planned))
}

fn timeouts(summary: &Summary) -> String {
    let mut pairs: Vec<(u64, Option<u64>)> = summary
        .cells
        .iter()
        .filter(|cell| cell.info.has_candidates())
        .map(|c| (c.info.timeout_asked_ms, c.timeout_ms))
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    let words = pairs.into_iter().take(12).map(|(asked, got)| {
        let got = got.map_or_else(|| "no session".into(), format::setting_ms);
        format!("{} → {got}", format::setting_ms(asked))
    });
    let words = words.collect::<Vec<_>>().join(", ");
    if words.is_empty() { format::NOTHING.into() } else { words }
}

/// Why the run did not come to its end. Empty if it did.
pub(crate) fn why_unfinished(summary: &Summary) -> Vec<String> {
    let manifest = &summary.manifest;
    let errors = manifest.warnings.iter().filter(|warning| warning.kind == WarningKind::Aborted);
    let errors: Vec<String> = errors.map(ToString::to_string).collect();
    let ended = ended(manifest).map(str::to_owned);
    ended.into_iter().chain(first_lines(&errors, LINES_MAX, CHARS_MAX)).collect()
}

fn cautions(summary: &Summary) -> Vec<String> {
    let mut lines: Vec<String> = ended(&summary.manifest).into_iter().map(str::to_owned).collect();
    lines.extend(warnings(summary));
    lines
}

/// What must be known before any figure is believed, without the page beside it: lines and their signs.
pub(crate) fn remarks(summary: &Summary) -> Vec<(&'static str, String)> {
    let untestable = not_testable(summary).map(|text| format!("{text} The report says why, cell by cell."));
    let untestable = untestable.map(|text| (State::Untestable.sign(), text));
    warnings(summary).into_iter().map(|warning| ("!", warning)).chain(untestable).collect()
}

fn warnings(summary: &Summary) -> Vec<String> {
    let warnings: Vec<String> = summary.manifest.warnings.iter().map(ToString::to_string).collect();
    let mut lines = first_lines(&warnings, LINES_MAX, CHARS_MAX);
    lines.extend(first_lines(&summary.notes, LINES_MAX, CHARS_MAX));
    lines
}

/// Which checks passed in cells in which they could not have failed.
fn not_testable(summary: &Summary) -> Option<String> {
    let mut checks: BTreeMap<&str, u64> = BTreeMap::new();
    let mut cells = 0;
    for cell in &summary.cells {
        let untestable = cell.checks.iter().filter(|check| State::of_check(cell, check) == State::Untestable);
        let before = checks.values().sum::<u64>();
        untestable.for_each(|check| *checks.entry(&check.name).or_default() += 1);
        cells += u64::from(checks.values().sum::<u64>() > before);
    }
    let named: Vec<String> = checks.iter().map(|(name, cells)| format!("{name} ({cells})")).collect();
    (cells > 0).then(|| {
        format!(
            "Not testable in {}: {}. Such a pass proves nothing: nothing happened in its cell that the check could have caught. It \
             changes no verdict.",
            format::plural(cells, "cell", "cells"),
            named.join(", ")
        )
    })
}

fn ended(manifest: &Manifest) -> Option<&'static str> {
    match manifest.state {
        RunState::Completed => None,
        RunState::Running => Some("This run has no end on record: it is still running, or it was killed."),
        RunState::Interrupted => {
            Some("This run was interrupted (Ctrl-C or another signal); what it recorded until then is here.")
        }
        RunState::Aborted => {
            Some("This run was ended by an error of the infrastructure; what it recorded until then is here.")
        }
    }
}

/// Text between blank lines, each in one line.
fn paragraphs(prose: &str) -> Vec<String> {
    let one = |paragraph: &str| paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    prose.split("\n\n").map(one).filter(|paragraph| !paragraph.is_empty()).collect()
}
