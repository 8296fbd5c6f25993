//! How long was no write acknowledged, by the probes? The servers' own states are not enough: followers of a stopped or
//! cut-off leader continue to report that they follow.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::Finding;
use crate::index::{Election, Fault, Index, Probes, WriteGap as Gap};
use crate::stats::spans::Span;
use hustings_record::Nanos;
use hustings_record::words::duration;

/// Maximum of drawn gaps.
const GAPS_MAX: usize = 2_000;
/// How long after the end of an election, or of a fault, a gap may begin and still belong to it: clients look for a server.
const AFTER_NS: Nanos = 1_000_000_000;

/// How long no write was acknowledged, as clients see it: probes write through every server, one write after the other, so
/// this includes their noticing of a dead connection, and their reconnecting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WriteGap {
    /// The last acknowledgement before.
    pub from: Nanos,
    /// The first one after; or the end of the probes.
    pub to: Nanos,
    /// Without the probes' interval: right after an acknowledgement nobody tried.
    pub least_ns: Nanos,
    /// From one acknowledgement to the next. None: the probes ended before the next, so only the least is known.
    pub most_ns: Option<Nanos>,
}

/// What the probes of a cell wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WriteProbes {
    pub from: Nanos,
    /// From an acknowledgement to the next write.
    pub every_ns: Nanos,
    /// None: the record does not say.
    pub acknowledged: Option<u64>,
    pub longest: Option<WriteGap>,
    /// For a picture; at most 2,000.
    pub gaps: Vec<(Nanos, Nanos)>,
}

/// The gap of an election: from its fault on, or from its loss if that fault caused an earlier election.
pub(super) fn of_election(index: &Index<'_>, election: &Election, fault: Option<&Fault<'_>>) -> Option<WriteGap> {
    let before = index.servers.elections.iter().take_while(|e| e.lost < election.lost).filter_map(|e| e.ended);
    let free_from = before.map(|ended| ended.1).max().unwrap_or(0);
    let injected = fault.map(injected).filter(|&t| t >= free_from);
    let from = injected.map_or(election.lost.0, |t| t.min(election.lost.0));
    within(index, (from, election.ended.map_or(index.servers.until, |ended| ended.1)))
}

/// The gap under a fault that caused no election.
pub(super) fn of_fault(index: &Index<'_>, fault: &Fault<'_>) -> Option<WriteGap> {
    within(index, (injected(fault), fault.active.1))
}

pub(super) fn probes(index: &Index<'_>) -> Option<WriteProbes> {
    let probes = index.probes.as_ref()?;
    Some(WriteProbes {
        from: probes.began,
        every_ns: probes.every,
        acknowledged: probes.acknowledged,
        longest: probes.longest().map(|gap| told(probes, gap)),
        gaps: probes.gaps.iter().take(GAPS_MAX).map(|g| (g.from, g.to)).collect(),
    })
}

/// Under a server fault, an outage without write attempts is inconclusive.
pub(super) fn demand<S>(index: &Index<'_>, finding: &mut Finding<S>) {
    let hit = index.info.fault_kind.hits_servers() || index.faults.on_servers().next().is_some();
    let lacking = match index.probes.as_ref().map(|p| p.acknowledged) {
        None => "no probe wrote",
        Some(None) => "the probes' writes were not counted to their end",
        Some(Some(0)) => "not a single write of the probes was acknowledged",
        Some(Some(_)) => return,
    };
    if hit {
        finding.inconclusive(format!("{lacking}: how long nothing could be written is not known"));
    }
}

/// In words, after "no write acknowledged".
pub(super) fn words(gap: &WriteGap) -> String {
    match gap.most_ns {
        Some(most) => format!("for {} to {}", duration(gap.least_ns), duration(most)),
        None => format!("for at least {}", duration(gap.least_ns)),
    }
}

fn injected(fault: &Fault<'_>) -> Nanos {
    fault.injected.as_ref().map_or(fault.t, |proof| proof.from)
}

fn within(index: &Index<'_>, window: Span) -> Option<WriteGap> {
    let probes = index.probes.as_ref()?;
    probes.longest_within((window.0, window.1.saturating_add(AFTER_NS))).map(|gap| told(probes, gap))
}

fn told(probes: &Probes, gap: &Gap) -> WriteGap {
    let most = gap.to - gap.from;
    let most_ns = (!gap.ended).then_some(most);
    WriteGap { from: gap.from, to: gap.to, least_ns: most.saturating_sub(probes.every), most_ns }
}
