//! How the servers were watched, and what a picture of them needs: bars of states, faults, gaps in the writes, groups led.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::unavailable::ServerUnavailable;
use super::write_gaps::{self, WriteGap, WriteProbes};
use crate::index::{Index, ServerStateSpan};
use hustings_record::{FaultKind, Nanos, ServerState};

/// Maximum of drawn bars of server states.
const BARS_MAX: usize = 2_000;
/// Maximum of points of the curve of groups led.
const LED_MAX: usize = 1_000;

/// A server in one state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerBar {
    pub server: u32,
    pub state: ServerState,
    pub from: Nanos,
    pub to: Nanos,
}

/// How the servers were watched, and what else belongs into a picture of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerWatchSection {
    pub from: Nanos,
    pub to: Nanos,
    /// The stated time from one look at a server to the next, and the longest that was needed.
    pub every_ns: Option<Nanos>,
    pub longest_gap_ns: Nanos,
    /// Times in which the quorum was not seen to be served, and the same leader led on.
    pub lulls: u64,
    pub faults: Vec<ServerFault>,
    /// How many groups somebody certainly led, from each of these times on.
    pub led: Vec<(Nanos, u64)>,
    pub unavailable: Vec<ServerUnavailable>,
    /// None: no probe wrote.
    #[serde(default)]
    pub writes: Option<WriteProbes>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerFault {
    pub id: u32,
    pub kind: FaultKind,
    /// None named: all of them.
    pub servers: Vec<u32>,
    pub from: Nanos,
    pub to: Nanos,
    pub verified: bool,
    /// The longest gap in the writes under it, where no election came of it: an election has its own.
    #[serde(default)]
    pub writes: Option<WriteGap>,
}

/// `had_election`: whether an election came of the fault with this id.
pub(super) fn watch(
    index: &Index<'_>,
    unavailable: Vec<ServerUnavailable>,
    had_election: impl Fn(u32) -> bool,
) -> ServerWatchSection {
    let servers = &index.servers;
    let first = servers.all.values().filter_map(|s| s.state_spans.first()).map(|s| s.began.0).min();
    let from = servers.watch.map(|w| w.0).or(first).unwrap_or(index.span.0);
    let faults = index.faults.on_servers().map(|f| ServerFault {
        id: f.id,
        kind: f.kind,
        servers: f.servers.to_vec(),
        from: f.injected.as_ref().map_or(f.t, |p| p.from),
        to: f.active.1,
        verified: f.verified(),
        writes: write_gaps::of_fault(index, f).filter(|_| !had_election(f.id)),
    });
    ServerWatchSection {
        from,
        to: servers.until.max(from),
        every_ns: servers.watch.map(|w| w.1),
        longest_gap_ns: servers.all.values().map(|s| s.longest_gap).max().unwrap_or(0),
        lulls: servers.lulls.len() as u64,
        faults: faults.collect(),
        led: led(index),
        unavailable,
        writes: write_gaps::probes(index),
    }
}

pub(super) fn bars(index: &Index<'_>) -> Vec<ServerBar> {
    let state_spans =
        index.servers.all.iter().flat_map(|(&id, s)| s.state_spans.iter().map(move |state_span| (id, state_span)));
    // Drawn from the first poll that showed a state to the last one that may have.
    let bar = |(server, s): (u32, &ServerStateSpan)| ServerBar {
        server,
        state: s.state,
        from: s.began.1,
        to: s.ended.1.max(s.began.1),
    };
    state_spans.map(bar).take(BARS_MAX).collect()
}

/// Number of groups with a certain leader, from each of these times on.
fn led(index: &Index<'_>) -> Vec<(Nanos, u64)> {
    let mut changes: BTreeMap<Nanos, i64> = BTreeMap::new();
    for &group in index.terms.by_group.keys() {
        for span in index.terms.led(group) {
            *changes.entry(span.0).or_default() += 1;
            *changes.entry(span.1).or_default() -= 1;
        }
    }
    let mut now = 0_i64;
    let steps: Vec<(Nanos, u64)> = changes
        .into_iter()
        .map(|(t, change)| {
            now += change;
            (t, u64::try_from(now).unwrap_or(0))
        })
        .collect();
    thinned(steps)
}

/// Thins steps to those that a picture can show: the lowest and the last of each stretch.
fn thinned(steps: Vec<(Nanos, u64)>) -> Vec<(Nanos, u64)> {
    let each = steps.len().div_ceil(LED_MAX / 2).max(1);
    if each == 1 {
        return steps;
    }
    let lowest_and_last = |chunk: &[(Nanos, u64)]| {
        let lowest = chunk.iter().copied().min_by_key(|s| s.1);
        lowest.into_iter().chain(chunk.last().copied()).collect::<Vec<_>>()
    };
    let mut kept: Vec<(Nanos, u64)> = steps.chunks(each).flat_map(lowest_and_last).collect();
    kept.dedup();
    kept
}
