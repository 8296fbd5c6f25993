//! The summary for a terminal: why the run failed or did not end, the answers in sentences, a line a cell, what failed and why, and
//! the verdict last, where the eye rests.

use super::format::{NOTHING, count};
use super::lines::{NARROW, WIDE, columns, entry, lines, marked, paint, paint_table, times, verdict_words, wrapped};
use super::pool_table::pool_table;
use super::view::{
    Banner, CellRow, Problem, Rows, SummaryAnswer, answers, banner, not_shown, remarks, rows, shown, why_unfinished,
};
use crate::compare::compared_sides;
use crate::state::{State, StateBadge};
use crate::summary::Summary;

const WIDTH_MIN: usize = 40;

/// A summary at most `width` columns wide (40 at least). Without `colour` it holds no escape codes.
#[must_use]
pub fn terminal(summary: &Summary, width: usize, colour: bool) -> String {
    let width = width.max(WIDTH_MIN);
    let Rows { mut rows, tail_name, shared } = rows(summary, &shown(summary));
    let banner = banner(summary, compared_sides(summary).as_ref());
    let mut text = causes(summary, &banner, width, colour);
    text.extend(answers(summary).iter().map(|answer| answered(answer, width, colour)));
    let pools = pool_table(summary, width, colour);
    let (bounds, has_table) = (bounds(&rows, width), !rows.is_empty() || !pools.is_empty());
    if !pools.is_empty() {
        text.push_str(&pools);
        // Five rounds of a gate have a hundred rows, and what they show together stands above.
        rows.retain(|row| row.state.state.is_open_or_failed());
        let head = match summary.cells_missing() {
            _ if !rows.is_empty() => "Repetitions that did not pass:".to_owned(),
            0 => "Every repetition passed.".to_owned(),
            missing => format!("Every repetition with a record passed; {} left none.", count(missing)),
        };
        text.push_str(&lines(&head, width));
    }
    if !rows.is_empty() {
        if !shared.is_empty() {
            text.push_str(&lines(&format!("All cells: {shared}"), width));
        }
        if width < NARROW {
            text.push_str(&list(&rows, tail_name, width, colour));
        } else {
            text.push_str(&paint_table(&table(&rows, tail_name, width), rows.iter().map(|row| &row.state), colour));
            text.push('\n');
        }
        if let Some(more) = not_shown(summary) {
            text.push_str(&wrapped(&more, width).join("\n"));
            text.push('\n');
        }
        text.push_str(&behind(&rows, width));
    }
    if has_table {
        text.push_str(&bounds);
        text.push('\n');
    }
    let elections = elections(&rows, width);
    if !elections.is_empty() {
        text.push_str(&elections);
        text.push('\n');
    }
    for problem in &banner.problems {
        text.push_str(&problem_line(problem, width, colour));
    }
    if banner.more > 0 {
        text.push_str(&format!("  … and {} more in the report\n", banner.more));
    }
    let remarks = remarks(summary);
    for (sign, remark) in &remarks {
        text.push_str(&marked(sign, remark, width));
    }
    if !banner.problems.is_empty() || !remarks.is_empty() {
        text.push('\n');
    }
    text.push_str(&verdict_line(&banner, width, colour));
    text
}

