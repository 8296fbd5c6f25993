//! `hustings simulate --seeds`: random schedules, seed by seed, until one shows a failure.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::anyhow;
use hustings_record::words::duration;
use hustings_reports::summary::ExcusedOverlaps;
use hustings_workloads::model::Bugs;
use hustings_workloads::scenario::{Cell, Scenario};
use serde::Serialize;

use crate::console::exit::{Exit, Failure};
use crate::console::output::{inform, is_screen, say, say_json};
use crate::console::progress::Progress;
use crate::process::clock;
use crate::process::interrupt;
use crate::simulate::{FailingSeed, Search, SearchTotals, own_cell, search, shrink};

/// Maximum number of further seeds that are printed for the same failure.
const OTHERS_MAX: usize = 20;

/// The parameters of a search.
pub(super) struct SearchOptions<'a> {
    /// The scenario and its changes, as given.
    pub(super) scenario: &'a str,
    pub(super) sets: &'a [String],
    /// Continue after the first seed that shows a failure.
    pub(super) all: bool,
    pub(super) json: bool,
    pub(super) quiet: bool,
}

/// Result of the search of one cell.
#[derive(Debug, Serialize)]
struct SearchResult {
    cell: String,
    recipe: String,
    step_down: String,
    /// The first seed, and the exclusive end of the requested range.
    seeds: (u64, u64),
    /// Number of seeds tried. In `not_enrolled` of them, not all candidates enrolled.
    tried: u64,
    /// The first seed that was not tried.
    next: u64,
    not_enrolled: u64,
    handovers: u64,
    took_ns: u64,
    excused_overlaps: ExcusedOverlaps,
    excused_writes: u64,
    excused_handovers: u64,
    found: Vec<FoundFailure>,
}

/// A failure, the first seed that shows it, and its schedule.
#[derive(Debug, Serialize)]
struct FoundFailure {
    /// The checkers that fail.
    fails: Vec<String>,
    seed: u64,
    /// Other seeds in which the same checkers fail.
    others: Vec<u64>,
    /// The smallest part of the schedule that still fails: numbers of its steps, and the steps in words.
    steps: Vec<(usize, String)>,
    /// The command that reproduces it.
    again: String,
}

/// Searches all cells that differ in more than their faults. Exit code 1 if any shows a failure.
pub(super) fn run(args: &SearchOptions<'_>, scenario: &Scenario, seeds: Range<u64>) -> Result<Exit, Failure> {
    let mut tried: Vec<Cell> = Vec::new();
    let mut told = Vec::new();
    let asked_to_end = interrupt::flag();
    for cell in scenario.cells().into_iter().filter(|cell| cell.groups > 0) {
        let own = own_cell(cell.clone());
        let same = |other: &Cell| {
            (&other.recipe, other.step_down, other.session_timeout_ms)
                == (&own.recipe, own.step_down, own.session_timeout_ms)
        };
        // Cells that differ only in their faults count as one here.
        if tried.iter().any(same) {
            continue;
        }
        tried.push(own.clone());
        let one = search_one(args, &cell.name, &own, seeds.clone(), &asked_to_end)?;
        if !args.json {
            tell(&one)?;
        }
        told.push(one);
        if asked_to_end.load(Ordering::Relaxed) {
            break;
        }
    }
    if told.is_empty() {
        let why = "a search is for candidates, and no cell of this scenario has any; use one with groups";
        return Err(Failure::usage(anyhow!("{}: {why}", scenario.name)));
    }
    if args.json {
        say_json(serde_json::to_string_pretty(&told).map_err(Failure::infrastructure)?)?;
    }
    Ok(match told.last() {
        Some(last) if asked_to_end.load(Ordering::Relaxed) => {
            inform!("interrupted in {}: --seeds {}..{} goes on there", last.cell, last.next, last.seeds.1);
            Exit::Interrupted
        }
        _ if told.iter().all(|cell| cell.found.is_empty()) => Exit::Pass,
        _ => Exit::Fail,
    })
}

/// Groups seeds by failure: the first seed that shows it, and the others.
fn by_kind(found: Vec<FailingSeed>) -> Vec<(FailingSeed, Vec<u64>)> {
    let mut kinds: Vec<(FailingSeed, Vec<u64>)> = Vec::new();
    for found in found {
        match kinds.iter_mut().find(|(first, _)| first.failed == found.failed) {
            Some((_, others)) => others.push(found.seed),
            None => kinds.push((found, Vec::new())),
        }
    }
    kinds
}

