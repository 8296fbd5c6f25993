//! Pairs of configurations, and their overall result.

use std::collections::BTreeSet;

use serde::Serialize;

use super::answer::{Comparison, ComparisonRules, ComparisonVerdict, InjectionValues, decide};
use super::differences::{Difference, of_cells, of_runs};
use super::measure::Measure;
use super::side_names::side_name;
use super::sides::{ComparisonRefusal, SideCells, list, round_trip, values};
use crate::sound::{Configuration, configurations, decided, has_sides, of_new_side, round};
use crate::stats::proportions::more_often;
use crate::summary::Summary;
use crate::verdict::Verdict;
use hustings_record::ComparisonSide as Place;
use hustings_record::words::first_few;

/// The new side stalls more often if the probability by chance is below this: over all pairs, or in one of them times
/// their number (Bonferroni). Weak evidence suffices: to miss it is the worse error, and further rounds settle a doubt.
const STALLS_ALPHA: f64 = 0.1;

/// Everything that a comparison found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparisonReport {
    pub answer: ComparisonVerdict,
    pub base: SideRun,
    pub new: SideRun,
    /// Both sides were run in turn on one ensemble, so that drift affects both alike.
    pub in_turn: bool,
    /// How often the run could look at its sides before it ended: twice if undecided cells get further rounds.
    pub looks: u32,
    pub rules: ComparisonRules,
    /// Refusals that were overridden by force.
    pub forced: Vec<String>,
    /// Why the result is undecided at best: a record is not whole, or the new side itself may have caused stalls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    pub pairs: Vec<ComparedPair>,
}

/// Which run a side is from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SideRun {
    pub run: String,
    pub scenario: String,
    pub command: String,
    /// Its programs or its build. None: not recorded, or built-in recipes of one build on both sides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A configuration on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedPair {
    pub name: String,
    pub answer: ComparisonVerdict,
    /// Why, if the comparisons do not determine it.
    pub why: Option<String>,
    pub base: PairSide,
    pub new: PairSide,
    /// Parameters in which the two differ.
    pub differences: Vec<Difference>,
    pub comparisons: Vec<Comparison>,
}

/// One side of a pair.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairSide {
    pub verdict: Verdict,
    /// Why it is no pass.
    pub reason: Option<String>,
    /// Cells that it is from: its repetitions.
    pub cells: u64,
    /// Repetitions left out because harness stalls spoilt them.
    pub left_out: u64,
}

/// Compares two runs; of a run with two sides, the new one. `wanted` selects cells by name; `force` compares despite
/// refusals, and reports them.
///
/// # Errors
/// Cells that only one side has, cells or runs that differ in more than what is compared.
pub fn compare(
    base: &Summary,
    new: &Summary,
    rules: ComparisonRules,
    wanted: impl Fn(&str) -> bool,
    force: bool,
) -> Result<ComparisonReport, ComparisonRefusal> {
    let chosen = |summary| -> Vec<Configuration<'_>> {
        of_new_side(summary).into_iter().filter(|one| wanted(one.name)).collect()
    };
    let (ours, theirs) = (chosen(base), chosen(new));
    if ours.is_empty() && theirs.is_empty() {
        return Err(ComparisonRefusal::NothingToCompare);
    }
    let mut forced = Vec::new();
    let mut unless_forced = |refused: ComparisonRefusal| {
        if !force {
            return Err(refused);
        }
        forced.push(refused_in_short(&refused));
        Ok(())
    };
    let runs = of_runs(&base.manifest, &new.manifest);
    if !runs.is_empty() {
        unless_forced(ComparisonRefusal::OtherRuns(runs))?;
    }
    for (which, one, other) in [("the base", &ours, &theirs), ("the new one", &theirs, &ours)] {
        let alone: Vec<&str> =
            one.iter().map(|c| c.name).filter(|name| other.iter().all(|c| c.name != *name)).collect();
        if alone.len() == one.len() {
            let names = |side: &[Configuration<'_>]| first_few(&side.iter().map(|c| c.name).collect::<Vec<_>>());
            return Err(ComparisonRefusal::NothingInCommon { base: names(&ours), new: names(&theirs) });
        }
        if !alone.is_empty() {
            unless_forced(ComparisonRefusal::OtherCells { which, cells: first_few(&alone) })?;
        }
    }
    let both: Vec<_> =
        ours.iter().filter_map(|c| Some((c, theirs.iter().find(|other| other.name == c.name)?))).collect();
    for (one, other) in &both {
        let differences = of_cells(one.first(), other.first());
        if !differences.is_empty() {
            unless_forced(ComparisonRefusal::OtherCell { cell: one.name.to_owned(), differences })?;
        }
    }
    Ok(held(base, new, (false, rules, forced), &both))
}

