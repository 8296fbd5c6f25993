//! Did the harness itself keep up? A process that did not run for longer than T/10 could not see or do what it should have.

use super::{Finding, moment, time};
use crate::index::{Index, Outcome};
use crate::stats::spans::{Span, touches, union};
use crate::summary::{CellSummary, Stalls};

pub(super) fn check(index: &Index<'_>, summary: &mut CellSummary) -> Finding {
    let mut finding = Finding::default();
    let limit = index.timeout_or_asked() / 10;
    let own = || index.lives.stalls.iter().filter(|s| s.own > 0);
    let result = Stalls {
        count: own().count() as u64,
        longest_ns: own().map(|s| s.own).max().unwrap_or(0),
        over_limit: index.lives.long_stalls(limit).count() as u64,
    };
    let matters = matters(index);
    for stall in index.lives.long_stalls(limit) {
        let who = &index.lives.all[stall.life].writer;
        let text = format!("{who} did not run for {} at {}", time(stall.own), moment(index, stall.from));
        if touches(&matters, (stall.from, stall.to)) {
            finding.inconclusive(format!("{text}, while a fault or a handover was being measured"));
        } else {
            finding.note(text);
        }
    }
    finding.headline(format!(
        "{} stalls, longest {}; {} longer than T/10 = {}",
        result.count,
        time(result.longest_ns),
        result.over_limit,
        time(limit),
    ));
    summary.stalls = result;
    finding
}

/// When faults acted and leads changed hands.
fn matters(index: &Index<'_>) -> Vec<Span> {
    let mut spans: Vec<Span> = index.faults.all.iter().map(|f| (f.active.0, f.active.1.max(f.active.0 + 1))).collect();
    spans.extend(index.losses.all.iter().filter_map(|loss| match loss.outcome {
        Outcome::Completed { successor } => Some((
            loss.effect,
            index.terms.all[successor].ended.0.min(index.terms.all[successor].granted.unwrap_or(loss.effect) + 1),
        )),
        Outcome::Censored { at } => Some((loss.effect, at)),
        Outcome::Survived => None,
    }));
    spans.extend(index.losses.unplanned.iter().map(|u| (u.at, index.terms.all[u.successor].grant.max(u.at + 1))));
    union(spans)
}
