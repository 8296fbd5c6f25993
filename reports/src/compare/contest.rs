//! Pairs of configurations, and what all of them come to.

use serde::Serialize;

use super::answer::{Answer, Asked, Comparison, Rules, decide};
use super::differences::{Difference, of_cells, of_runs};
use super::measure::Measure;
use super::rounds::InRounds;
use super::sides::{Configuration, Refused, configurations, list};
use crate::summary::Summary;
use crate::verdict::Verdict;
use hustings_record::Side as Place;

/// Everything that a comparison found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparing {
    pub answer: Answer,
    pub base: Run,
    pub new: Run,
    /// Both sides were run in turn on one ensemble, which whatever drifts hits alike.
    pub in_turn: bool,
    pub rules: Rules,
    /// What would have been refused, had it not been forced.
    pub forced: Vec<String>,
    pub pairs: Vec<Pair>,
}

/// Which run a side is from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    pub run: String,
    pub scenario: String,
    pub command: String,
}

/// A configuration on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    pub name: String,
    pub answer: Answer,
    /// Why, where it is not the comparisons that say so.
    pub why: Option<String>,
    pub base: Side,
    pub new: Side,
    /// Parameters in which the two differ.
    pub differences: Vec<Difference>,
    pub comparisons: Vec<Comparison>,
}

/// One side of a pair.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    pub verdict: Verdict,
    /// Why it is no pass.
    pub reason: Option<String>,
    /// Cells that it is from: its repetitions.
    pub cells: u64,
}

/// Compares two runs. `wanted` chooses cells by name; `force` compares what would be refused, and says so.
///
/// # Errors
/// Cells that only one side has, cells or runs that differ in more than what is compared.
pub fn compare(
    base: &Summary,
    new: &Summary,
    rules: Rules,
    wanted: impl Fn(&str) -> bool,
    force: bool,
) -> Result<Comparing, Refused> {
    let chosen = |summary| -> Vec<Configuration<'_>> {
        configurations(summary, None).into_iter().filter(|one| wanted(one.name)).collect()
    };
    let (ours, theirs) = (chosen(base), chosen(new));
    if ours.is_empty() && theirs.is_empty() {
        return Err(Refused::NothingToCompare);
    }
    let mut forced = Vec::new();
    let mut unless_forced = |refused: Refused| {
        if !force {
            return Err(refused);
        }
        forced.push(refused_in_short(&refused));
        Ok(())
    };
    let runs = of_runs(&base.manifest, &new.manifest);
    if !runs.is_empty() {
        unless_forced(Refused::OtherRuns(runs))?;
    }
    for (which, one, other) in [("the base", &ours, &theirs), ("the new one", &theirs, &ours)] {
        let alone: Vec<&str> =
            one.iter().map(|c| c.name).filter(|name| other.iter().all(|c| c.name != *name)).collect();
        if alone.len() == one.len() {
            let names = |side: &[Configuration<'_>]| side.iter().map(|c| c.name).collect::<Vec<_>>().join(", ");
            return Err(Refused::NothingInCommon { base: names(&ours), new: names(&theirs) });
        }
        if !alone.is_empty() {
            unless_forced(Refused::OtherCells { which, cells: alone.join(", ") })?;
        }
    }
    let both: Vec<_> =
        ours.iter().filter_map(|c| Some((c, theirs.iter().find(|other| other.name == c.name)?))).collect();
    for (one, other) in &both {
        let differences = of_cells(one.first(), other.first());
        if !differences.is_empty() {
            unless_forced(Refused::OtherCell { cell: one.name.to_owned(), differences })?;
        }
    }
    Ok(held(base, new, (false, rules, forced), &both))
}

