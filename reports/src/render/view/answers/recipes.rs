//! Which recipe: how fast each hands a lead over, and whom it wakes for that. Recipes are put in an order only where the test of
//! `compare` shows it; the others are named together.

use std::collections::{BTreeMap, BTreeSet};

use super::judged::{JudgedCells, begin, common_size, ends, loss, p50, t_of};
use crate::compare::{ComparisonRules, ComparisonVerdict, orders};
use crate::render::view::run::join_and;
use crate::render::{clean, format};
use crate::summary::CellSummary;
use hustings_record::Nanos;

/// Faults that are told one by one.
const FAULTS_MAX: usize = 6;

pub(super) fn sentences(judged: &JudgedCells<'_>) -> Vec<String> {
    let mut sentences = Vec::new();
    let named = |cells: &[&'_ CellSummary]| -> BTreeSet<String> {
        cells.iter().map(|cell| clean::short(&cell.info.recipe, 40)).collect()
    };
    let recipes = named(&judged.passed);
    let others: BTreeSet<String> = named(&judged.failed)
        .union(&named(&judged.inconclusive))
        .filter(|name| !recipes.contains(*name))
        .cloned()
        .collect();
    if let [only] = recipes.iter().collect::<Vec<_>>()[..]
        && others.is_empty()
    {
        sentences.push(format!("Only {only} was run, so there is none to choose."));
    }
    if !others.is_empty() {
        let others: Vec<String> = others.into_iter().collect();
        let of = if others.len() == 1 { "it" } else { "them" };
        let none = format!("no {} of {of} passed", judged.noun[0]);
        sentences.push(format!("Nothing is said here of {}: {none}.", join_and(&others)));
    }
    // Of several T the first; what another one changes is said of the timeout.
    let mut faults: Vec<Vec<&CellSummary>> = Vec::new();
    for group in judged.by_fault() {
        if faults.iter().all(|known| known[0].info.fault != group[0].info.fault) {
            faults.push(group);
        }
    }
    let sizes = sizes(judged);
    let differences = Differences::of(judged, &faults, &sizes);
    // What a session's end costs is said of the timeout; here only what recipes make of it.
    let expires = |cells: &&Vec<&CellSummary>| cells[0].info.fault_kind.facts().lets_sessions_expire;
    let all: Vec<(&Vec<&CellSummary>, Vec<Vec<RecipeEntry<'_>>>)> =
        faults.iter().map(|cells| (cells, clusters(cells, &differences))).collect();
    let by_t = all.iter().filter(|(cells, clusters)| expires(cells) && clusters.len() == 1);
    let alike = by_t.filter(|(_, clusters)| clusters.iter().all(|cluster| cluster.len() > 1));
    let alike: Vec<&Vec<&CellSummary>> = alike.map(|(cells, _)| *cells).collect();
    let told = all.iter().filter(|(cells, clusters)| !expires(cells) || clusters.len() > 1);
    let told: Vec<String> = told.map(|(cells, clusters)| of_fault(judged, cells, clusters)).collect();
    let more = told.len().saturating_sub(FAULTS_MAX);
    sentences.extend(told.into_iter().take(FAULTS_MAX));
    if more > 0 {
        sentences.push(format!("{more} more faults are below."));
    }
    if !alike.is_empty() {
        let losses: Vec<String> = alike.iter().map(|cells| loss(cells[0])).collect();
        let few = judged.few(&alike.iter().flat_map(|cells| cells.iter().copied()).collect::<Vec<_>>());
        // So few tell nothing apart, whatever there was to tell.
        let why = if few.is_empty() { ": T decides" } else { "" };
        sentences.push(format!("After {} no recipe was clearly faster than another{why}{few}.", join_and(&losses)));
    }
    sentences.extend(growth(&sizes, &differences));
    sentences.extend(woken(judged));
    sentences
}

/// The cells of one recipe.
struct RecipeEntry<'a> {
    recipe: &'a str,
    cells: Vec<&'a CellSummary>,
    /// The least and the most of their medians; None where censoring hides one.
    medians: Option<(Nanos, Nanos)>,
}

