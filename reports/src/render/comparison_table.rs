//! A comparison for a terminal: a line a figure that tells something, why a pair is what it is, and the answer last.

use super::compared::{
    self, HEAD, NOT_IN_TURN, change, counted, differences, interval, row, sentence, side_names, state, typical, words,
};
use super::format;
use super::lines::{NARROW, WIDE, columns, entry, lines, marked, paint, paint_table};
use crate::compare::{ComparedPair, Comparison, ComparisonReport, ComparisonVerdict, Noise};
use crate::state::StateBadge;
use hustings_record::words::plural;

const WIDTH_MIN: usize = 40;
const DIFFERENCES_CHARS_MAX: usize = 600;

struct ComparisonLine<'a> {
    pair: &'a ComparedPair,
    found: &'a Comparison,
    state: StateBadge,
}

/// What a comparison came to, at most `width` columns wide (40 at least). Without `colour` it holds no escape codes.
#[must_use]
pub fn comparison(comparing: &ComparisonReport, width: usize, colour: bool) -> String {
    let width = width.max(WIDTH_MIN);
    let telling: Vec<ComparisonLine<'_>> = comparing.pairs.iter().flat_map(telling).collect();
    let mut text: String = side_names(comparing).iter().map(|name| lines(name, width)).collect();
    let differences = differences(comparing).join(", ");
    if comparing.in_turn && !differences.is_empty() {
        let told = super::clean::short(&format!("they differ in {differences}"), DIFFERENCES_CHARS_MAX);
        text.push_str(&lines(&told, width));
    }
    if width < NARROW {
        for line in &telling {
            let head = format!("{} {} {}", line.state.sign, super::clean::line(&line.pair.name), words(line.found));
            let figures = format!(
                "{}: {} against {}",
                line.found.measure.name(),
                typical(line.found, false),
                typical(line.found, true)
            );
            let change = format!("{}, {}", change(line.found), interval(line.found));
            text.push_str(&entry(&head, [figures, change], &line.state, width, colour));
        }
    } else if !telling.is_empty() {
        let rows = telling.iter().map(|line| row(line.pair, line.found));
        text.push_str(&paint_table(
            &columns(HEAD, rows, 2..7, width.min(2 * WIDE)),
            telling.iter().map(|line| &line.state),
            colour,
        ));
        text.push('\n');
    }
    text.push('\n');
    for pair in &comparing.pairs {
        if let Some(why) = &pair.why {
            let why = format!("{}: {}", pair.name, why);
            text.push_str(&marked(StateBadge::from(state(pair.answer)).sign, &super::clean::line(&why), width));
        }
    }
    for forced in &comparing.forced {
        text.push_str(&marked("!", &super::clean::line(&format!("compared all the same: {forced}")), width));
    }
    if let Some(doubt) = &comparing.doubt {
        text.push_str(&marked("?", &super::clean::line(doubt), width));
    }
    let left_out: u64 = comparing.pairs.iter().map(|pair| pair.base.left_out + pair.new.left_out).sum();
    if left_out > 0 {
        let told = plural(
            left_out,
            "repetition is left out, because a stall of the harness spoilt it",
            "repetitions are left out, because stalls of the harness spoilt them",
        );
        text.push_str(&lines(&told, width));
    }
    if !comparing.in_turn {
        text.push_str(&lines(NOT_IN_TURN, width));
    }
    if matches!(comparing.answer, ComparisonVerdict::Worse | ComparisonVerdict::Better) {
        text.push_str(&lines(&sentence(comparing), width));
    }
    text.push_str(&verdict(comparing, colour));
    text
}

fn telling(pair: &ComparedPair) -> impl Iterator<Item = ComparisonLine<'_>> {
    let line = |found| ComparisonLine { pair, found, state: StateBadge::from(state(found.answer)) };
    compared::telling(pair).map(line)
}

fn verdict(comparing: &ComparisonReport, colour: bool) -> String {
    let chip = StateBadge::from(state(comparing.answer));
    let told = format!("{} {}: {}", chip.sign, comparing.answer.words(), counted(comparing));
    format!("{}\n", paint(&told, &chip, colour))
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
            plural(one.injections, "injection", "injections"),
        ));
    }
    let advice = match found.delta {
        Some(delta) => format!("compare with --delta {:.1}%", delta * 100.0),
        None => "nothing can be told apart with that: let the machine be quieter, or plan more injections".to_owned(),
    };
    text.push_str(&format!("two runs of one build lie so far apart here; {advice}\n"));
    text
}
