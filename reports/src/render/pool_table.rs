//! The pools of a run for a terminal: a line a configuration, before those of its repetitions.

use super::lines::{NARROW, WIDE, columns, entry, lines, marked, paint_table, times, verdict_words};
use super::view::{PoolRow, pooled};
use crate::summary::Summary;

/// Nothing where each configuration was run once.
pub(super) fn pool_table(summary: &Summary, width: usize, colour: bool) -> String {
    let (pools, tail, shared) = pooled(summary);
    if pools.is_empty() {
        return String::new();
    }
    let all = if shared.is_empty() { String::new() } else { format!(" (all of them {shared})") };
    let mut text = lines(&format!("All repetitions of each configuration together{all}:"), width);
    if width < NARROW {
        pools.iter().for_each(|pool| text.push_str(&listed(pool, tail, width, colour)));
    } else {
        let states = pools.iter().map(|pool| &pool.row.state);
        text.push_str(&paint_table(&table(&pools, tail, width), states, colour));
        text.push('\n');
    }
    text.push_str(&lines(
        "n: failovers behind p50 and the tail; medians: the least and the most of the repetitions' own; runs: how many \
         repetitions show the verdict",
        width,
    ));
    for pool in pools.iter().filter(|pool| !pool.left_out.is_empty()) {
        text.push_str(&marked("!", &pool.left_out, width));
    }
    text.push('\n');
    text
}

/// `6.81 s–7.10 s`; the same once where there is one figure.
fn medians(pool: &PoolRow) -> String {
    if pool.least == pool.most { pool.least.clone() } else { format!("{}–{}", pool.least, pool.most) }
}

/// A few lines for one.
fn listed(pool: &PoolRow, tail: &str, width: usize, colour: bool) -> String {
    let row = &pool.row;
    let head = format!("{}, {} runs: {}", verdict_words(&row.state), pool.show_it, row.title.join(", "));
    let times = format!("p50 {}, {tail} {}, n {}; medians {}", row.p50, row.tail, row.n, medians(pool));
    let figures = format!("{}, T {}: {times}", row.fault, row.t);
    let found = format!("overlaps {}; stale writes {}", row.overlaps_short, row.stale_short);
    entry(&head, [figures, found], &row.state, width, colour)
}

fn table(pools: &[PoolRow], tail: &str, width: usize) -> String {
    let wide = width >= WIDE;
    let head: &[&str] = if wide { &["configuration", "fault", "T"] } else { &["configuration", "fault\nT"] };
    let stale = if wide { "stale writes" } else { "stale\nwrites" };
    let end: &[&str] = if wide { &["verdict", "runs"] } else { &["verdict\nruns"] };
    let times = times(["p50", tail, "n"], width);
    let found = ["medians", "overlaps", stale];
    let numbers = head.len()..head.len() + times.len() + found.len();
    let rows = pools.iter().map(|pool| if wide { wide_row(pool) } else { narrow_row(pool, width) });
    let head = head.iter().copied().chain(times.iter().map(String::as_str)).chain(found).chain(end.iter().copied());
    columns(head, rows, numbers, width)
}

fn wide_row(pool: &PoolRow) -> Vec<String> {
    let row = &pool.row;
    let title = row.title.join(", ");
    let figures = [title.as_str(), &row.fault, &row.t, &row.p50, &row.tail, &row.n].map(str::to_owned);
    let found = [medians(pool), row.overlaps_short.clone(), row.stale_short.clone(), verdict_words(&row.state)];
    figures.into_iter().chain(found).chain([pool.show_it.clone()]).collect()
}

/// What belongs together stands one below the other.
fn narrow_row(pool: &PoolRow, width: usize) -> Vec<String> {
    let row = &pool.row;
    let head = [row.title.join(",\n"), format!("{}\n{}", row.fault, row.t.replacen(" (", "\n(", 1))];
    let end = [
        medians(pool).replacen('–', "–\n", 1),
        row.overlaps_short.replacen(' ', "\n", 1),
        row.stale_short.replacen(' ', "\n", 1),
        format!("{}\n{}", verdict_words(&row.state).replacen(", ", ",\n", 1), pool.show_it),
    ];
    head.into_iter().chain(times([&row.p50, &row.tail, &row.n], width)).chain(end).collect()
}