/// Compares the two sides of one run.
///
/// # Errors
/// The run has no two sides, or no cell that is `wanted`.
pub fn sides_of(
    summary: &Summary,
    rules: ComparisonRules,
    wanted: impl Fn(&str) -> bool,
) -> Result<ComparisonReport, ComparisonRefusal> {
    let (ours, theirs) = (configurations(summary, Some(Place::Base)), configurations(summary, Some(Place::New)));
    if ours.is_empty() && theirs.is_empty() {
        return Err(ComparisonRefusal::NoContest);
    }
    let wanted = ours.iter().filter(|one| wanted(one.name));
    let both: Vec<_> = wanted.filter_map(|c| Some((c, theirs.iter().find(|other| other.name == c.name)?))).collect();
    if both.is_empty() {
        return Err(ComparisonRefusal::NothingToCompare);
    }
    Ok(held(summary, summary, (true, rules, Vec::new()), &both))
}

/// Compares the two sides of one run by the default rules. None: the run has no two sides.
#[must_use]
pub fn compared_sides(summary: &Summary) -> Option<ComparisonReport> {
    sides_of(summary, ComparisonRules::default(), |_| true).ok()
}

/// The verdict on a run, which the exit code and the headline of its report give. If it has two sides: on the
/// repetitions that are not left out, and on the comparison. A base that fails alone leaves it inconclusive.
#[must_use]
pub fn overall(summary: &Summary, comparing: Option<&ComparisonReport>) -> Verdict {
    match comparing {
        Some(comparing) => decided(summary).merge(comparing.answer.verdict()),
        // A run that ended early may have one of its two sides alone.
        None if has_sides(summary) => decided(summary),
        None => summary.verdict,
    }
}

fn held(
    base: &Summary,
    new: &Summary,
    (in_turn, rules, forced): (bool, ComparisonRules, Vec<String>),
    both: &[(&Configuration<'_>, &Configuration<'_>)],
) -> ComparisonReport {
    let looks = if in_turn { both.iter().map(|(one, _)| looks(one)).max().unwrap_or(1) } else { 1 };
    let mut of_pair = Vec::new();
    let mut asked = Vec::new();
    for (at, (one, other)) in both.iter().enumerate() {
        // Sides run in turn share the conditions of a round: both leave it out.
        let of_turn = |other: &Configuration<'_>| if in_turn { other.rounds_left_out() } else { BTreeSet::new() };
        let base_cells = SideCells { cells: &one.cells, but: of_turn(other) };
        let new_cells = SideCells { cells: &other.cells, but: of_turn(one) };
        for measure in Measure::ALL {
            let values = values(measure, &base_cells, &new_cells);
            let found = InjectionValues::new(measure, &values, round_trip(&one.cells), &rules);
            of_pair.extend(found.is_some().then_some(at));
            asked.extend(found);
        }
    }
    let mut comparisons = of_pair.into_iter().zip(decide(asked, &rules, looks)).peekable();
    let mut pairs = Vec::new();
    for (at, (one, other)) in both.iter().enumerate() {
        let mut own = Vec::new();
        while let Some((_, comparison)) = comparisons.next_if(|(of, _)| *of == at) {
            own.extend(comparison);
        }
        let few = in_turn.then(|| few_rounds(one, other)).flatten();
        pairs.push(pair(one, other, own, few));
    }
    let run = |summary: &Summary, of_turn: Place| {
        // Of two runs with two sides each, the new ones are compared.
        let side = if in_turn { Some(of_turn) } else { has_sides(summary).then_some(Place::New) };
        SideRun {
            run: summary.manifest.run.clone(),
            scenario: summary.manifest.scenario.clone(),
            command: summary.manifest.command.clone(),
            name: side_name(summary, side),
        }
    };
    let answer = pairs.iter().map(|pair| pair.answer).max().unwrap_or(ComparisonVerdict::CannotTell);
    let sides =
        if in_turn { vec![("the record", new)] } else { vec![("the base's record", base), ("the new record", new)] };
    let doubt = sides.into_iter().find_map(|(which, summary)| not_whole(which, summary)).or_else(|| stalls(both));
    let answer = if doubt.is_some() { answer.max(ComparisonVerdict::CannotTell) } else { answer };
    let (base, new) = (run(base, Place::Base), run(new, Place::New));
    ComparisonReport { answer, base, new, in_turn, looks, rules, forced, doubt, pairs }
}

/// One look at its end, and one before further rounds for undecided cells, if there may be any.
fn looks(one: &Configuration<'_>) -> u32 {
    let repetition = one.first().info.repetition.as_ref();
    if repetition.is_some_and(|repetition| repetition.at_most > repetition.count) { 2 } else { 1 }
}

