//! Tables for a pull request, and for the summary of a GitHub job: items that did not pass, comparisons, then a line
//! per cell.

use std::fmt::Write as _;

use super::items::{GateResult, Item};
use crate::compare::ComparisonReport;
use crate::render::clean::markdown as escaped;
use crate::render::compared::{HEAD, NOT_IN_TURN, counted, row, side_names, telling};
use crate::verdict::Verdict;
use hustings_record::words::plural;

/// A job summary may hold one MiB. Half of it is left to other output of the step.
const BYTES_MAX: usize = 512 * 1024;

/// Limit of left-out repetitions listed with their reason.
const LEFT_OUT_MAX: usize = 20;

/// The gate's result as Markdown.
#[must_use]
pub fn markdown(gated: &GateResult, comparing: Option<&ComparisonReport>) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ =
        writeln!(text, "### {} hustings gate: {}, {}\n", sign(gated.verdict), escaped(&gated.scenario), gated.verdict);
    let bad: Vec<&Item> = gated.worst_first().collect();
    if !bad.is_empty() {
        let _ = writeln!(text, "| | cell | asked | seen |\n|---|---|---|---|");
        for (shown, item) in bad.iter().enumerate() {
            if text.len() > BYTES_MAX {
                let _ = writeln!(text, "\nand {} more", bad.len() - shown);
                break;
            }
            let cell = escaped(item.cell.as_deref().unwrap_or("record"));
            let what = escaped(&item.title());
            let _ = writeln!(text, "| {} | {cell} | {what} | {} |", sign(item.verdict), escaped(&item.text));
        }
        let _ = writeln!(text);
    }
    if let Some(comparing) = comparing {
        text.push_str(&compared(comparing, BYTES_MAX.saturating_sub(text.len())));
    }
    for left in gated.left_out.iter().take(LEFT_OUT_MAX) {
        let _ = writeln!(text, "- {} is left out: {}", escaped(&left.cell), escaped(&left.why));
    }
    if gated.left_out.len() > LEFT_OUT_MAX {
        let _ = writeln!(text, "- and {} more are left out", gated.left_out.len() - LEFT_OUT_MAX);
    }
    if !gated.left_out.is_empty() {
        let _ = writeln!(text);
    }
    let cells = gated.by_cell();
    let named = cells.iter().filter(|(name, _)| name.is_some()).count() as u64;
    let head = format!("{} and the record", plural(named, "cell", "cells"));
    let _ = writeln!(
        text,
        "<details><summary>{head}</summary>\n\n| cell | asked | passed | not testable there |\n|---|--:|--:|--:|"
    );
    for (name, items) in cells {
        if text.len() > BYTES_MAX {
            break;
        }
        let passed = items.iter().filter(|item| item.verdict == Verdict::Pass).count();
        let untestable = items.iter().filter(|item| item.not_testable.is_some()).count();
        let name = escaped(name.unwrap_or("record"));
        let _ = writeln!(text, "| {name} | {} | {} | {untestable} |", items.len(), passed - untestable);
    }
    let _ = writeln!(text, "\n</details>");
    text
}

/// The failover of every pair and its other differences, within `bytes_max`.
fn compared(comparing: &ComparisonReport, bytes_max: usize) -> String {
    let of_row = |cells: &mut dyn Iterator<Item = String>| cells.map(|cell| format!("| {cell} ")).collect::<String>();
    let mut text: String = side_names(comparing).iter().map(|name| format!("- {}\n", escaped(name))).collect();
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(&format!("{}|\n", of_row(&mut HEAD.iter().map(|&head| head.to_owned()))));
    text.push_str("|---|---|--:|--:|--:|--:|--:|---|\n");
    let rows: Vec<_> = comparing.pairs.iter().flat_map(|pair| telling(pair).map(move |found| (pair, found))).collect();
    for (shown, (pair, found)) in rows.iter().enumerate() {
        if text.len() > bytes_max {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "\nand {} more", rows.len() - shown);
            break;
        }
        let _ = writeln!(text, "{}|", of_row(&mut row(pair, found).iter().map(|cell| escaped(cell))));
    }
    let _ = writeln!(text, "\n{}\n", escaped(&counted(comparing)));
    for forced in &comparing.forced {
        let _ = writeln!(text, "- compared all the same: {}", escaped(forced));
    }
    if !comparing.in_turn {
        let _ = writeln!(text, "{}\n", escaped(NOT_IN_TURN));
    }
    text
}

fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "✅",
        Verdict::Inconclusive => "❔",
        Verdict::Fail => "❌",
    }
}
