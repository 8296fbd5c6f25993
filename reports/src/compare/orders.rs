//! Which of several configurations of one run fails over faster: one test for all callers.

use std::collections::BTreeSet;

use super::answer::{ComparisonRules, ComparisonVerdict, InjectionValues, decide};
use super::measure::Measure;
use super::sides::{SideCells, values};
use crate::check::CellSummary;

/// The repetitions of one configuration, or a cell alone.
pub type Repetitions<'a> = Vec<&'a CellSummary>;

/// Whether failovers of the second of each pair take longer than those of the first (*worse*) or less long (*better*). All pairs
/// are one call.
#[must_use]
pub fn orders(pairs: &[(Repetitions<'_>, Repetitions<'_>)], rules: &ComparisonRules) -> Vec<ComparisonVerdict> {
    let asked: Vec<Option<InjectionValues>> = pairs
        .iter()
        .map(|(one, other)| {
            let [one, other] = [one, other].map(|cells| SideCells { cells, but: BTreeSet::new() });
            InjectionValues::new(Measure::Failover, &values(Measure::Failover, &one, &other), None, rules)
        })
        .collect();
    let can_tell: Vec<bool> = asked.iter().map(Option::is_some).collect();
    let mut found = decide(asked.into_iter().flatten().collect(), rules, 1).into_iter();
    let answer = |can_tell: bool| if can_tell { found.next().flatten().map(|found| found.answer) } else { None };
    can_tell.into_iter().map(answer).map(|answer| answer.unwrap_or(ComparisonVerdict::CannotTell)).collect()
}
