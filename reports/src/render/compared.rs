//! What a comparison says, in words and figures: as the terminal, the page and the table for a pull request have it.

use super::{clean, format};
use crate::compare::{ComparedPair, Comparison, ComparisonReport, ComparisonRules, ComparisonVerdict, Measure, Unit};
use crate::state::{State, StateBadge};
use crate::verdict::Verdict;
use hustings_record::numbers::whole;
use hustings_record::words::{duration, plural, three_digits};

/// Why two runs tell less than two sides of one.
pub(crate) const NOT_IN_TURN: &str = "two runs, one after the other: a machine that was busier in one of them looks like a difference; \
                                      `hustings run A --against B` runs both sides in turn";

/// Limit of the characters that name a side.
const SIDE_CHARS_MAX: usize = 300;

/// What a table of comparisons has above its columns.
pub(crate) const HEAD: [&str; 8] = ["pair", "figure", "base", "new", "change", "95 % interval", "p", "answer"];

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
        format!("{} {}", StateBadge::from(state(found.answer)).sign, words(found)),
    ]
}

/// The failover of a pair; of its other figures those that differ. Shares are compared only if they may.
pub(crate) fn telling(pair: &ComparedPair) -> impl Iterator<Item = &Comparison> {
    let tells = |found: &&Comparison| {
        found.measure == Measure::Failover
            || found.measure.unit() == Unit::Share
            || matches!(found.answer, ComparisonVerdict::Worse | ComparisonVerdict::Better)
    };
    pair.comparisons.iter().filter(tells)
}

/// What an answer looks like.
pub(super) fn state(answer: ComparisonVerdict) -> State {
    State::told(answer.verdict(), false)
}

/// What the two sides are, in a line each. Empty if the record does not tell.
#[must_use]
pub fn side_names(comparing: &ComparisonReport) -> Vec<String> {
    let of = |which: &str, run: &str, name: Option<&String>| {
        let run = (!comparing.in_turn).then(|| format!("run {run}"));
        let parts: Vec<String> = run.into_iter().chain(name.cloned()).collect();
        (!parts.is_empty()).then(|| clean::short(&format!("{which}: {}", parts.join(", ")), SIDE_CHARS_MAX))
    };
    let (base, new) = (&comparing.base, &comparing.new);
    let sides = [of("base", &base.run, base.name.as_ref()), of("new", &new.run, new.name.as_ref())];
    sides.into_iter().flatten().collect()
}

/// The parameters in which the sides differ.
pub(crate) fn differences(comparing: &ComparisonReport) -> Vec<String> {
    let all = comparing.pairs.iter().flat_map(|pair| &pair.differences);
    let mut all: Vec<String> = all.map(|one| clean::line(&one.to_string())).collect();
    all.sort();
    all.dedup();
    all
}

/// The answer as a sentence, with the finding that decides it.
pub(crate) fn sentence(comparing: &ComparisonReport) -> String {
    let answer = match comparing.answer {
        ComparisonVerdict::Same => "The new side is the same as the base",
        ComparisonVerdict::Better => "The new side is better than the base",
        ComparisonVerdict::CannotTell => "Whether the new side is worse than the base cannot be told",
        ComparisonVerdict::Worse => "The new side is worse than the base",
    };
    let finding = finding(comparing).map_or_else(String::new, |finding| format!(": {finding}"));
    clean::line(&format!("{answer}{finding}."))
}

/// The answer as a sentence, and the tolerance that it depends on.
pub(crate) fn headline(comparing: &ComparisonReport) -> String {
    format!("{} Tolerance: {}.", sentence(comparing), margin(&comparing.rules))
}

/// What decides the answer: a reason beside the figures, or the figure in which the sides differ most.
fn finding(comparing: &ComparisonReport) -> Option<String> {
    let of_answer = || comparing.pairs.iter().filter(|pair| pair.answer == comparing.answer);
    let fails = |pair: &&ComparedPair| pair.new.verdict == Verdict::Fail && pair.base.verdict != Verdict::Fail;
    let reason = |pair: &ComparedPair| Some(format!("{}: {}", pair.name, pair.why.as_ref()?));
    match comparing.answer {
        ComparisonVerdict::Same => None,
        ComparisonVerdict::Better => figure(comparing),
        ComparisonVerdict::Worse => of_answer().find(fails).and_then(reason).or_else(|| figure(comparing)),
        ComparisonVerdict::CannotTell => {
            comparing.doubt.clone().or_else(|| of_answer().find_map(reason)).or_else(|| figure(comparing))
        }
    }
}

/// Of all figures that came to the answer, the one in which the sides differ most.
fn figure(comparing: &ComparisonReport) -> Option<String> {
    let all = comparing.pairs.iter().flat_map(|pair| pair.comparisons.iter().map(move |found| (pair, found)));
    let size = |found: &Comparison| found.relative().map_or(f64::INFINITY, f64::abs);
    let (pair, found) = all
        .filter(|(_, found)| found.answer == comparing.answer)
        .max_by(|one, other| size(one.1).total_cmp(&size(other.1)))?;
    let name = format!("{} in {}", subject(found.measure), pair.name);
    Some(match (found.answer, found.needs) {
        (ComparisonVerdict::CannotTell, Some(needs)) => {
            format!("{name} needs {} a side", plural(needs, "more injection", "more injections"))
        }
        (ComparisonVerdict::CannotTell, None) => format!("more injections would not decide {name}"),
        _ => {
            let (base, new) = (found.base.injections, found.new.injections);
            format!("{name} {}, {}, {base} and {new} injections", from_to(found), change(found))
        }
    })
}

/// What a measure is of, within a sentence.
fn subject(measure: Measure) -> &'static str {
    match measure {
        Measure::Failover => "failover",
        Measure::UntilWrite => "time until the next accepted write",
        Measure::Slow => "share of slow failovers",
        Measure::SlowWrites => "share of leads after which the next accepted write was slow",
        Measure::Censored => "share of leads that nobody took over",
        Measure::Woken => "candidates woken",
    }
}

/// `971 ms → 1.20 s`: the base's figure, and the new side's.
pub(crate) fn from_to(found: &Comparison) -> String {
    format!("{} → {}", value(found.measure, found.base.typical), value(found.measure, found.new.typical))
}

/// How many comparisons came to which answer.
pub(crate) fn counted(comparing: &ComparisonReport) -> String {
    let all = || comparing.pairs.iter().flat_map(|pair| &pair.comparisons);
    let count = |answer| all().filter(|found| found.answer == answer).count();
    format!(
        "{} of {}: {} worse, {} better, {} the same within {}, {} cannot be told",
        plural(all().count() as u64, "comparison", "comparisons"),
        plural(comparing.pairs.len() as u64, "pair", "pairs"),
        count(ComparisonVerdict::Worse),
        count(ComparisonVerdict::Better),
        count(ComparisonVerdict::Same),
        margin(&comparing.rules),
        count(ComparisonVerdict::CannotTell),
    )
}

/// What counts as the same.
#[must_use]
pub fn margin(rules: &ComparisonRules) -> String {
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
        (ComparisonVerdict::CannotTell, Some(needs)) => {
            format!("cannot tell, needs {} a side", plural(needs, "more injection", "more injections"))
        }
        (ComparisonVerdict::CannotTell, None) => "cannot tell, nor would more injections".to_owned(),
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
        Unit::Nanoseconds => duration(whole(value)),
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
