//! Whether a scenario makes sense: bounds on everything that costs, names that ZooKeeper takes, faults that can be done.

use std::collections::BTreeSet;

use super::cell::{self, Cell};
use super::error::{Problem, nearest};
use super::fault::{FaultKind, FaultSpec, TargetKind};
use super::schema::{FencingMethod, Links, Scenario};
use crate::plan;
use crate::recipes::RecipeKind;

const HOUR_MS: u64 = 3_600_000;
const CELLS_MAX: usize = 1_000;
const CANDIDATES_MAX: u64 = 1_000_000;
const NAME_MAX: usize = 200;

/// All that is wrong with it.
pub(super) fn problems(scenario: &Scenario) -> Vec<Problem> {
    let mut found = Vec::new();
    general(scenario, &mut found);
    names(&scenario.election.group_names, "election.group_names", &mut found);
    names(&scenario.election.host_names, "election.host_names", &mut found);
    for (name, fault) in &scenario.faults {
        one_fault(name, fault, &mut found);
    }
    references(scenario, &mut found);
    let cells = cell::count(scenario);
    if cells > CELLS_MAX {
        add(&mut found, "matrix", format!("makes {cells} cells"), format!("{CELLS_MAX} at most: vary less"));
    }
    // Cells are made only of values that are within their bounds.
    if found.is_empty() {
        for cell in scenario.cells() {
            one_cell(scenario, &cell, &mut found);
        }
    }
    let mut seen = BTreeSet::new();
    found.retain(|problem| seen.insert(problem.to_string()));
    found
}

/// What is allowed but probably not meant.
pub(super) fn warnings(scenario: &Scenario) -> Vec<String> {
    let mut found = BTreeSet::new();
    let cells = scenario.cells();
    for cell in &cells {
        if cell.timeout_granted_ms() != cell.session_timeout_ms {
            found.insert(format!(
                "a session timeout of {} ms is not within 2 and 20 ticks of {} ms: the ensemble grants {} ms, and everything is measured by that",
                cell.session_timeout_ms,
                cell.tick_ms,
                cell.timeout_granted_ms()
            ));
        }
    }
    for (place, entry) in scenario.expect.iter().enumerate() {
        if !cells.iter().any(|cell| entry.when.covers(cell)) {
            found.insert(format!("expect entry {} is about no cell", place + 1));
        }
    }
    found.into_iter().collect()
}

fn add(found: &mut Vec<Problem>, key: &str, what: impl Into<String>, remedy: impl Into<String>) {
    found.push(Problem { key: key.to_owned(), what: what.into(), remedy: remedy.into() });
}

fn within(found: &mut Vec<Problem>, key: &str, value: u64, least: u64, most: u64) {
    if value < least || value > most {
        add(found, key, format!("{value} is out of bounds"), format!("choose {least} to {most}"));
    }
}

fn general(scenario: &Scenario, found: &mut Vec<Problem>) {
    let (ensemble, election, phases) = (&scenario.ensemble, &scenario.election, &scenario.phases);
    let name = &scenario.name;
    if name.trim().is_empty() || name.chars().count() > NAME_MAX || name.chars().any(char::is_control) {
        add(
            found,
            "name",
            "is empty, too long or not printable",
            format!("give it 1 to {NAME_MAX} printable characters"),
        );
    }
    if ![1, 3, 5].contains(&ensemble.servers) {
        add(found, "ensemble.servers", format!("{} servers", ensemble.servers), "choose 1, 3 or 5");
    }
    if scenario.seed.is_some_and(|seed| i64::try_from(seed).is_err()) {
        add(found, "seed", "is too large", "choose 0 to 9223372036854775807");
    }
    within(found, "ensemble.tick_ms", ensemble.tick_ms, 10, 60_000);
    within(found, "election.work_interval_ms", election.work_interval_ms, 1, HOUR_MS);
    within(found, "election.poll_interval_ms", election.poll_interval_ms, 1, HOUR_MS);
    within(found, "election.connect_concurrency", election.connect_concurrency.into(), 1, 10_000);
    within(found, "election.rejoin_after_ms", election.rejoin_after_ms, 0, HOUR_MS);
    within(found, "phases.enrol_max_ms", phases.enrol_max_ms, 1_000, HOUR_MS);
    within(found, "phases.warm_up_ms", phases.warm_up_ms, 0, HOUR_MS);
    within(found, "phases.drain_max_ms", phases.drain_max_ms, 1, HOUR_MS);
    if phases.drain_ms > phases.drain_max_ms {
        add(found, "phases.drain_ms", "is longer than phases.drain_max_ms", "raise the one or lower the other");
    }
    sizes(scenario, found);
}