/// Why the run did not come to its end, or failed: it changes how all the rest is read.
fn causes(summary: &Summary, banner: &Banner, width: usize, colour: bool) -> String {
    let mut text: String = why_unfinished(summary).iter().map(|why| marked("!", why, width)).collect();
    if let Some(why) = why_failed(banner) {
        text.push_str(&marked(&paint(banner.state.sign, &banner.state, colour), &why, width));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// The first failed check, or the comparison that failed. None of a run that did not fail.
fn why_failed(banner: &Banner) -> Option<String> {
    let is_failed = |state: &StateBadge| state.state == State::Fail;
    let failed: Vec<&Problem> = banner.problems.iter().filter(|problem| is_failed(&problem.state)).collect();
    let why = match failed.first() {
        Some(problem) => problem_words(problem),
        None => banner.compared.clone()?,
    };
    let more = if failed.len() > 1 { "; more at the end" } else { "" };
    is_failed(&banner.state).then(|| format!("This run failed: {why}{more}"))
}

/// A question, and below it what there is to say.
fn answered(answer: &SummaryAnswer, width: usize, colour: bool) -> String {
    let question = if colour { format!("\u{1b}[1m{}\u{1b}[0m", answer.question) } else { answer.question.to_owned() };
    let below = answer.sentences.iter().flat_map(|sentence| wrapped(sentence, width - 2));
    let below: String = below.map(|line| format!("  {line}\n")).collect();
    format!("{question}\n{below}\n")
}

/// What n says.
fn behind(rows: &[CellRow], width: usize) -> String {
    let open = if rows.iter().any(|row| row.n.contains('+')) { "; a+b: b more that had not ended" } else { "" };
    let is_measured = rows.iter().any(|row| row.n != NOTHING);
    if is_measured { lines(&format!("n: failovers behind the times{open}"), width) } else { String::new() }
}

/// What the figures with a bound say.
fn bounds(rows: &[CellRow], width: usize) -> String {
    if rows.iter().all(|row| !row.overlaps_short.contains('·')) {
        return String::new();
    }
    let words = "a/b·c ≤p: a seen at b handovers that came of c injections; all that was planned for one moment is one injection, and p \
                 is the 95 % bound of the share of injections";
    lines(words, width)
}

/// A line for each cell whose servers were watched.
fn elections(rows: &[CellRow], width: usize) -> String {
    let watched = rows.iter().filter(|row| !row.elections.is_empty());
    watched.map(|row| marked("~", &format!("{}: {}", row.name, row.elections), width)).collect()
}

/// A few lines for each cell.
fn list(rows: &[CellRow], tail_name: &str, width: usize, colour: bool) -> String {
    let cell = |row: &CellRow| {
        let head = format!("{} {}", verdict_words(&row.state), row.title.join(", "));
        let figures = format!("{}, T {}: p50 {}, {tail_name} {}, n {}", row.fault, row.t, row.p50, row.tail, row.n);
        let found =
            format!("wake-ups {}; overlaps {}; stale writes {}", row.woken, row.overlaps_short, row.stale_short);
        entry(&head, [figures, found], &row.state, width, colour)
    };
    rows.iter().map(cell).collect()
}

fn table(rows: &[CellRow], tail_name: &str, width: usize) -> String {
    let wide = width >= WIDE;
    let head: &[&str] = if wide { &["cell", "fault", "T"] } else { &["cell", "fault\nT"] };
    let times = times(["p50", tail_name, "n"], width);
    let [wake_ups, stale] = if wide { ["wake-ups", "stale writes"] } else { ["wake-\nups", "stale\nwrites"] };
    let tail = [wake_ups, "overlaps", stale, "verdict"];
    // The verdict is no figure.
    let numbers = head.len()..head.len() + times.len() + tail.len() - 1;
    let rows = rows.iter().map(|row| if wide { wide_row(row) } else { narrow_row(row, width) });
    columns(head.iter().copied().chain(times.iter().map(String::as_str)).chain(tail), rows, numbers, width)
}

fn wide_row(row: &CellRow) -> Vec<String> {
    let title = row.title.join(", ");
    let cells = [title.as_str(), &row.fault, &row.t, &row.p50, &row.tail, &row.n, &row.woken];
    let end = [row.overlaps_short.as_str(), &row.stale_short];
    cells.into_iter().chain(end).map(str::to_owned).chain([verdict_words(&row.state)]).collect()
}

/// What belongs together stands one below the other.
fn narrow_row(row: &CellRow, width: usize) -> Vec<String> {
    let head = [row.title.join(",\n"), format!("{}\n{}", row.fault, row.t.replacen(" (", "\n(", 1))];
    let tail = [
        row.woken.replacen(" (", "\n(", 1),
        row.overlaps_short.replacen(' ', "\n", 1),
        row.stale_short.replacen(' ', "\n", 1),
        verdict_words(&row.state).replacen(", ", ",\n", 1),
    ];
    head.into_iter().chain(times([&row.p50, &row.tail, &row.n], width)).chain(tail).collect()
}

fn problem_line(problem: &Problem, width: usize, colour: bool) -> String {
    marked(&paint(problem.state.sign, &problem.state, colour), &problem_words(problem), width)
}

fn problem_words(problem: &Problem) -> String {
    format!("{}, {}: {}", problem.cell, problem.check, problem.reason)
}

fn verdict_line(banner: &Banner, width: usize, colour: bool) -> String {
    let verdict = paint(&verdict_words(&banner.state).to_uppercase(), &banner.state, colour);
    let sides: String = banner.sides.iter().map(|side| lines(side, width)).collect();
    let sentences: Vec<&str> = banner.compared.iter().chain([&banner.sentence]).map(String::as_str).collect();
    format!("{verdict}\n{sides}{}\n", wrapped(&sentences.join(" "), width).join("\n"))
}
