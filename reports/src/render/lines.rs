//! Lines for a terminal: verdicts by sign and colour, and text that is broken where it must be.

use std::ops::Range;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::clean;
use crate::state::{State, StateBadge};

/// Narrower than this, recipe and policy share a column, and so do fault and T.
pub(super) const WIDE: usize = 142;
/// Narrower than this, p50, the tail and n share a column.
const TIMES_APART: usize = 100;
/// Narrower than this a table would break its words: there each cell has lines of its own.
pub(super) const NARROW: usize = 68;

pub(super) fn verdict_words(state: &StateBadge) -> String {
    format!("{} {}", state.sign, state.words)
}

/// Colours the signs: what the rows hold is clean, so a sign at the place of a verdict is one.
pub(super) fn paint_table<'a>(table: &str, states: impl Iterator<Item = &'a StateBadge>, colour: bool) -> String {
    if !colour {
        return table.to_owned();
    }
    let mut states = states.peekable();
    let lines = table.lines().enumerate().map(|(i, line)| {
        if i == 0 {
            return format!("\u{1b}[1m{line}\u{1b}[0m");
        }
        let Some(state) = states.peek() else { return line.to_owned() };
        match line.rfind(state.sign) {
            Some(at) => {
                let painted = paint(&line[at..], state, true);
                states.next();
                format!("{}{painted}", &line[..at])
            }
            None => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A table of which the columns `numbers` hold figures.
pub(super) fn columns<'a>(
    head: impl IntoIterator<Item = &'a str>,
    rows: impl Iterator<Item = Vec<String>>,
    numbers: Range<usize>,
    width: usize,
) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    table.set_header(head);
    table.add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, if width >= WIDE { 2 } else { 1 }));
    }
    for at in numbers {
        if let Some(column) = table.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// p50, the tail and n, in a head or in a row: a column each, or one below the other in a single column.
pub(super) fn times(times: [&str; 3], width: usize) -> Vec<String> {
    if width >= TIMES_APART { Vec::from(times.map(str::to_owned)) } else { vec![times.join("\n")] }
}

/// What stands in for a row of a table: a head in the colour of its state, and what belongs below it.
pub(super) fn entry(head: &str, below: [String; 2], state: &StateBadge, width: usize, colour: bool) -> String {
    let head = wrapped(head, width).into_iter().enumerate();
    let head = head.map(|(i, line)| paint(&line, state, colour && i == 0));
    let below = below.into_iter().flat_map(|text| wrapped(&text, width - 2));
    head.chain(below.map(|line| format!("  {line}"))).map(|line| line + "\n").collect()
}

/// Lines of their own.
pub(super) fn lines(words: &str, width: usize) -> String {
    wrapped(words, width).into_iter().map(|line| line + "\n").collect()
}

pub(super) fn paint(text: &str, state: &StateBadge, colour: bool) -> String {
    let code = match state.state {
        State::Pass => "32",
        State::Untestable => "2",
        State::Unsafe => "35",
        State::Inconclusive => "33",
        State::Fail => "1;31",
    };
    if colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
}

/// Lines behind a sign.
pub(super) fn marked(sign: &str, words: &str, width: usize) -> String {
    let mut text = String::new();
    for (i, line) in wrapped(words, width.saturating_sub(4)).into_iter().enumerate() {
        text.push_str(&if i == 0 { format!("{sign} {line}\n") } else { format!("    {line}\n") });
    }
    text
}

/// Breaks at spaces; a word longer than a line is cut.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split_whitespace() {
        let word = clean::short(word, width.max(1));
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            lines.push(String::new());
            used = 0;
        }
        if let Some(line) = lines.last_mut() {
            if used > 0 {
                line.push(' ');
                used += 1;
            }
            line.push_str(&word);
            used += length;
        }
    }
    lines
}