/// What may be varied, wherever it is given.
fn sizes(scenario: &Scenario, found: &mut Vec<Problem>) {
    let (matrix, election) = (&scenario.matrix, &scenario.election);
    let mut each = |field: &str, axis: Option<Vec<u64>>, otherwise: u64, least: u64, most: u64| {
        let section = if axis.is_some() { "matrix" } else { "election" };
        for value in axis.unwrap_or_else(|| vec![otherwise]) {
            within(found, &format!("{section}.{field}"), value, least, most);
        }
    };
    each("groups", wide(&matrix.groups), election.groups.into(), 1, 100_000);
    each("hosts", wide(&matrix.hosts), election.hosts.into(), 1, 1_000);
    let candidates = u64::from(election.candidates_per_group);
    each("candidates_per_group", wide(&matrix.candidates_per_group), candidates, 1, 10_000);
    each("session_timeout_ms", wide(&matrix.session_timeout_ms), election.session_timeout_ms, 100, 600_000);
}

fn wide<T: Copy + Into<u64>>(axis: &Option<super::axis::Axis<T>>) -> Option<Vec<u64>> {
    axis.as_ref().map(|axis| axis.0.iter().map(|value| (*value).into()).collect())
}

/// Names become znodes: ZooKeeper takes anything that has no slash, is printable, and is not one of its own.
fn names(given: &[String], key: &str, found: &mut Vec<Problem>) {
    let mut seen = BTreeSet::new();
    for name in given {
        let why = if name.is_empty() {
            "an empty name"
        } else if name.contains('/') {
            "has a slash, which would make another level of znodes"
        } else if name.chars().any(|c| c.is_control() || ('\u{fff0}'..='\u{ffff}').contains(&c)) {
            "has characters that ZooKeeper refuses in a path"
        } else if [".", "..", "zookeeper"].contains(&name.as_str()) {
            "is a name that ZooKeeper keeps for itself"
        } else if name.chars().count() > NAME_MAX {
            "is too long"
        } else if !seen.insert(name) {
            "is given twice"
        } else {
            continue;
        };
        add(found, key, format!("{name:?}: {why}"), "choose another name");
    }
}

fn one_fault(name: &str, fault: &FaultSpec, found: &mut Vec<Problem>) {
    let key = |field: &str| format!("faults.{name}.{field}");
    let kind = fault.kind;
    within(found, &key("repeat"), fault.repeat.into(), 1, 1_000);
    if let Some(every) = fault.every_ms {
        within(found, &key("every_ms"), every, 10, HOUR_MS);
    }
    if let Some(for_ms) = fault.for_ms {
        within(found, &key("for_ms"), for_ms, 1, HOUR_MS);
    }
    if fault.for_t.is_some_and(|for_t| !(for_t > 0.0 && for_t <= 100.0)) {
        add(found, &key("for_t"), "is out of bounds", "choose a number above 0, 100 at most");
    }
    if fault.for_ms.is_some() && fault.for_t.is_some() {
        add(found, &key("for_t"), "stands beside for_ms", "keep one of them");
    }
    let told = fault.for_ms.is_some() || fault.for_t.is_some();
    if kind.needs_duration() && !told {
        add(found, &key("for_ms"), format!("is missing: a {kind} lasts"), "say how long, with for_ms or for_t");
    }
    if told && !kind.takes_duration() {
        add(found, &key("for_ms"), format!("has no meaning for {kind}"), "leave it out");
    }
    target(name, fault, found);
    let slow = [
        ("latency_ms", fault.latency_ms.is_some()),
        ("jitter_ms", fault.jitter_ms.is_some()),
        ("rate_kb", fault.rate_kb.is_some()),
        ("direction", fault.direction.is_some()),
    ];
    for (field, given) in slow {
        if given && kind != FaultKind::Slow {
            add(found, &key(field), format!("has no meaning for {kind}"), "leave it out, or use kind = \"slow\"");
        }
    }
    for (field, value, least, most) in [
        ("latency_ms", fault.latency_ms, 0, 60_000),
        ("jitter_ms", fault.jitter_ms, 0, 60_000),
        ("rate_kb", fault.rate_kb, 1, 10_000_000),
    ] {
        if let Some(value) = value {
            within(found, &key(field), value, least, most);
        }
    }
    if kind == FaultKind::Slow && fault.latency_ms.is_none() && fault.rate_kb.is_none() && fault.jitter_ms.is_none() {
        add(found, &key("latency_ms"), "is missing: nothing would be slow", "give latency_ms, jitter_ms or rate_kb");
    }
}