fn search_one(
    args: &SearchOptions<'_>,
    name: &str,
    cell: &Cell,
    seeds: Range<u64>,
    ask_to_end: &Arc<AtomicBool>,
) -> Result<SearchResult, Failure> {
    let total = seeds.end - seeds.start;
    let progress = Progress::new(total, "seeds", is_screen(), args.quiet);
    let began = clock::now();
    let wanted = Search {
        cell: cell.clone(),
        seeds: seeds.clone(),
        bugs: Bugs::default(),
        against: None,
        kinds: Vec::new(),
        first_only: !args.all,
        ask_to_end: ask_to_end.clone(),
    };
    let searched = search(&wanted, |done| {
        if done % 100 == 0 {
            progress.done(done);
            progress.now(&format!("{} {}: {done} of {total} seeds", cell.recipe, cell.step_down));
        }
    })
    .map_err(Failure::infrastructure)?;
    let took_ns = clock::now() - began;
    progress.finish();
    summed_up(cell, &searched, took_ns);
    let SearchTotals {
        seeds: tried,
        next,
        not_enrolled,
        handovers,
        excused_overlaps,
        excused_writes,
        excused_handovers,
        ..
    } = searched;
    let found = by_kind(searched.found).into_iter().map(|(first, others)| shown(args, name, cell, &first, others));
    Ok(SearchResult {
        cell: name.to_owned(),
        recipe: cell.recipe.to_string(),
        step_down: cell.step_down.to_string(),
        seeds: (seeds.start, seeds.end),
        tried,
        next,
        not_enrolled,
        handovers,
        took_ns,
        excused_overlaps,
        excused_writes,
        excused_handovers,
        found: found.collect::<Result<_, _>>()?,
    })
}

/// The smallest schedule that shows the failure, and the command that reproduces it.
fn shown(
    args: &SearchOptions<'_>,
    name: &str,
    cell: &Cell,
    found: &FailingSeed,
    others: Vec<u64>,
) -> Result<FoundFailure, Failure> {
    let (numbers, steps) = shrink(cell, Bugs::default(), found).map_err(Failure::infrastructure)?;
    let sets: String = args.sets.iter().map(|set| format!(" --set '{set}'")).collect();
    let again = format!(
        "hustings simulate {}{sets} --cell {name} --schedule {} --steps {}",
        args.scenario,
        found.seed,
        list(&numbers)
    );
    let steps = numbers.into_iter().zip(&steps).map(|(number, step)| (number, step.to_string())).collect();
    Ok(FoundFailure { fails: found.failed.iter().cloned().collect(), seed: found.seed, others, steps, again })
}

/// Prints the findings for people.
fn tell(told: &SearchResult) -> Result<(), Failure> {
    for FoundFailure { fails, seed, others, steps, again } in &told.found {
        let like_it = if others.is_empty() {
            String::new()
        } else {
            let some = list(&others[..others.len().min(OTHERS_MAX)]);
            let more = if others.len() > OTHERS_MAX { ",…" } else { "" };
            format!(", the first of {}; the others: {some}{more}", others.len() + 1)
        };
        say(format_args!("{}: seed {seed} fails {}{like_it}", told.cell, fails.join(", ")))?;
        steps.iter().try_for_each(|(number, step)| say(format_args!("  step {number}: {step}")))?;
        say(format_args!("  again: {again}"))?;
    }
    Ok(())
}

/// Prints one line about the search.
fn summed_up(cell: &Cell, searched: &SearchTotals, took_ns: u64) {
    inform!(
        "{} {}: {} seeds in {} ({:.0} a second), {} handovers ({:.1} a seed), {} that fail a check; explained: {} \
         overlaps on waking, {} after a forced expiry unheard of, {} stale writes then, {} handovers while servers were hit; {} \
         did not enrol",
        cell.recipe,
        cell.step_down,
        searched.seeds,
        duration(took_ns),
        searched.seeds as f64 * 1e9 / took_ns as f64,
        searched.handovers,
        searched.handovers as f64 / searched.seeds.max(1) as f64,
        searched.found.len(),
        searched.excused_overlaps.waking,
        searched.excused_overlaps.forced,
        searched.excused_writes,
        searched.excused_handovers,
        searched.not_enrolled,
    );
}

/// Numbers in command line notation.
pub(super) fn list<T: ToString>(numbers: &[T]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}
