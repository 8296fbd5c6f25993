//! The last observed state of a cell's servers: which serve and which leads. Faults choose target servers by it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use hustings_record::{Event, Nanos, ServerState};

/// Observations recorded at a time.
const LOOKS_MAX: usize = 500;

/// The last observed state of the servers; empty in cells that do not watch them.
#[derive(Default)]
pub struct ServerObservations {
    seen: RefCell<BTreeMap<u32, ObservedServers>>,
}

pub(super) struct ObservedServers {
    state: ServerState,
    /// When the last request whose answer showed this state was sent, and when the first such answer arrived.
    asked: Nanos,
    since: Nanos,
    pub(super) looks: u64,
    pub(super) longest_gap: Nanos,
    /// Observations not recorded yet: when the first was requested, and for each its delay after the previous one and
    /// its duration.
    fresh: (Nanos, Vec<(Nanos, Nanos)>),
}

impl ObservedServers {
    /// The observations not recorded yet.
    pub(super) fn looks(&mut self, server: u32) -> Option<Event> {
        let (t, looks) = std::mem::take(&mut self.fresh);
        (!looks.is_empty()).then_some(Event::ServerLooks { t, server, looks })
    }
}

impl ServerObservations {
    /// The leading server. If several claim to lead, the one with the most recent claim.
    #[must_use]
    pub fn leader(&self) -> Option<u32> {
        let seen = self.seen.borrow();
        let leading = seen.iter().filter(|(_, seen)| seen.state == ServerState::Leading);
        leading.max_by_key(|(_, seen)| seen.since).map(|(&server, _)| server)
    }

    /// Ids of the serving servers.
    #[must_use]
    pub fn serving(&self) -> BTreeSet<u32> {
        self.seen.borrow().iter().filter(|(_, seen)| seen.state.serves()).map(|(&server, _)| server).collect()
    }

    /// How many servers have been observed so far.
    pub(super) fn count(&self) -> usize {
        self.seen.borrow().len()
    }

    /// Forgets all servers, and returns what was known of each.
    pub(super) fn clear(&self) -> BTreeMap<u32, ObservedServers> {
        self.seen.take()
    }

    /// Takes in an answer. Returns the event of a new state, and from time to time the observations so far.
    pub(super) fn take(
        &self,
        server: u32,
        asked: Nanos,
        answered: Nanos,
        (state, zxid): (ServerState, Option<i64>),
    ) -> Vec<Event> {
        let mut seen = self.seen.borrow_mut();
        let fresh = !seen.contains_key(&server);
        let known = seen.entry(server).or_insert_with(|| ObservedServers {
            state,
            asked,
            since: answered,
            looks: 0,
            longest_gap: 0,
            fresh: Default::default(),
        });
        known.looks += 1;
        let gap = asked - known.asked;
        known.longest_gap = known.longest_gap.max(gap);
        if known.fresh.1.is_empty() {
            // The first observation has nothing before it: it counts from its own time.
            known.fresh = (asked, vec![(gap, answered - asked)]);
        } else {
            known.fresh.1.push((gap, answered - asked));
        }
        let mut events = Vec::new();
        if known.fresh.1.len() >= LOOKS_MAX {
            events.extend(known.looks(server));
        }
        let before = std::mem::replace(&mut known.asked, asked);
        if fresh || known.state != state {
            (known.state, known.since) = (state, answered);
            events.push(Event::ServerState { from: before, to: answered, server, state, zxid });
        }
        events
    }
}

#[cfg(test)]
mod tests {
    use hustings_record::{Event, ServerState};

    use super::ServerObservations;

    #[test]
    fn changes_are_told_between_the_questions_that_bracket_them() {
        use ServerState::{Down, Following, Leading, NotServing};
        let servers = ServerObservations::default();
        let script = [Following, Following, Down, NotServing, NotServing, Leading];
        let events: Vec<Event> = (0..)
            .zip(script)
            .flat_map(|(n, state)| servers.take(1, 10 * n, 10 * n + 3, (state, state.serves().then_some(7))))
            .collect();
        let state = |from, to, state, zxid| Event::ServerState { from, to, server: 1, state, zxid };
        assert_eq!(
            events,
            [
                state(0, 3, Following, Some(7)),
                state(10, 23, Down, None),
                state(20, 33, NotServing, None),
                state(40, 53, Leading, Some(7))
            ]
        );
        assert_eq!((servers.leader(), servers.serving().len()), (Some(1), 1));
        let (looks, t) = (vec![(0, 3), (10, 3), (10, 3), (10, 3), (10, 3), (10, 3)], 0);
        assert_eq!(servers.clear().get_mut(&1).unwrap().looks(1), Some(Event::ServerLooks { t, server: 1, looks }));
    }

    #[test]
    fn of_two_servers_that_say_that_they_lead_the_younger_one_does() {
        let servers = ServerObservations::default();
        servers.take(1, 0, 1, (ServerState::Leading, None));
        servers.take(2, 0, 5, (ServerState::Leading, None));
        assert_eq!(servers.leader(), Some(2));
    }
}