/// Compares the two sides of one run.
///
/// # Errors
/// It has none.
pub fn sides_of(summary: &Summary, rules: Rules, wanted: impl Fn(&str) -> bool) -> Result<Comparing, Refused> {
    let (ours, theirs) = (configurations(summary, Some(Place::Base)), configurations(summary, Some(Place::New)));
    if ours.is_empty() && theirs.is_empty() {
        return Err(Refused::NoContest);
    }
    let wanted = ours.iter().filter(|one| wanted(one.name));
    let both: Vec<_> = wanted.filter_map(|c| Some((c, theirs.iter().find(|other| other.name == c.name)?))).collect();
    if both.is_empty() {
        return Err(Refused::NothingToCompare);
    }
    Ok(held(summary, summary, (true, rules, Vec::new()), &both))
}

fn held(
    base: &Summary,
    new: &Summary,
    (in_turn, rules, forced): (bool, Rules, Vec<String>),
    both: &[(&Configuration<'_>, &Configuration<'_>)],
) -> Comparing {
    let mut of_pair = Vec::new();
    let mut asked = Vec::new();
    for (at, (one, other)) in both.iter().enumerate() {
        for measure in Measure::ALL {
            let found = Asked::new(measure, &InRounds::new(one.values(measure), other.values(measure)), &rules);
            of_pair.extend(found.is_some().then_some(at));
            asked.extend(found);
        }
    }
    let mut comparisons = of_pair.into_iter().zip(decide(asked, &rules)).peekable();
    let mut pairs = Vec::new();
    for (at, (one, other)) in both.iter().enumerate() {
        let mut own = Vec::new();
        while let Some((_, comparison)) = comparisons.next_if(|(of, _)| *of == at) {
            own.extend(comparison);
        }
        pairs.push(pair(one, other, own));
    }
    let run = |summary: &Summary| Run {
        run: summary.manifest.run.clone(),
        scenario: summary.manifest.scenario.clone(),
        command: summary.manifest.command.clone(),
    };
    let answer = pairs.iter().map(|pair| pair.answer).max().unwrap_or(Answer::CannotTell);
    Comparing { answer, base: run(base), new: run(new), in_turn, rules, forced, pairs }
}

fn pair(one: &Configuration<'_>, other: &Configuration<'_>, comparisons: Vec<Comparison>) -> Pair {
    let side =
        |of: &Configuration<'_>| Side { verdict: of.verdict(), reason: of.reason(), cells: of.cells.len() as u64 };
    let (base, new) = (side(one), side(other));
    let told = |side: &Side| side.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
    // Figures of a side that cannot be believed tell nothing, whatever they are.
    let why = match (base.verdict, new.verdict) {
        (Verdict::Pass, Verdict::Pass) if comparisons.is_empty() => {
            Some((Answer::CannotTell, "no strike cost a lead on both sides".to_owned()))
        }
        (Verdict::Pass, Verdict::Pass) => None,
        (Verdict::Pass | Verdict::Inconclusive, Verdict::Fail) => {
            Some((Answer::Worse, format!("the new side fails{}", told(&new))))
        }
        (_, Verdict::Inconclusive) => Some((Answer::CannotTell, format!("the new side is inconclusive{}", told(&new)))),
        (Verdict::Fail, Verdict::Fail) => Some((Answer::CannotTell, format!("both sides fail{}", told(&new)))),
        (verdict, Verdict::Pass) => {
            let how = if verdict == Verdict::Fail { "fails" } else { "is inconclusive" };
            Some((Answer::CannotTell, format!("the base {how}{}", told(&base))))
        }
    };
    let seen = comparisons.iter().map(|comparison| comparison.answer).max().unwrap_or(Answer::Same);
    let answer = why.as_ref().map_or(seen, |(answer, _)| seen.max(*answer));
    Pair {
        name: one.name.to_owned(),
        answer,
        why: why.map(|(_, why)| why),
        base,
        new,
        differences: of_cells(one.first(), other.first()),
        comparisons,
    }
}

fn refused_in_short(refused: &Refused) -> String {
    match refused {
        Refused::OtherCells { which, cells } => format!("only {which} has {cells}"),
        Refused::OtherCell { cell, differences } => format!("cell {cell}: {}", list(differences)),
        Refused::OtherRuns(differences) => list(differences),
        Refused::NothingInCommon { .. } | Refused::NoContest | Refused::NothingToCompare => refused.to_string(),
    }
}
