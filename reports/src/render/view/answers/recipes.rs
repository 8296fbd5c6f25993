//! Which recipe: how fast each hands a lead over, and whom it wakes for that. Recipes are set against each other only where they
//! differ clearly; the others are named together.

use std::collections::{BTreeMap, BTreeSet};

use super::judged::{Judged, begin, common_size, ends, few_strikes, loss, p50, t_of};
use crate::render::view::run::join_and;
use crate::render::{clean, format};
use crate::summary::{CellSummary, Distribution};
use hustings_record::Nanos;

/// Faults that are told one by one.
const FAULTS_MAX: usize = 6;
/// Medians closer than this are no difference that another run would be sure to show.
const CLEAR_TIMES: f64 = 1.5;
/// A difference needs as many independent moments on either side.
const CLEAR_STRIKES: u64 = 3;

pub(super) fn sentences(judged: &Judged<'_>) -> Vec<String> {
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
        sentences.push(format!("Nothing is said here of {}: no cell of it passed.", join_and(&others)));
    }
    // Of several T the first; what another one changes is said of the timeout.
    let mut faults: Vec<Vec<&CellSummary>> = Vec::new();
    for group in judged.by_fault() {
        if faults.iter().all(|known| known[0].info.fault != group[0].info.fault) {
            faults.push(group);
        }
    }
    // What a session's end costs is said of the timeout; here only what recipes make of it.
    let expires = |cells: &&Vec<&CellSummary>| cells[0].info.fault_kind.facts().lets_sessions_expire;
    let all: Vec<(&Vec<&CellSummary>, Vec<Vec<Entry<'_>>>)> =
        faults.iter().map(|cells| (cells, clusters(cells))).collect();
    let by_t = all.iter().filter(|(cells, clusters)| expires(cells) && clusters.len() == 1);
    let alike = by_t.filter(|(_, clusters)| clusters.iter().all(|cluster| cluster.len() > 1));
    let alike: Vec<String> = alike.map(|(cells, _)| loss(cells[0])).collect();
    let told = all.iter().filter(|(cells, clusters)| !expires(cells) || clusters.len() > 1);
    let told: Vec<String> = told.map(|(cells, clusters)| of_fault(judged, cells, clusters)).collect();
    let more = told.len().saturating_sub(FAULTS_MAX);
    sentences.extend(told.into_iter().take(FAULTS_MAX));
    if more > 0 {
        sentences.push(format!("{more} more faults are below."));
    }
    if !alike.is_empty() {
        sentences.push(format!("After {} no recipe was clearly faster than another: T decides.", join_and(&alike)));
    }
    sentences.extend(growth(judged));
    sentences.extend(woken(judged));
    sentences
}

/// The cells of one recipe.
struct Entry<'a> {
    recipe: &'a str,
    cells: Vec<&'a CellSummary>,
    /// The least and the most of their medians; None where censoring hides one.
    medians: Option<(Nanos, Nanos)>,
}

/// The recipes under one fault, the fastest first; what does not differ clearly stands together.
fn clusters<'a>(cells: &[&'a CellSummary]) -> Vec<Vec<Entry<'a>>> {
    let mut by_recipe: BTreeMap<&str, Vec<&CellSummary>> = BTreeMap::new();
    for cell in cells {
        by_recipe.entry(&cell.info.recipe).or_default().push(cell);
    }
    let mut entries: Vec<Entry<'_>> = by_recipe
        .into_iter()
        .map(|(recipe, cells)| {
            let all: Option<Vec<Nanos>> = cells.iter().map(|cell| p50(cell.failover.whole.as_ref())).collect();
            let medians = all.and_then(|all| ends(all.into_iter()));
            Entry { recipe, cells, medians }
        })
        .collect();
    entries.sort_by_key(|entry| entry.medians.map_or((true, 0), |(least, _)| (false, least)));
    let mut clusters: Vec<Vec<Entry<'_>>> = Vec::new();
    for entry in entries {
        match clusters.last_mut().filter(|last| last.iter().any(|other| !differ(other, &entry))) {
            Some(cluster) => cluster.push(entry),
            None => clusters.push(vec![entry]),
        }
    }
    clusters
}

fn of_fault(judged: &Judged<'_>, cells: &[&CellSummary], clusters: &[Vec<Entry<'_>>]) -> String {
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
    let few = few_strikes(cells);
    format!("After {} somebody leads again in {}{size}{t}{few}.", loss(cells[0]), said.join("; in "))
}

