//! Expands a scenario's matrix to cells, each with a name that is valid as a file name.

use std::collections::{BTreeMap, BTreeSet};

use hustings_record::{Expect, FaultKind, FencingMethod, StepDown};

use super::axis::{Axis, Coordinates};
use super::cell::Cell;
use super::declared_step_down::DeclaredStepDown;
use super::expected;
use super::fault::FaultSpec;
use super::program::ResolvedProgram;
use super::schema::{Links, Paths, Scenario, SelfTest};

/// The longest name of a cell.
const NAME_MAX: usize = 100;

/// Number of coordinates that distinguish cells beside recipe and fault.
const COORDINATES: usize = 11;

/// Expands the matrix, one axis after the other; the last one varies fastest.
pub(super) fn expand(scenario: &Scenario) -> Vec<Cell> {
    let mut cells: Vec<Cell> = scenario.matrices().flat_map(|matrix| multiply(scenario, matrix)).collect();
    one_of_each(&mut cells);
    cells.extend(self_tests(scenario, &cells));
    finish(scenario, &mut cells);
    cells
}

fn multiply(scenario: &Scenario, matrix: &Coordinates) -> Vec<Cell> {
    let (ensemble, election) = (&scenario.ensemble, &scenario.election);
    let cells = vec![base(scenario)];
    // First the axes that need another ensemble, so that each ensemble is started once.
    let cells = vary(cells, &values(&matrix.servers, ensemble.servers), |cell, v| cell.servers = *v);
    let cells = vary(cells, &values(&matrix.tick_ms, ensemble.tick_ms), |cell, v| cell.tick_ms = *v);
    let cells = vary(cells, &values(&matrix.recipe, election.recipe.clone()), |cell, v| {
        cell.recipe = v.clone();
        cell.program = v.foreign().and_then(|name| ResolvedProgram::find(&scenario.foreign, name));
    });
    let cells = vary(cells, &values(&matrix.step_down, election.step_down), |cell, v| cell.step_down = *v);
    let cells = one_of_each_policy(cells);
    let timeouts = values(&matrix.session_timeout_ms, election.session_timeout_ms);
    let cells = vary(cells, &timeouts, |cell, v| cell.session_timeout_ms = *v);
    let cells = vary(cells, &values(&matrix.groups, election.groups), |cell, v| cell.groups = *v);
    let cells = vary(cells, &values(&matrix.hosts, election.hosts), |cell, v| cell.hosts = *v);
    let candidates = values(&matrix.candidates_per_group, election.candidates_per_group);
    let cells = vary(cells, &candidates, |cell, v| cell.candidates_per_group = *v);
    let intervals = values(&matrix.work_interval_ms, election.work_interval_ms);
    let cells = vary(cells, &intervals, |cell, v| cell.work_interval_ms = *v);
    let cells = vary(cells, &faults_of(scenario, matrix), |cell, v| set_fault(scenario, cell, v));
    let cells = vary(cells, &values(&matrix.resource, election.resource), |cell, v| cell.resource = *v);
    let cells = vary(cells, &values(&matrix.fencing, election.fencing), |cell, v| cell.fencing = *v);
    vary(cells, &values(&matrix.sessions, election.sessions), |cell, v| cell.sessions = *v)
}

/// Differences between recipes do not affect a program: cells of a program that are equal for it are merged.
fn one_of_each(cells: &mut Vec<Cell>) {
    let mut seen: Vec<Cell> = Vec::new();
    cells.retain(|cell| {
        if cell.recipe.own().is_some() {
            return true;
        }
        let asked = Cell { fencing: FencingMethod::Resource, poll_interval_ms: 0, ..cell.clone() };
        let is_new = !seen.contains(&asked);
        if is_new {
            seen.push(asked);
        }
        is_new
    });
}

/// A program that ignores the cell's step-down policy is the same in the cells of all policies: only one is kept.
fn one_of_each_policy(mut cells: Vec<Cell>) -> Vec<Cell> {
    let mut first: Option<StepDown> = None;
    cells.retain(|cell| {
        let keeps_what_it_is_told =
            cell.program.as_ref().is_none_or(|program| program.step_down == Some(DeclaredStepDown::AsTold));
        keeps_what_it_is_told || *first.get_or_insert(cell.step_down) == cell.step_down
    });
    cells
}

