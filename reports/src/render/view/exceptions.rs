//! Handovers that are no plain sample, as a table.

use serde::Serialize;

use crate::excerpts::exceptions::{Exception, ExceptionKind};
use crate::render::{clean, format};
use crate::summary::CellSummary;

#[derive(Serialize)]
pub(super) struct Exceptions {
    /// How many there are of each kind.
    headline: String,
    /// What, group, when, who lost it, who led next, how long it took, and what took it.
    rows: Vec<[String; 7]>,
    left_out: u64,
}

impl Exceptions {
    /// None where all handovers are plain samples.
    pub(super) fn new(cell: &CellSummary) -> Option<Self> {
        let h = &cell.handovers;
        let counts = [
            (h.censored, "not ended"),
            (h.unplanned, "unplanned"),
            (h.unverified, "explained by no verified fault"),
            (h.retaken, "retaken"),
        ];
        let seen = counts.iter().filter(|(n, _)| *n > 0);
        let headline: Vec<String> = seen.map(|(n, what)| format!("{} {what}", format::count(*n))).collect();
        let all: u64 = counts.iter().map(|(n, _)| n).sum();
        (!cell.exceptions.is_empty()).then(|| Self {
            headline: headline.join(", "),
            rows: cell.exceptions.iter().map(row).collect(),
            left_out: all.saturating_sub(cell.exceptions.len() as u64),
        })
    }
}

fn row(one: &Exception) -> [String; 7] {
    let who = |(host, candidate): &(String, u32)| format!("{} #{candidate}", clean::short(host, 40));
    let (what, lasted) = match one.kind {
        ExceptionKind::Censored => ("not ended", format!("over {}", format::duration(one.lasted))),
        ExceptionKind::Retaken => ("retaken", format::duration(one.lasted)),
        ExceptionKind::Unplanned => ("unplanned", format::duration(one.lasted)),
        ExceptionKind::Unverified => ("no verified fault", format::duration(one.lasted)),
    };
    [
        what.into(),
        clean::short(&one.group, 60),
        format!("+{}", format::duration(one.at)),
        who(&one.loser),
        one.next.as_ref().map_or_else(|| "nobody".into(), who),
        lasted,
        one.fault.map_or_else(|| format::NOTHING.into(), |(id, kind)| format!("{id} {kind}")),
    ]
}
