//! The two sides of a run, compared with each other.

use serde::Serialize;

use crate::compare::{ComparedPair, Comparison, ComparisonReport, ComparisonVerdict};
use crate::render::clean;
use crate::render::compared::{change, counted, differences, interval, margin, p, state, telling, typical, words};
use crate::state::StateBadge;

#[derive(Serialize)]
pub(crate) struct ComparisonView {
    state: StateBadge,
    /// The answer of all together, and how many came to which.
    answer: &'static str,
    counted: String,
    delta: String,
    /// In what the sides differ, by the parameters; nothing where another build is all that differs, or nothing is.
    differences: Vec<String>,
    rows: Vec<ComparisonViewRow>,
    /// Pairs whose answer is not that of their figures, and why.
    reasons: Vec<(StateBadge, String)>,
}

#[derive(Serialize)]
struct ComparisonViewRow {
    pair: String,
    measure: &'static str,
    base: String,
    new: String,
    change: String,
    interval: String,
    p: String,
    state: StateBadge,
    words: String,
    /// Something is shown to be different.
    loud: bool,
}

pub(crate) fn contest(comparing: &ComparisonReport) -> ComparisonView {
    let ComparisonReport { answer, rules, pairs, doubt, .. } = comparing;
    let reason = |pair: &ComparedPair| {
        let why = pair.why.as_ref()?;
        Some((StateBadge::from(state(pair.answer)), clean::line(&format!("{}: {why}", pair.name))))
    };
    ComparisonView {
        state: state(*answer).into(),
        answer: answer.words(),
        counted: counted(comparing),
        delta: margin(rules),
        differences: differences(comparing),
        rows: pairs.iter().flat_map(|pair| telling(pair).map(|found| row(pair, found))).collect(),
        reasons: pairs.iter().filter_map(reason).chain(doubt.as_deref().map(of_all)).collect(),
    }
}

fn of_all(why: &str) -> (StateBadge, String) {
    (state(ComparisonVerdict::CannotTell).into(), clean::line(why))
}

fn row(pair: &ComparedPair, found: &Comparison) -> ComparisonViewRow {
    ComparisonViewRow {
        pair: clean::short(&pair.name, 60),
        measure: found.measure.name(),
        base: typical(found, false),
        new: typical(found, true),
        change: change(found),
        interval: interval(found),
        p: p(found),
        state: StateBadge { words: found.answer.words(), ..state(found.answer).into() },
        words: words(found),
        loud: matches!(found.answer, ComparisonVerdict::Worse | ComparisonVerdict::Better),
    }
}