/// `2.1 ms with predecessor-watch`.
fn of_cluster(cluster: &[Entry<'_>]) -> String {
    let names: Vec<String> = cluster.iter().map(|entry| clean::short(entry.recipe, 40)).collect();
    let names = join_and(&names);
    let known: Option<Vec<(Nanos, Nanos)>> = cluster.iter().map(|entry| entry.medians).collect();
    let Some((least, most)) = known.and_then(|all| ends(all.into_iter().flat_map(|(least, most)| [least, most])))
    else {
        return format!("a time that the run was too short to see with {names}");
    };
    let close = if cluster.len() > 1 { " (no clear difference)" } else { "" };
    format!("{} with {names}{close}", format::said_between(least, most))
}

/// Whether every cell of the one differs clearly from every cell of the other.
fn differ(one: &Entry<'_>, other: &Entry<'_>) -> bool {
    let hidden = one.medians.is_none() || other.medians.is_none();
    hidden && one.medians != other.medians || one.cells.iter().all(|a| other.cells.iter().all(|b| differ_clearly(a, b)))
}

/// Medians far apart, the middle halves of both apart from each other, and enough moments behind either.
fn differ_clearly(a: &CellSummary, b: &CellSummary) -> bool {
    let Some((a_whole, b_whole)) = a.failover.whole.as_ref().zip(b.failover.whole.as_ref()) else { return false };
    let Some((a_p50, b_p50)) = a_whole.p50.zip(b_whole.p50) else { return false };
    let (fast, slow) = if a_p50 <= b_p50 { (a_whole, b_whole) } else { (b_whole, a_whole) };
    let times = a_p50.max(b_p50) as f64 / a_p50.min(b_p50).max(1) as f64;
    let apart = reached_by(fast, 0.75).zip(reached_by(slow, 0.25)).is_some_and(|(fast, slow)| fast < slow);
    times >= CLEAR_TIMES && apart && a.handovers.strikes.min(b.handovers.strikes) >= CLEAR_STRIKES
}

/// By when this share of all samples had ended; None where censoring hides it.
fn reached_by(d: &Distribution, share: f64) -> Option<Nanos> {
    d.curve.iter().find(|point| point.1 >= share - 1e-9).map(|point| point.0)
}

/// Cells by the size of their groups.
type Sizes<'a> = BTreeMap<u32, Vec<&'a CellSummary>>;

/// What the size of a group does to the first fault that was run at several sizes.
fn growth(judged: &Judged<'_>) -> Option<String> {
    let mut of_fault: Vec<(&str, BTreeMap<&str, Sizes<'_>>)> = Vec::new();
    for cell in judged.passed.iter().filter(|cell| p50(cell.failover.whole.as_ref()).is_some()) {
        let fault = cell.info.fault.as_str();
        if of_fault.iter().all(|(known, _)| *known != fault) {
            of_fault.push((fault, BTreeMap::new()));
        }
        let (_, recipes) = of_fault.iter_mut().find(|(known, _)| *known == fault)?;
        let sizes = recipes.entry(&cell.info.recipe).or_default();
        sizes.entry(cell.info.candidates_per_group).or_default().push(cell);
    }
    let (_, recipes) = of_fault.into_iter().find(|(_, recipes)| recipes.values().any(|sizes| sizes.len() > 1))?;
    let mut first = None;
    let parts: Vec<String> = recipes
        .iter()
        .filter_map(|(recipe, sizes)| {
            let ((low, small), (high, large)) = sizes.first_key_value().zip(sizes.last_key_value())?;
            first.get_or_insert(small[0]);
            let range = |cells: &[&CellSummary]| {
                let medians: Vec<Nanos> = cells.iter().filter_map(|cell| p50(cell.failover.whole.as_ref())).collect();
                ends(medians.into_iter()).map(|(least, most)| format::said_between(least, most))
            };
            let (from, to) = range(small).zip(range(large))?;
            (low < high).then(|| format!("{from} → {to} with {} ({low} → {high})", clean::short(recipe, 40)))
        })
        .collect();
    let loss = begin(&loss(first?));
    Some(format!("{loss}, from the fewest candidates a group to the most: {}.", parts.join(", ")))
}

/// Whom the loss of a leader wakes, at the size at which most recipes were run.
fn woken(judged: &Judged<'_>) -> Option<String> {
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