/// Why a record as a whole is inconclusive, if it is.
fn not_whole(which: &str, summary: &Summary) -> Option<String> {
    let why = || summary.notes.first().map_or_else(|| "it is not whole".to_owned(), Clone::clone);
    (summary.whole > Verdict::Pass).then(|| format!("{which}: {}", why()))
}

/// Why too few rounds are left on both sides, if so.
fn few_rounds(one: &Configuration<'_>, other: &Configuration<'_>) -> Option<String> {
    let all: BTreeSet<u32> = one.all().chain(other.all()).map(round).collect();
    let left_out: BTreeSet<u32> = one.rounds_left_out().union(&other.rounds_left_out()).copied().collect();
    (2 * left_out.len() >= all.len() && !left_out.is_empty())
        .then(|| format!("stalls spoilt {} of {} rounds on one side or the other", left_out.len(), all.len()))
}

/// Whether the new side stalls more often than the base, over all pairs or in one: it may cause the stalls that are
/// left out.
fn stalls(both: &[(&Configuration<'_>, &Configuration<'_>)]) -> Option<String> {
    type SpoiltCounts = (u64, u64);
    let sum = |all: SpoiltCounts, one: SpoiltCounts| (all.0 + one.0, all.1 + one.1);
    let of_pairs = both.iter().map(|(one, other)| (one.name, one.spoilt_of(), other.spoilt_of()));
    let told = |name: &str, base: SpoiltCounts, new: SpoiltCounts| {
        format!(
            "stalls spoilt {} of the new side's {} repetitions{name} and {} of the base's {}: the new side may have brought them about",
            new.0, new.1, base.0, base.1
        )
    };
    let (mut base, mut new) = ((0, 0), (0, 0));
    let mut of_one = None;
    for (name, of_base, of_new) in of_pairs {
        (base, new) = (sum(base, of_base), sum(new, of_new));
        if more_often(of_base, of_new) * (both.len() as f64) < STALLS_ALPHA {
            of_one.get_or_insert_with(|| told(&format!(" of {name}"), of_base, of_new));
        }
    }
    (more_often(base, new) < STALLS_ALPHA).then(|| told("", base, new)).or(of_one)
}

fn pair(
    one: &Configuration<'_>,
    other: &Configuration<'_>,
    comparisons: Vec<Comparison>,
    few_rounds: Option<String>,
) -> ComparedPair {
    let side = |of: &Configuration<'_>| PairSide {
        verdict: of.verdict(),
        reason: of.reason(),
        cells: of.cells.len() as u64,
        left_out: of.left_out.len() as u64,
    };
    let (base, new) = (side(one), side(other));
    let told = |side: &PairSide| side.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
    // Figures of an unreliable side decide nothing.
    let why = match (base.verdict, new.verdict) {
        (Verdict::Pass, Verdict::Pass) if comparisons.is_empty() => {
            Some((ComparisonVerdict::CannotTell, "no injection cost a lead on both sides".to_owned()))
        }
        (Verdict::Pass, Verdict::Pass) => few_rounds.map(|why| (ComparisonVerdict::CannotTell, why)),
        (Verdict::Pass | Verdict::Inconclusive, Verdict::Fail) => {
            Some((ComparisonVerdict::Worse, format!("the new side fails{}", told(&new))))
        }
        (_, Verdict::Inconclusive) => {
            Some((ComparisonVerdict::CannotTell, format!("the new side is inconclusive{}", told(&new))))
        }
        (Verdict::Fail, Verdict::Fail) => {
            Some((ComparisonVerdict::CannotTell, format!("both sides fail{}", told(&new))))
        }
        (verdict, Verdict::Pass) => {
            let how = if verdict == Verdict::Fail { "fails" } else { "is inconclusive" };
            Some((ComparisonVerdict::CannotTell, format!("the base {how}{}", told(&base))))
        }
    };
    let seen = comparisons.iter().map(|comparison| comparison.answer).max().unwrap_or(ComparisonVerdict::Same);
    let answer = why.as_ref().map_or(seen, |(answer, _)| seen.max(*answer));
    ComparedPair {
        name: one.name.to_owned(),
        answer,
        why: why.map(|(_, why)| why),
        base,
        new,
        differences: of_cells(one.first(), other.first()),
        comparisons,
    }
}

fn refused_in_short(refused: &ComparisonRefusal) -> String {
    match refused {
        ComparisonRefusal::OtherCells { which, cells } => format!("only {which} has {cells}"),
        ComparisonRefusal::OtherCell { cell, differences } => format!("cell {cell}: {}", list(differences)),
        ComparisonRefusal::OtherRuns(differences) => list(differences),
        ComparisonRefusal::NothingInCommon { .. }
        | ComparisonRefusal::NoContest
        | ComparisonRefusal::NothingToCompare => refused.to_string(),
    }
}
