//! Recipes and programs side by side, as Markdown: their handover times under each fault, their costs and findings, and
//! the circumstances of the run.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::by_fault::RatesByFault;
use super::clean::markdown as escaped;
use super::format::{NOTHING, count, memory_kb, rate_short, said, said_between, share, tail_short};
use super::view::facts;
use crate::check::CellSummary;
use crate::check::fan_out::FanOutSection;
use crate::stats::{Distribution, Rate};
use crate::summary::Summary;
use crate::verdict::Verdict;
use hustings_record::Nanos;
use hustings_record::numbers::whole;
use hustings_record::words::duration;

/// All cells of one recipe or program.
struct LeagueRow<'a> {
    name: &'a str,
    cells: Vec<&'a CellSummary>,
}

/// The two tables of a run.
#[must_use]
pub fn league(summary: &Summary) -> String {
    let mut entrants: Vec<LeagueRow<'_>> = Vec::new();
    let mut faults: Vec<&str> = Vec::new();
    for cell in summary.cells.iter().filter(|cell| cell.info.has_candidates() && !cell.info.self_test) {
        if !faults.contains(&cell.info.fault.as_str()) {
            faults.push(&cell.info.fault);
        }
        match entrants.iter_mut().find(|entrant| entrant.name == cell.info.recipe) {
            Some(entrant) => entrant.cells.push(cell),
            None => entrants.push(LeagueRow { name: &cell.info.recipe, cells: vec![cell] }),
        }
    }
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = failovers(&mut text, summary, &entrants, &faults);
    let _ = costs(&mut text, &entrants);
    let _ = circumstances(&mut text, summary, &entrants);
    text
}

fn head(text: &mut String, columns: impl Iterator<Item = String>) -> std::fmt::Result {
    let columns: Vec<String> = columns.collect();
    writeln!(text, "| | {} |\n|---|{}", columns.join(" | "), "--:|".repeat(columns.len()))
}

