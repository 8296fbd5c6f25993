//! The servers of a cell as they were last seen: who serves, and who leads, which faults on servers aim by.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use hustings_record::{Event, Nanos, ServerState};

/// The servers as they were last seen; nothing in cells where nobody watches them.
#[derive(Default)]
pub struct ServersSeen {
    seen: RefCell<BTreeMap<u32, Seen>>,
}

pub(super) struct Seen {
    state: ServerState,
    /// When the last answer that showed this state was asked for, and when the first one was there.
    asked: Nanos,
    since: Nanos,
    pub(super) looks: u64,
    pub(super) longest_gap: Nanos,
}

impl ServersSeen {
    /// The server that leads: of several that say so, the one that has said so for the shortest time.
    #[must_use]
    pub fn leader(&self) -> Option<u32> {
        let seen = self.seen.borrow();
        let leading = seen.iter().filter(|(_, seen)| seen.state == ServerState::Leading);
        leading.max_by_key(|(_, seen)| seen.since).map(|(&server, _)| server)
    }

    /// Servers that serve.
    #[must_use]
    pub fn serving(&self) -> BTreeSet<u32> {
        self.seen.borrow().iter().filter(|(_, seen)| seen.state.serves()).map(|(&server, _)| server).collect()
    }

    /// How many servers were looked at so far.
    pub(super) fn count(&self) -> usize {
        self.seen.borrow().len()
    }

    /// Forgets all of them, and gives what was known of each.
    pub(super) fn clear(&self) -> BTreeMap<u32, Seen> {
        self.seen.take()
    }

    /// Takes in an answer. Gives the event of a state that is new.
    pub(super) fn take(
        &self,
        server: u32,
        asked: Nanos,
        answered: Nanos,
        (state, zxid): (ServerState, Option<i64>),
    ) -> Option<Event> {
        let mut seen = self.seen.borrow_mut();
        let fresh = !seen.contains_key(&server);
        let known = seen.entry(server).or_insert(Seen { state, asked, since: answered, looks: 0, longest_gap: 0 });
        known.looks += 1;
        known.longest_gap = known.longest_gap.max(asked - known.asked);
        let before = std::mem::replace(&mut known.asked, asked);
        if !fresh && known.state == state {
            return None;
        }
        (known.state, known.since) = (state, answered);
        Some(Event::ServerState { from: before, to: answered, server, state, zxid })
    }
}

#[cfg(test)]
mod tests {
    use hustings_record::{Event, ServerState};

    use super::ServersSeen;

    #[test]
    fn changes_are_told_between_the_questions_that_bracket_them() {
        use ServerState::{Down, Following, Leading, NotServing};
        let servers = ServersSeen::default();
        let script = [Following, Following, Down, NotServing, NotServing, Leading];
        let events: Vec<Event> = (0..)
            .zip(script)
            .filter_map(|(n, state)| servers.take(1, 10 * n, 10 * n + 3, (state, state.serves().then_some(7))))
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
    }

    #[test]
    fn of_two_servers_that_say_that_they_lead_the_younger_one_does() {
        let servers = ServersSeen::default();
        servers.take(1, 0, 1, (ServerState::Leading, None));
        servers.take(2, 0, 5, (ServerState::Leading, None));
        assert_eq!(servers.leader(), Some(2));
    }
}
