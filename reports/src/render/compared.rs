//! What a comparison says, in words and figures: as the terminal, the page and the table for a pull request have it.

use super::{clean, format};
use crate::compare::{Answer, ComparedPair, Comparing, Comparison, Measure, Rules, Unit};
use crate::state::{Chip, State};
use hustings_record::Nanos;
use hustings_record::words::{duration, plural, three_digits};

/// Why two runs tell less than two sides of one.
pub(crate) const NOT_IN_TURN: &str = "two runs, one after the other: a machine that was busier in one of them looks like a difference; \
                                      `hustings run A --against B` runs both sides in turn";

/// What a table of comparisons has above its columns.
pub(crate) const HEAD: [&str; 8] = ["cell", "figure", "base", "new", "change", "95 % interval", "p", "answer"];

/// What it has in them.
pub(crate) fn row(pair: &ComparedPair, found: &Comparison) -> Vec<String> {
    vec![
        clean::line(&pair.name),
        found.measure.name().to_owned(),
        typical(found, false),
        typical(found, true),
        change(found),
        interval(found),
        p(found),
        format!("{} {}", Chip::from(state(found.answer)).sign, words(found)),
    ]
}

/// The failover of a pair; of its other figures those that differ.
pub(crate) fn telling(pair: &ComparedPair) -> impl Iterator<Item = &Comparison> {
    let tells = |found: &&Comparison| {
        found.measure == Measure::Failover || matches!(found.answer, Answer::Worse | Answer::Better)
    };
    pair.comparisons.iter().filter(tells)
}

/// What an answer looks like.
pub(super) fn state(answer: Answer) -> State {
    State::told(answer.verdict(), false)
}

/// How many comparisons came to which answer.
pub(crate) fn counted(comparing: &Comparing) -> String {
    let all = || comparing.pairs.iter().flat_map(|pair| &pair.comparisons);
    let count = |answer| all().filter(|found| found.answer == answer).count();
    format!(
        "{} of {}: {} worse, {} better, {} the same within {}, {} cannot be told",
        plural(all().count() as u64, "comparison", "comparisons"),
        plural(comparing.pairs.len() as u64, "cell", "cells"),
        count(Answer::Worse),
        count(Answer::Better),
        count(Answer::Same),
        margin(&comparing.rules),
        count(Answer::CannotTell),
    )
}

/// What counts as the same.
pub(super) fn margin(rules: &Rules) -> String {
    let share = format!("±{}", format::share(rules.delta));
    if rules.of_round_trip > 0.0 { format!("{share} or half a round trip") } else { share }
}

/// After Holm's correction.
pub(super) fn p(found: &Comparison) -> String {
    if found.p_holm < 0.001 { "<0.001".to_owned() } else { format!("{:.3}", found.p_holm) }
}

/// The answer, and what else it would take.
pub(super) fn words(found: &Comparison) -> String {
    match (found.answer, found.needs) {
        (Answer::CannotTell, Some(needs)) => {
            format!("cannot tell, needs {} a side", plural(needs, "more injection", "more injections"))
        }
        (Answer::CannotTell, None) => "cannot tell, nor would more injections".to_owned(),
        (answer, _) => answer.words().to_owned(),
    }
}

/// With the injections behind it.
pub(super) fn typical(found: &Comparison, new: bool) -> String {
    let side = if new { found.new } else { found.base };
    format!("{} ·{}", value(found.measure, side.typical), side.injections)
}

fn value(measure: Measure, value: f64) -> String {
    match measure.unit() {
        _ if !value.is_finite() => "censored".to_owned(),
        Unit::Nanoseconds => duration(value.max(0.0) as Nanos),
        Unit::Share => format::share(value),
        Unit::Count => three_digits(value),
    }
}

/// By how much, and the share of the base's median that it is.
pub(super) fn change(found: &Comparison) -> String {
    let share = found.relative().map_or_else(String::new, |share| format!(" ({} %)", format::signed(share * 100.0)));
    format!("{}{share}", signed(found.measure, found.shift))
}

fn signed(measure: Measure, by: f64) -> String {
    let sign = if by < 0.0 { "−" } else { "+" };
    if by.is_infinite() { format!("{sign}∞") } else { format!("{sign}{}", value(measure, by.abs())) }
}

/// Between what it lies.
pub(super) fn interval(found: &Comparison) -> String {
    let Some((low, high)) = found.interval else { return "too few injections".to_owned() };
    format!("{} … {}", signed(found.measure, low), signed(found.measure, high))
}
