//! A comparison for a terminal: a line a figure that tells something, why a pair is what it is, and the answer last.

use super::format;
use super::lines::{NARROW, WIDE, columns, entry, lines, marked, paint, paint_table};
use super::state::{Chip, State};
use crate::compare::{Answer, Comparing, Comparison, Measure, Noise, Pair, Unit};
use hustings_record::Nanos;
use hustings_record::words::{duration, plural, three_digits};

const WIDTH_MIN: usize = 40;

struct Line<'a> {
    pair: &'a str,
    found: &'a Comparison,
    state: Chip,
}

/// What a comparison came to, at most `width` columns wide (40 at least). Without `colour` it holds no escape codes.
#[must_use]
pub fn comparison(comparing: &Comparing, width: usize, colour: bool) -> String {
    let width = width.max(WIDTH_MIN);
    let telling: Vec<Line<'_>> = comparing.pairs.iter().flat_map(telling).collect();
    let mut text = String::new();
    if width < NARROW {
        for line in &telling {
            let head = format!("{} {} {}", line.state.sign, super::clean::line(line.pair), words(line.found));
            let figures = format!(
                "{}: {} against {}",
                line.found.measure.name(),
                median(line.found, false),
                median(line.found, true)
            );
            let change = format!("{}, {}", change(line.found), interval(line.found));
            text.push_str(&entry(&head, [figures, change], &line.state, width, colour));
        }
    } else if !telling.is_empty() {
        let head = ["cell", "figure", "base", "new", "change", "95 % interval", "p", "answer"];
        let rows = telling.iter().map(row);
        text.push_str(&paint_table(
            &columns(head, rows, 2..7, width.min(2 * WIDE)),
            telling.iter().map(|line| &line.state),
            colour,
        ));
        text.push('\n');
    }
    text.push('\n');
    for pair in &comparing.pairs {
        if let Some(why) = &pair.why {
            let why = format!("{}: {}", pair.name, why);
            text.push_str(&marked(Chip::from(state(pair.answer)).sign, &super::clean::line(&why), width));
        }
    }
    for forced in &comparing.forced {
        text.push_str(&marked("!", &super::clean::line(&format!("compared all the same: {forced}")), width));
    }
    if !comparing.in_turn {
        let weaker = "two runs, one after the other: a machine that was busier in one of them looks like a difference; \
                      `hustings run A --against B` runs both sides in turn";
        text.push_str(&lines(weaker, width));
    }
    text.push_str(&verdict(comparing, colour));
    text
}

/// The failover of every pair; of other figures those that differ.
fn telling(pair: &Pair) -> impl Iterator<Item = Line<'_>> {
    let tells = |found: &&Comparison| {
        found.measure == Measure::Failover || matches!(found.answer, Answer::Worse | Answer::Better)
    };
    let line = |found| Line { pair: &pair.name, found, state: Chip::from(state(found.answer)) };
    pair.comparisons.iter().filter(tells).map(line)
}

fn state(answer: Answer) -> State {
    State::told(answer.verdict(), false)
}

fn row(line: &Line<'_>) -> Vec<String> {
    let found = line.found;
    let p = if found.p_holm < 0.001 { "<0.001".to_owned() } else { format!("{:.3}", found.p_holm) };
    vec![
        super::clean::line(line.pair),
        found.measure.name().to_owned(),
        median(found, false),
        median(found, true),
        change(found),
        interval(found),
        p,
        format!("{} {}", line.state.sign, words(found)),
    ]
}

fn words(found: &Comparison) -> String {
    match (found.answer, found.needs) {
        (Answer::CannotTell, Some(needs)) => {
            format!("cannot tell, needs {} a side", plural(needs, "more strike", "more strikes"))
        }
        (Answer::CannotTell, None) => "cannot tell, nor would more strikes".to_owned(),
        (answer, _) => answer.words().to_owned(),
    }
}

/// With the strikes behind it.
fn median(found: &Comparison, new: bool) -> String {
    let side = if new { found.new } else { found.base };
    format!("{} ·{}", value(found.measure, side.median), side.strikes)
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
fn change(found: &Comparison) -> String {
    let share = found.relative().map_or_else(String::new, |share| format!(" ({} %)", format::signed(share * 100.0)));
    format!("{}{share}", signed(found.measure, found.shift))
}

fn signed(measure: Measure, by: f64) -> String {
    let sign = if by < 0.0 { "−" } else { "+" };
    if by.is_infinite() { format!("{sign}∞") } else { format!("{sign}{}", value(measure, by.abs())) }
}

fn interval(found: &Comparison) -> String {
    let Some((low, high)) = found.interval else { return "too few strikes".to_owned() };
    format!("{} … {}", signed(found.measure, low), signed(found.measure, high))
}

/// How many of each, and what it comes to.
fn verdict(comparing: &Comparing, colour: bool) -> String {
    let all = || comparing.pairs.iter().flat_map(|pair| &pair.comparisons);
    let count = |answer| all().filter(|found| found.answer == answer).count();
    let chip = Chip::from(state(comparing.answer));
    let counts = format!(
        "{} of {}: {} worse, {} better, {} the same within ±{}, {} cannot be told",
        plural(all().count() as u64, "comparison", "comparisons"),
        plural(comparing.pairs.len() as u64, "cell", "cells"),
        count(Answer::Worse),
        count(Answer::Better),
        count(Answer::Same),
        format::share(comparing.rules.delta),
        count(Answer::CannotTell),
    );
    format!("{}\n", paint(&format!("{} {}: {counts}", chip.sign, comparing.answer.words()), &chip, colour))
}

/// What the machine's noise comes to, for a terminal.
#[must_use]
pub fn noise(found: &Noise) -> String {
    let mut spreads: Vec<_> = found.spreads.iter().collect();
    spreads.sort_by(|one, other| other.spread.total_cmp(&one.spread));
    let mut text = String::new();
    for one in spreads.iter().take(5) {
        text.push_str(&format!(
            "{:>8}  {} of {} ({} a side)\n",
            format::share(one.spread),
            one.measure.name(),
            super::clean::line(&one.pair),
            plural(one.strikes, "strike", "strikes"),
        ));
    }
    text.push_str(&format!("two runs of one build lie so far apart here; compare with --delta {:.3}\n", found.delta));
    text
}