/// The recipes under one fault, the fastest first; what does not differ clearly stands together.
fn clusters<'a>(cells: &[&'a CellSummary], differences: &Differences<'_>) -> Vec<Vec<RecipeEntry<'a>>> {
    let mut by_recipe: BTreeMap<&str, Vec<&CellSummary>> = BTreeMap::new();
    for cell in cells {
        by_recipe.entry(&cell.info.recipe).or_default().push(cell);
    }
    let mut entries: Vec<RecipeEntry<'_>> = by_recipe
        .into_iter()
        .map(|(recipe, cells)| {
            let all: Option<Vec<Nanos>> = cells.iter().map(|cell| p50(cell.failover.whole.as_ref())).collect();
            let medians = all.and_then(|all| ends(all.into_iter()));
            RecipeEntry { recipe, cells, medians }
        })
        .collect();
    entries.sort_by_key(|entry| entry.medians.map_or((true, 0), |(least, _)| (false, least)));
    let mut clusters: Vec<Vec<RecipeEntry<'_>>> = Vec::new();
    for entry in entries {
        match clusters.last_mut().filter(|last| last.iter().any(|other| !differences.all(&other.cells, &entry.cells))) {
            Some(cluster) => cluster.push(entry),
            None => clusters.push(vec![entry]),
        }
    }
    clusters
}

fn of_fault(judged: &JudgedCells<'_>, cells: &[&CellSummary], clusters: &[Vec<RecipeEntry<'_>>]) -> String {
    let said: Vec<String> = clusters.iter().map(|cluster| of_cluster(cluster)).collect();
    let several_sizes =
        judged.passed.iter().any(|cell| cell.info.candidates_per_group != cells[0].info.candidates_per_group);
    let size = if several_sizes {
        let n = u64::from(cells[0].info.candidates_per_group);
        format!(", at {} a group", format::plural(n, "candidate", "candidates"))
    } else {
        String::new()
    };
    let expires = cells[0].info.fault_kind.facts().lets_sessions_expire;
    let t = if expires { format!(", T = {}", format::setting_ms(t_of(cells[0]))) } else { String::new() };
    let few = judged.few(cells);
    format!("After {} somebody leads again in {}{size}{t}{few}.", loss(cells[0]), said.join("; in "))
}

/// `2.1 ms with predecessor-watch`.
fn of_cluster(cluster: &[RecipeEntry<'_>]) -> String {
    let names: Vec<String> = cluster.iter().map(|entry| clean::short(entry.recipe, 40)).collect();
    let names = join_and(&names);
    let known: Option<Vec<(Nanos, Nanos)>> = cluster.iter().map(|entry| entry.medians).collect();
    let Some((least, most)) = known.and_then(|all| ends(all.into_iter().flat_map(|(least, most)| [least, most])))
    else {
        return format!("a time that the run was too short to see with {names}");
    };
    let close = if cluster.len() > 1 { " (not told apart)" } else { "" };
    format!("{} with {names}{close}", format::said_between(least, most))
}

/// The configurations that differ, by the comparison's test, as pairs of names.
struct Differences<'a>(BTreeSet<(&'a str, &'a str)>);

impl<'a> Differences<'a> {
    /// Of recipes under one fault, and of sizes of one recipe: all in one call, so that few of many differ by chance.
    fn of(judged: &JudgedCells<'a>, faults: &[Vec<&'a CellSummary>], sizes: &BySize<'a>) -> Self {
        let mut pairs: Vec<(&CellSummary, &CellSummary)> = Vec::new();
        for cells in faults {
            let later =
                cells.iter().enumerate().flat_map(|(at, one)| cells[at + 1..].iter().map(move |two| (*one, *two)));
            pairs.extend(later.filter(|(one, two)| one.info.recipe != two.info.recipe));
        }
        for (_, few, _, many) in sizes.iter().flat_map(|(_, recipes)| recipes) {
            pairs.extend(few.iter().flat_map(|one| many.iter().map(move |two| (*one, *two))));
        }
        let asked: Vec<_> = pairs.iter().map(|(one, two)| (judged.repetitions(one), judged.repetitions(two))).collect();
        let answers = orders(&asked, &ComparisonRules::default());
        let differ = pairs
            .iter()
            .zip(answers)
            .filter(|(_, answer)| matches!(answer, ComparisonVerdict::Worse | ComparisonVerdict::Better));
        Self(differ.map(|((one, two), _)| (one.info.name.as_str(), two.info.name.as_str())).collect())
    }

    /// Whether every one of these differs from every one of those.
    fn all(&self, these: &[&CellSummary], those: &[&CellSummary]) -> bool {
        let known = |one: &str, two: &str| self.0.contains(&(one, two)) || self.0.contains(&(two, one));
        these.iter().all(|one| those.iter().all(|two| known(&one.info.name, &two.info.name)))
    }
}

