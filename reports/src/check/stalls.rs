//! Did the harness itself keep up? A process that did not run for longer than T/10 could not observe or act as it
//! should have.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::Finding;
use super::section::Section;
use super::words::moment;
use crate::index::{Index, LossOutcome, Stall};
use crate::stats::spans::{Span, touches, union};
use hustings_record::words::duration;
use hustings_record::{EvidenceSource, Nanos};

/// Times in which processes of the harness did not run of their own accord, as far as they share a moment with the measured window
/// (from the beginning of *measure* to that of *tear-down*); each counts with its whole length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stalls {
    pub count: u64,
    pub longest_ns: Nanos,
    /// Stalls longer than T/10, which make what they cover inconclusive.
    pub over_limit: u64,
    /// Servers that count their own pauses: none of them was longer, in milliseconds.
    #[serde(default)]
    pub servers_ms: BTreeMap<u32, f64>,
}

impl Section for Stalls {
    const NAME: &'static str = "stalls";
    const ABOUT: &'static str = "Did the harness itself keep up: how long its own processes did not run.";
    const RESTS_ON: &'static [EvidenceSource] = &[EvidenceSource::Process];

    fn applies(_: &Index<'_>) -> bool {
        true
    }

    fn check(index: &Index<'_>) -> Finding<Self> {
        let mut finding = Finding::default();
        let limit = index.stall_limit();
        let window = index.measured();
        let is_measured = |stall: &Stall| stall.from < window.1 && window.0 < stall.to;
        let own = || index.lives.stalls.iter().filter(|s| s.own > 0 && is_measured(s));
        let result = Self {
            count: own().count() as u64,
            longest_ns: own().map(|s| s.own).max().unwrap_or(0),
            over_limit: own().filter(|s| s.own > limit).count() as u64,
            servers_ms: index
                .servers
                .pauses()
                .into_iter()
                .map(|(server, pauses)| (server, pauses.longest_ms))
                .collect(),
        };
        for (server, ms) in result.servers_ms.iter().filter(|(_, ms)| **ms * 1e6 > limit as f64) {
            finding.note(format!("server {server} says that it paused, for {ms} ms at most at a time"));
        }
        let matters = matters(index);
        for stall in index.lives.long_stalls(limit) {
            let who = &stall.who;
            let text = format!("{who} did not run for {} at {}", duration(stall.own), moment(index, stall.from));
            if is_measured(stall) && touches(&matters, (stall.from, stall.to)) {
                let text = format!("{text}, while a fault or a handover was being measured");
                // A process that was busy itself for that long would be so again in a repetition.
                let was_kept_waiting = stall.host.is_none() || stall.own.saturating_sub(stall.waited) <= limit;
                if was_kept_waiting { finding.inconclusive_by_stall(text) } else { finding.inconclusive(text) }
            } else if is_measured(stall) {
                finding.note(text);
            } else {
                finding.note(format!("{text}, outside of the measured time"));
            }
        }
        finding.headline(format!(
            "{} stalls, longest {}; {} longer than T/10 = {}",
            result.count,
            duration(result.longest_ns),
            result.over_limit,
            duration(limit),
        ));
        finding.section = result;
        finding
    }
}

/// Times in which faults acted or leadership changed hands.
fn matters(index: &Index<'_>) -> Vec<Span> {
    let mut spans: Vec<Span> = index.faults.all.iter().map(|f| (f.active.0, f.active.1.max(f.active.0 + 1))).collect();
    spans.extend(index.losses.all.iter().filter_map(|loss| match loss.outcome {
        LossOutcome::Completed { successor } => Some((
            loss.effect,
            index.terms.all[successor].ended.0.min(index.terms.all[successor].granted.unwrap_or(loss.effect) + 1),
        )),
        LossOutcome::Censored { at } => Some((loss.effect, at)),
        LossOutcome::Survived => None,
    }));
    spans.extend(index.losses.unplanned.iter().map(|u| (u.at, index.terms.all[u.successor].grant.max(u.at + 1))));
    union(spans)
}