fn target(name: &str, fault: &FaultSpec, found: &mut Vec<Problem>) {
    let key = |field: &str| format!("faults.{name}.{field}");
    let by_groups = matches!(fault.target(), super::Target::Leaders { .. } | super::Target::Followers { .. });
    let by_hosts = matches!(fault.target(), super::Target::Host { .. } | super::Target::HostLeadingMost { .. });
    if fault.groups.is_some() && !by_groups {
        add(
            found,
            &key("groups"),
            "has no meaning for this target",
            "use it with target = \"leaders\" or \"followers\"",
        );
    }
    if fault.hosts.is_some() && !by_hosts {
        let remedy = "use it with target = \"host\" or \"host-leading-most\"";
        add(found, &key("hosts"), "has no meaning for this target", remedy);
    }
    match (fault.share, fault.target) {
        (None, Some(TargetKind::Share)) => {
            add(found, &key("share"), "is missing", "say how much of all, for example 0.5")
        }
        (Some(share), Some(TargetKind::Share)) if !(share > 0.0 && share <= 1.0) => {
            add(found, &key("share"), format!("{share} is out of bounds"), "choose a number above 0, 1 at most");
        }
        (Some(_), target) if target != Some(TargetKind::Share) => {
            add(found, &key("share"), "has no meaning for this target", "use it with target = \"share\"");
        }
        _ => {}
    }
    if fault.groups == Some(0) || fault.hosts == Some(0) {
        add(found, &key("target"), "hits nobody", "let it hit 1 at least");
    }
}

/// Names of faults that the matrix and the expectations mention.
fn references(scenario: &Scenario, found: &mut Vec<Problem>) {
    let mut known: Vec<String> = scenario.faults.keys().cloned().collect();
    // A control needs no entry.
    known.push("none".to_owned());
    let in_matrix = scenario.matrix.fault.iter().map(|axis| ("matrix.fault".to_owned(), axis));
    let in_expect = scenario.expect.iter().enumerate();
    let in_expect =
        in_expect.filter_map(|(i, e)| Some((format!("expect[{}].when.fault", i + 1), e.when.fault.as_ref()?)));
    for (key, axis) in in_matrix.chain(in_expect) {
        for name in axis.0.iter().filter(|name| !known.contains(name)) {
            let nearest = nearest(name, &known).map(|n| format!("did you mean `{n}`? ")).unwrap_or_default();
            add(found, &key, format!("there is no fault `{name}`"), format!("{nearest}there are {}", known.join(", ")));
        }
    }
}

fn one_cell(scenario: &Scenario, cell: &Cell, found: &mut Vec<Problem>) {
    let fault_key = |field: &str| format!("faults.{}.{field}", cell.fault_name);
    if cell.recipe.is_broken() && !scenario.allow_broken {
        let what = format!("`{}` is broken on purpose", cell.recipe);
        add(found, "election.recipe", what, "set allow_broken = true to run it all the same");
    }
    if cell.candidates() > CANDIDATES_MAX {
        let what = format!("{} candidates in all", cell.candidates());
        add(found, "election.candidates_per_group", what, format!("{CANDIDATES_MAX} at most"));
    }
    for (key, given, needed) in [
        ("election.group_names", scenario.election.group_names.len(), u64::from(cell.groups)),
        ("election.host_names", scenario.election.host_names.len(), u64::from(cell.hosts)),
    ] {
        if given > 0 && (given as u64) < needed {
            add(found, key, format!("{given} names for {needed}"), "give as many as there are, or none");
        }
    }
    if cell.fault.kind.needs_links() && scenario.election.links == Links::Never {
        let what = format!("`{}` acts on links", cell.fault.kind);
        add(found, "election.links", what, "use links = \"auto\"");
    }
    if cell.fencing == FencingMethod::Kill && cell.recipe == RecipeKind::LockRace && cell.hosts < 2 {
        add(
            found,
            "election.fencing",
            "kill needs another host to kill",
            "use 2 hosts at least, or fencing = \"resource\"",
        );
    }
    hosts_out(cell, &fault_key("hosts"), found);
    let measure = plan::plan(cell, 0).measure_ms;
    if measure > 24 * HOUR_MS {
        add(
            found,
            &fault_key("repeat"),
            format!("the faults take {} h", measure / HOUR_MS),
            "24 h at most: repeat less",
        );
    }
}

/// Never more than a minority of the hosts at a time, unless asked.
fn hosts_out(cell: &Cell, key: &str, found: &mut Vec<Problem>) {
    let fault = &cell.fault;
    if !fault.kind.takes_hosts_out() {
        return;
    }
    let at_once = match fault.target() {
        super::Target::HostLeadingMost { hosts } | super::Target::Host { hosts } => u64::from(hosts),
        super::Target::Share { share } => (share * f64::from(cell.hosts)).ceil() as u64,
        super::Target::Leaders { .. } | super::Target::Followers { .. } => 1,
    };
    let stays_away = fault.kind == FaultKind::Crash && fault.duration_ms(cell.timeout_granted_ms()).is_none();
    let out = if stays_away { at_once * u64::from(fault.repeat) } else { at_once };
    let most = u64::from(cell.hosts_out_max());
    if out > most {
        let what = format!("takes {out} of {} hosts out{}", cell.hosts, if stays_away { " for good" } else { "" });
        let remedy =
            format!("hit {most} at most, let crashed hosts come back with for_ms, or set allow_majority = true");
        add(found, key, what, remedy);
    }
}