/// The first cell of every fault of the self-test again, with the recipe that must be caught.
fn self_tests(scenario: &Scenario, cells: &[Cell]) -> Vec<Cell> {
    let Some(SelfTest { recipe, fault }) = &scenario.self_test else { return Vec::new() };
    let faults = fault.as_ref().map_or_else(|| fault_names(scenario), |fault| vec![fault.clone()]);
    let first = |fault: &String| cells.iter().find(|cell| cell.fault_name == *fault);
    faults
        .iter()
        .filter_map(first)
        .map(|cell| Cell { recipe: (*recipe).into(), program: None, self_test: true, ..cell.clone() })
        .collect()
}

/// The values of an axis; the default alone where it is not varied.
pub(super) fn values<T: Clone>(axis: &Option<Axis<T>>, otherwise: T) -> Vec<T> {
    axis.as_ref().map_or_else(|| vec![otherwise], |axis| axis.0.clone())
}

/// Each cell once for each value.
fn vary<T>(cells: Vec<Cell>, values: &[T], set: impl Fn(&mut Cell, &T)) -> Vec<Cell> {
    let one = |cell: &Cell, value: &T| {
        let mut cell = cell.clone();
        set(&mut cell, value);
        cell
    };
    cells.iter().flat_map(|cell| values.iter().map(|value| one(cell, value)).collect::<Vec<_>>()).collect()
}

/// Number of cells in the matrix, without building them.
pub(super) fn count(scenario: &Scenario) -> usize {
    scenario.matrices().map(|matrix| count_of(scenario, matrix)).fold(0, usize::saturating_add)
}

fn count_of(scenario: &Scenario, m: &Coordinates) -> usize {
    let lens = [
        len(&m.servers),
        len(&m.tick_ms),
        len(&m.recipe),
        len(&m.step_down),
        len(&m.session_timeout_ms),
        len(&m.groups),
        len(&m.hosts),
        len(&m.candidates_per_group),
        len(&m.work_interval_ms),
        faults_of(scenario, m).len(),
        len(&m.resource),
        len(&m.fencing),
        len(&m.sessions),
    ];
    lens.into_iter().fold(1, usize::saturating_mul)
}

fn len<T>(axis: &Option<Axis<T>>) -> usize {
    axis.as_ref().map_or(1, |axis| axis.0.len())
}

/// The numbers of servers in the cells where a fault hits; the ensemble's default if it hits in none.
pub(super) fn servers_under(scenario: &Scenario, fault: &str) -> BTreeSet<u32> {
    let injections = |name: &String| {
        name == fault || scenario.faults.get(name).is_some_and(|spec| spec.with.as_deref() == Some(fault))
    };
    let under = scenario.matrices().filter(|matrix| faults_of(scenario, matrix).iter().any(injections));
    let servers: BTreeSet<u32> = under.flat_map(|matrix| values(&matrix.servers, scenario.ensemble.servers)).collect();
    if servers.is_empty() { BTreeSet::from([scenario.ensemble.servers]) } else { servers }
}

/// Names of the faults in use, each once.
pub(super) fn fault_names(scenario: &Scenario) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let all = scenario.matrices().flat_map(|matrix| faults_of(scenario, matrix));
    all.filter(|name| seen.insert(name.clone())).collect()
}

/// Names of the faults of a matrix: those it lists, else all, else a control.
fn faults_of(scenario: &Scenario, matrix: &Coordinates) -> Vec<String> {
    match &matrix.fault {
        Some(axis) => axis.0.clone(),
        None if scenario.faults.is_empty() => vec!["none".to_owned()],
        None => scenario.faults.keys().cloned().collect(),
    }
}

fn set_fault(scenario: &Scenario, cell: &mut Cell, name: &str) {
    cell.fault = scenario.faults.get(name).cloned().unwrap_or_else(FaultSpec::none);
    cell.fault_name = name.to_owned();
    cell.with = cell.fault.with.as_ref().and_then(|with| scenario.faults.get(with)).cloned();
    let profits = cell.kinds().any(|kind| kind.needs_links() || kind.profits_by_links());
    cell.over_links = match scenario.election.links {
        Links::Always => true,
        Links::Never => false,
        Links::Auto => profits || scenario.election.witness,
    };
    let watched = cell.kinds().any(FaultKind::hits_servers);
    cell.watch_ms = watched.then_some(scenario.ensemble.watch_ms);
}

