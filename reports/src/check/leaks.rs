//! Do the servers hold more at the end than the candidates account for? An ephemeral znode that nobody stands behind keeps its
//! place in a queue for as long as its session lives, and watches that nobody waits for pile up.
//!
//! The servers count what all their clients hold, so that this is judged only where the run started them itself: there, besides
//! the candidates, only the observer watches, and nobody else has an ephemeral znode. What a fault or a change of leader may
//! have left for the servers to clear away, the session of a killed process or a connection that its client gave up, is gone
//! within 2 T; what came later than that before the count is allowed for, so that what is left over is there for good.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::doubt::fail_unless_stalled;
use super::finding::Finding;
use super::section::Section;
use crate::index::{Departed, Index};
use hustings_record::{Departure, Event, Grade, Nanos, SessionState};

/// A watch on everything below a path is in the counters once, or twice, by the servers' version.
const OBSERVER_WATCHES: u64 = 2;
/// What a busy machine may add.
const MARGIN_NS: Nanos = 1_000_000_000;

/// What the servers hold when the drain has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Leaks {
    /// Ephemeral znodes, at the server that has most of them.
    pub ephemerals: Held,
    /// Watches, at all servers together.
    pub watches: Held,
}

/// What the servers hold of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Held {
    pub count: u64,
    /// As many as can be accounted for.
    pub most: u64,
}

impl Held {
    /// Whether some of them are nobody's.
    #[must_use]
    pub fn leaks(self) -> bool {
        self.count > self.most
    }
}

impl Section for Leaks {
    const NAME: &'static str = "leaks";
    const ABOUT: &'static str =
        "Do the servers hold more znodes and watches at the end than the candidates account for?";
    const RESTS_ON: &'static [Grade] = &[Grade::Wire];

    /// Not in a cell so short that what an earlier one left behind may still be there. That the servers were asked at all is
    /// demanded elsewhere.
    fn applies(index: &Index<'_>) -> bool {
        let counted = Count::of(index);
        index.info.has_candidates() && index.info.own_servers && counted.is_some_and(|c| c.since > index.span.0)
    }

    fn check(index: &Index<'_>) -> Finding<Self> {
        let mut finding = Finding::default();
        let Some(counted) = Count::of(index) else {
            finding.inconclusive("the servers did not tell what they hold".into());
            return finding;
        };
        let mut most = at_rest(index);
        allow_for_changes(index, &counted, &mut most);
        let ephemerals = Held { count: counted.ephemerals, most: most.ephemerals };
        let watches = Held { count: counted.watches, most: most.watches };
        finding.headline(format!(
            "when the drain ended a server had {} ephemeral znodes, of {} at most, and all of them {} watches, of {} at most",
            ephemerals.count, ephemerals.most, watches.count, watches.most,
        ));
        let hosts: Vec<u16> = (0..index.info.hosts.len() as u16).collect();
        let stall = index.felt_stall(&hosts, (counted.at, counted.at));
        if ephemerals.leaks() {
            let Held { count, most } = ephemerals;
            let text = format!("a server has {count} ephemeral znodes, and the candidates stand behind {most} at most");
            fail_unless_stalled(&mut finding, index, stall, text);
        }
        if watches.leaks() {
            let Held { count, most } = watches;
            let text = format!("the servers hold {count} watches, and {most} at most are waited for");
            fail_unless_stalled(&mut finding, index, stall, text);
        }
        finding.section = Self { ephemerals, watches };
        finding
    }
}

/// What the servers told at the end of the measured window.
struct Count {
    at: Nanos,
    /// What was over by then has left nothing behind.
    since: Nanos,
    ephemerals: u64,
    watches: u64,
}

impl Count {
    fn of(index: &Index<'_>) -> Option<Self> {
        let (at, servers) = index.servers.end?;
        let told = |name: &'static str| servers.values().filter_map(move |server| server.get(name)).map(|&v| v as u64);
        Some(Self {
            at,
            since: since(index, at),
            ephemerals: told("ephemerals_count").max()?,
            watches: told("watch_count").reduce(u64::saturating_add)?,
        })
    }
}

/// A new leader of the ensemble counts every session's time anew.
pub(super) fn since(index: &Index<'_>, at: Nanos) -> Nanos {
    let limit = 2 * (index.timeout_or_asked() + index.tick) + MARGIN_NS;
    index.servers.outages.iter().rev().fold(at.saturating_sub(limit), |since, outage| {
        if outage.1 < since { since } else { since.min(outage.0.saturating_sub(limit)) }
    })
}

/// What can be accounted for.
struct Most {
    ephemerals: u64,
    watches: u64,
}

/// When nothing changes: in a queue each candidate has a znode, else each group has one; and each candidate waits with one
/// watch, for somebody's znode to go or, as a leader, its own. One watch more may be given back just as the servers are asked. The
/// client library of a program may have a watch of its own on each connection, as Curator's on the ensemble's configuration.
fn at_rest(index: &Index<'_>) -> Most {
    let groups = index.info.groups.len() as u64;
    let candidates = groups * u64::from(index.info.candidates_per_group);
    let queues = index.candidates.stands.values().flatten().any(|stand| stand.node.is_some());
    let left = index.candidates.departures.iter().flat_map(|(&cand, all)| all.iter().map(move |left| (cand, left)));
    let interrupted = left.filter(|&(cand, left)| interrupted(index, cand, left)).count() as u64;
    let of_libraries = if index.lives.has_programs() { candidates } else { 0 };
    Most {
        ephemerals: if queues { candidates } else { groups },
        watches: candidates + of_libraries + interrupted.max(1),
    }
}

/// Whether it was ordered to leave between question and answer: then it may have left a watch behind, until that fires.
pub(super) fn interrupted(index: &Index<'_>, cand: u32, left: &Departed<'_>) -> bool {
    let Departure::Resigned { delete } = left.how else { return false };
    let ordered = delete.map_or(left.t.saturating_sub(1), |(sent, _)| sent);
    let Some(stood) = index.candidates.standing(cand, ordered) else { return false };
    index.notices.busy(cand, stood.from, ordered)
        || index.candidates.reconnected_within(left.session, ordered, MARGIN_NS)
}

/// What the servers may hold besides on account of what has just changed, and of the observer.
fn allow_for_changes(index: &Index<'_>, counted: &Count, most: &mut Most) {
    let mut users: BTreeMap<i64, u64> = BTreeMap::new();
    for stand in index.candidates.stands.values().flatten() {
        *users.entry(stand.session).or_default() += 1;
    }
    let (mut observers, mut observed) = (1, true);
    let lately = |t: Nanos| (counted.since..=counted.at).contains(&t);
    for (_, event) in index.cell.events() {
        match event {
            // What the life before it had may still be there.
            Event::Incarnation { t, .. } if lately(*t) => {
                most.ephemerals += 1;
                most.watches += 1;
            }
            // The next watch may be armed before the last one is given back.
            Event::Notified { t, .. } if lately(*t) => most.watches += 1,
            // The server that it was connected to may not have missed it yet.
            Event::State { t, session, state: SessionState::Disconnected } if lately(*t) => {
                most.watches += users.get(session).copied().unwrap_or(0);
            }
            Event::ObserverState { t, connected: false } if lately(*t) => observers += 1,
            Event::ObserverWeight(weight) => observed = weight.per_deletion > 0.0,
            _ => {}
        }
    }
    most.watches += if observed { observers * OBSERVER_WATCHES } else { 0 };
}