/// Cells by the size of their groups.
type Sizes<'a> = BTreeMap<u32, Vec<&'a CellSummary>>;

/// Of a recipe: the fewest candidates a group and the cells that had them, and the most.
type Extremes<'a> = (u32, Vec<&'a CellSummary>, u32, Vec<&'a CellSummary>);

/// The recipes that were run at several sizes under one fault.
type BySize<'a> = Option<(&'a CellSummary, Vec<Extremes<'a>>)>;

/// Of the first fault that was run at several sizes.
fn sizes<'a>(judged: &JudgedCells<'a>) -> BySize<'a> {
    let mut of_fault: Vec<(&CellSummary, BTreeMap<&str, Sizes<'_>>)> = Vec::new();
    for &cell in judged.passed.iter().filter(|cell| p50(cell.failover.whole.as_ref()).is_some()) {
        if of_fault.iter().all(|(known, _)| known.info.fault != cell.info.fault) {
            of_fault.push((cell, BTreeMap::new()));
        }
        let (_, recipes) = of_fault.iter_mut().find(|(known, _)| known.info.fault == cell.info.fault)?;
        let sizes = recipes.entry(&cell.info.recipe).or_default();
        sizes.entry(cell.info.candidates_per_group).or_default().push(cell);
    }
    let (first, recipes) = of_fault.into_iter().find(|(_, recipes)| recipes.values().any(|sizes| sizes.len() > 1))?;
    let extremes = recipes.into_values().filter_map(|mut sizes| {
        let (low, few) = sizes.pop_first()?;
        let (high, many) = sizes.pop_last()?;
        Some((low, few, high, many))
    });
    Some((first, extremes.collect()))
}

/// What the size of a group does to it.
fn growth(sizes: &BySize<'_>, differences: &Differences<'_>) -> Option<String> {
    let (first, recipes) = sizes.as_ref()?;
    let parts: Vec<String> = recipes
        .iter()
        .filter_map(|(low, few, high, many)| {
            let range = |cells: &[&CellSummary]| {
                let medians: Vec<Nanos> = cells.iter().filter_map(|cell| p50(cell.failover.whole.as_ref())).collect();
                ends(medians.into_iter()).map(|(least, most)| format::said_between(least, most))
            };
            let (from, to) = range(few).zip(range(many))?;
            let recipe = clean::short(&few[0].info.recipe, 40);
            let clear = if differences.all(few, many) { "" } else { ", not told apart" };
            Some(format!("{from} → {to} with {recipe} ({low} → {high}{clear})"))
        })
        .collect();
    Some(format!("{}, from the fewest candidates a group to the most: {}.", begin(&loss(first)), parts.join(", ")))
}

/// Whom the loss of a leader wakes, at the size at which most recipes were run.
fn woken(judged: &JudgedCells<'_>) -> Option<String> {
    let of_leaders = || judged.cells.iter().filter(|cell| cell.fan_out.woken.is_some());
    let size = common_size(&of_leaders().copied().collect::<Vec<_>>())?;
    let mut by_recipe: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
    for cell in of_leaders().filter(|cell| cell.info.candidates_per_group == size) {
        by_recipe.entry(&cell.info.recipe).or_default().extend(cell.fan_out.woken.map(|woken| woken.1));
    }
    let mut by_count: BTreeMap<(u64, u64), Vec<String>> = BTreeMap::new();
    for (recipe, medians) in by_recipe {
        let ends = medians.first().copied().zip(medians.last().copied())?;
        by_count.entry(ends).or_default().push(clean::short(recipe, 40));
    }
    let said = by_count.iter().map(|(&(least, most), recipes)| {
        let count = if least == most {
            format::count(least)
        } else {
            format!("{} to {}", format::count(least), format::count(most))
        };
        format!("{count} with {}", join_and(recipes))
    });
    let said = said.collect::<Vec<_>>().join(", ");
    let others = format::plural(u64::from(size).saturating_sub(1), "other", "others");
    Some(format!("The loss of a leader wakes, of the {others} in its group, {said}."))
}