fn base(scenario: &Scenario) -> Cell {
    let election = &scenario.election;
    Cell {
        index: 0,
        name: String::new(),
        repetition: None,
        contest: None,
        recipe: election.recipe.clone(),
        program: None,
        step_down: election.step_down,
        fault_name: String::new(),
        fault: FaultSpec::none(),
        with: None,
        groups: election.groups,
        hosts: election.hosts,
        candidates_per_group: election.candidates_per_group,
        group_names: Vec::new(),
        host_names: Vec::new(),
        session_timeout_ms: election.session_timeout_ms,
        sessions: election.sessions,
        work_interval_ms: election.work_interval_ms,
        resource: election.resource,
        fencing: election.fencing,
        over_links: false,
        witness: election.witness,
        equal_paths: false,
        poll_interval_ms: election.poll_interval_ms,
        connect_concurrency: election.connect_concurrency,
        rejoin_after_ms: election.rejoin_after_ms,
        servers: scenario.ensemble.servers,
        tick_ms: scenario.ensemble.tick_ms,
        fsync: scenario.ensemble.fsync,
        init_limit: scenario.ensemble.init_limit,
        sync_limit: scenario.ensemble.sync_limit,
        watch_ms: None,
        phases: scenario.phases.clone(),
        expect: Expect::default(),
        self_test: false,
    }
}

/// Derives a cell's names and expectations from its coordinates.
fn finish(scenario: &Scenario, cells: &mut [Cell]) {
    let mut taken = BTreeSet::new();
    cells.iter_mut().filter(|cell| cell.groups == 0).for_each(|cell| cell.hosts = 0);
    let described = describe(cells);
    let equal = match scenario.election.paths {
        Paths::Auto => cells.iter().any(|cell| cell.recipe.foreign().is_some()),
        Paths::Equal => true,
        Paths::Short => false,
    };
    for (index, (cell, name)) in cells.iter_mut().zip(described).enumerate() {
        cell.index = u32::try_from(index).unwrap_or(u32::MAX);
        cell.name = unique(&name, &mut taken);
        cell.group_names = names(&scenario.election.group_names, u64::from(cell.groups), 'g');
        cell.host_names = names(&scenario.election.host_names, u64::from(cell.hosts), 'h');
        cell.equal_paths = equal && cell.recipe.own().is_some() && cell.groups > 0;
        cell.expect = expected::resolve(&scenario.expect, cell);
    }
}

fn names(given: &[String], count: u64, letter: char) -> Vec<String> {
    let given = given.iter().cloned().chain((given.len() as u64..).map(|i| format!("{letter}{i}")));
    given.take(usize::try_from(count).unwrap_or(usize::MAX)).collect()
}

/// Recipe and fault. Without candidates there is no recipe.
fn title(cell: &Cell) -> Vec<String> {
    let recipe = match (cell.self_test, cell.groups) {
        (true, _) => Some("self-test".to_owned()),
        (false, 0) => None,
        (false, _) => Some(cell.recipe.to_string()),
    };
    recipe.into_iter().chain([cell.fault_name.clone()]).collect()
}

/// The other coordinates, as words for names.
fn coordinates(cell: &Cell) -> [String; COORDINATES] {
    [
        format!("s{}", cell.servers),
        format!("tick{}", cell.tick_ms),
        cell.policy().map_or_else(|| "undeclared".into(), |policy| policy.to_string()),
        format!("t{}", cell.session_timeout_ms),
        format!("g{}", cell.groups),
        format!("h{}", cell.hosts),
        format!("n{}", cell.candidates_per_group),
        format!("w{}", cell.work_interval_ms),
        cell.resource.to_string(),
        format!("fencing-{}", cell.fencing),
        cell.sessions.to_string(),
    ]
}

/// Recipe and fault, and the other coordinates that distinguish the cell from others with the same two.
fn describe(cells: &[Cell]) -> Vec<String> {
    let mut same: BTreeMap<Vec<String>, ([String; COORDINATES], [bool; COORDINATES])> = BTreeMap::new();
    for cell in cells {
        let told = coordinates(cell);
        let (first, differs) = same.entry(title(cell)).or_insert_with(|| (told.clone(), [false; COORDINATES]));
        first.iter().zip(&told).zip(differs).for_each(|((first, told), differs)| *differs |= first != told);
    }
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '.' || c == '_' { c.to_ascii_lowercase() } else { '-' };
    let name = |cell: &Cell| {
        let mut words = title(cell);
        let differs = same.get(&words).map_or([false; COORDINATES], |(_, differs)| *differs);
        words.extend(coordinates(cell).into_iter().zip(differs).filter_map(|(word, differs)| differs.then_some(word)));
        words.join("-").chars().map(safe).take(NAME_MAX).collect()
    };
    cells.iter().map(name).collect()
}

fn unique(name: &str, taken: &mut BTreeSet<String>) -> String {
    let mut tries = (2_u32..).map(|n| format!("{name}-{n}"));
    let mut candidate = name.to_owned();
    while !taken.insert(candidate.clone()) {
        match tries.next() {
            Some(next) => candidate = next,
            None => break,
        }
    }
    candidate
}