fn failovers(text: &mut String, summary: &Summary, entrants: &[LeagueRow<'_>], faults: &[&str]) -> std::fmt::Result {
    writeln!(
        text,
        "From the loss of a lead to the next grant: median / 99th percentile, or the longest (lost leads).\n"
    )?;
    head(text, faults.iter().map(|fault| escaped(fault)))?;
    for entrant in entrants {
        let cells: Vec<String> = faults.iter().map(|fault| entrant.failover(summary, fault)).collect();
        writeln!(text, "| {} | {} |", escaped(entrant.name), cells.join(" | "))?;
    }
    let floors = entrants.iter().flat_map(|entrant| &entrant.cells);
    let floors: Vec<Nanos> = floors.filter_map(|cell| cell.failover.floor.as_ref()?.p50).collect();
    if let (Some(least), Some(most)) = (floors.iter().min(), floors.iter().max()) {
        let medians = said_between(*least, *most);
        writeln!(text, "\nFloor, deleted to told to listed without any election: {medians} in the median.")?;
    }
    writeln!(text, "❌ failed, ❔ inconclusive: the report says what was seen.\n")
}

fn costs(text: &mut String, entrants: &[LeagueRow<'_>]) -> std::fmt::Result {
    let columns = [
        "beliefs by",
        "wake-ups a loss",
        "requests a loss",
        "overlaps/handovers·injections",
        "stale writes/handovers·injections",
        "no accepted write (longest)",
        "of the time",
        "enrolments/s",
        "memory a candidate",
        "threads a candidate",
    ];
    head(text, columns.into_iter().map(str::to_owned))?;
    for entrant in entrants {
        let cells = [
            entrant.belief(),
            entrant.range(|fan_out| fan_out.woken.map(|(_, median, most)| (median, most))),
            entrant.range(|fan_out| fan_out.requests),
            entrant.seen(|cell| (cell.split_brain.active, cell.split_brain.active_max_ns)),
            entrant.seen(|cell| (cell.writes.unfenced, 0)),
            said(entrant.cells.iter().map(|cell| cell.effect.longest_ns).max().unwrap_or(0)),
            share(entrant.mean(|cell| Some(cell.effect.without_write)).unwrap_or(0.0)),
            entrant.mean(enrolled_a_second).map_or_else(|| NOTHING.to_owned(), |rate| count(whole(rate))),
            entrant.mean(memory).map_or_else(|| NOTHING.to_owned(), memory_kb),
            entrant
                .mean(|cell| cell.programs.threads_per_candidate)
                .map_or_else(|| NOTHING.to_owned(), |threads| format!("{threads:.1}")),
        ];
        writeln!(text, "| {} | {} |", escaped(entrant.name), cells.join(" | "))?;
    }
    Ok(())
}

/// The entrants, their ensemble and machine, and the time of the run.
fn circumstances(text: &mut String, summary: &Summary, entrants: &[LeagueRow<'_>]) -> std::fmt::Result {
    let facts = facts(summary).into_iter();
    let mut told: Vec<String> = facts.map(|fact| format!("{}: {}", fact.name, fact.value)).collect();
    for entrant in entrants {
        let names: BTreeSet<&str> =
            entrant.cells.iter().flat_map(|cell| &cell.programs.names).map(String::as_str).collect();
        if !names.is_empty() {
            told.push(format!("{} is {}", entrant.name, names.into_iter().collect::<Vec<_>>().join(", ")));
        }
    }
    writeln!(text)?;
    told.iter().try_for_each(|line| writeln!(text, "- {}", escaped(line)))
}

fn enrolled_a_second(cell: &CellSummary) -> Option<f64> {
    let ns = cell.enrolment.all_led_ns.filter(|ns| *ns > 0)?;
    Some(cell.enrolment.candidates as f64 * 1e9 / ns as f64)
}

fn memory(cell: &CellSummary) -> Option<f64> {
    let candidates = Some(cell.enrolment.candidates).filter(|candidates| *candidates > 0)?;
    Some(cell.enrolment.rss_kb? as f64 / candidates as f64)
}

impl LeagueRow<'_> {
    /// All its cells under one fault.
    fn under<'a>(&'a self, fault: &'a str) -> impl Iterator<Item = &'a CellSummary> {
        self.cells.iter().copied().filter(move |cell| cell.info.fault == fault)
    }

    fn failover(&self, summary: &Summary, fault: &str) -> String {
        let Some(first) = self.under(fault).next() else { return NOTHING.to_owned() };
        let verdict = self.under(fault).fold(Verdict::Pass, |worst, cell| worst.merge(cell.verdict));
        let mark = match verdict {
            Verdict::Pass => "",
            Verdict::Inconclusive => " ❔",
            Verdict::Fail => " ❌",
        };
        let pool = first.info.repetition.as_ref().and_then(|one| summary.pools.iter().find(|pool| pool.name == one.of));
        let whole = pool.map_or(&first.failover.whole, |pool| &pool.failover.whole);
        let kept: u64 = self.under(fault).map(|cell| cell.effect.hung_leads).sum();
        match whole {
            Some(d) if d.n + d.censored > 0 => format!("{}{mark}", times(d)),
            _ if kept > 0 => format!("{} kept{mark}", count(kept)),
            _ => format!("none lost{mark}"),
        }
    }

    fn belief(&self) -> String {
        let by = |cell: &&CellSummary| cell.programs.belief.map_or("report", |grade| grade.name());
        let mut all: Vec<&str> = self.cells.iter().map(by).collect();
        all.sort_unstable();
        all.dedup();
        all.join(" or ")
    }

    /// Range of the medians of all its cells, and the overall maximum.
    fn range(&self, of: impl Fn(&FanOutSection) -> Option<(u64, u64)>) -> String {
        let all: Vec<(u64, u64)> = self.cells.iter().filter_map(|cell| of(&cell.fan_out)).collect();
        let (Some(least), Some(most)) = (all.iter().map(|one| one.0).min(), all.iter().map(|one| one.0).max()) else {
            return NOTHING.to_owned();
        };
        let worst = all.iter().map(|one| one.1).max().unwrap_or(most);
        let middle = if least == most { count(least) } else { format!("{} to {}", count(least), count(most)) };
        if worst > most { format!("{middle}, at most {}", count(worst)) } else { middle }
    }

    /// How often something was observed, under which faults, and its longest duration.
    fn seen(&self, of: impl Fn(&CellSummary) -> (Rate, Nanos)) -> String {
        let all = Rate::pooled(self.cells.iter().map(|cell| of(cell).0));
        let longest = self.cells.iter().map(|cell| of(cell).1).max().unwrap_or(0);
        let mut faults: Vec<(&str, u64)> = Vec::new();
        for cell in &self.cells {
            match faults.iter_mut().find(|(fault, _)| *fault == cell.info.fault) {
                Some((_, seen)) => *seen += of(cell).0.seen,
                None => faults.push((&cell.info.fault, of(cell).0.seen)),
            }
        }
        let faults = faults.iter().filter(|(_, seen)| *seen > 0);
        let mut told: Vec<String> =
            faults.map(|(fault, seen)| format!("{} {}", escaped(fault), count(*seen))).collect();
        told.extend((longest > 0).then(|| format!("{} at most", duration(longest))));
        if !told.is_empty() {
            return format!("{} ({})", rate_short(&all), told.join(", "));
        }
        let known = RatesByFault::of(self.cells.iter().copied(), |cell| of(cell).0);
        rate_short(known.as_ref().map_or(&all, RatesByFault::rate))
    }

    fn mean(&self, of: impl Fn(&CellSummary) -> Option<f64>) -> Option<f64> {
        let all: Vec<f64> = self.cells.iter().filter_map(|cell| of(cell)).collect();
        (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
    }
}

fn times(d: &Distribution) -> String {
    let median = d.p50.map_or_else(|| "censored".to_owned(), said);
    format!("{median} / {} ({})", tail_short(d, false), count(d.n + d.censored))
}
