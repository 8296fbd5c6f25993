//! The znodes by which slots could lead, as their connections showed them over time.

use std::collections::{BTreeMap, VecDeque};

use hustings_record::Nanos;

use crate::process::clock;
use crate::witness::{EphemeralNode, ObservedSlot, Slots};

/// Number of a slot's states that are kept: a grant is compared with them when it is heard.
const STATES_KEPT: usize = 256;

/// The znodes by which a slot can lead, until that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LeadableZnodes {
    nodes: Vec<EphemeralNode>,
    newest: Option<EphemeralNode>,
}

impl LeadableZnodes {
    fn of(seen: &ObservedSlot) -> Self {
        let nodes = seen.nodes.iter().filter_map(|node| seen.rests_on(Some(node.name.as_str())).cloned());
        Self { nodes: nodes.collect(), newest: seen.rests_on(None).cloned() }
    }

    /// The named one, or else the newest.
    fn rests_on(&self, named: Option<&str>) -> Option<&EphemeralNode> {
        let named = self.nodes.iter().rev().find(|node| named == Some(node.name.as_str()));
        named.or(self.newest.as_ref())
    }
}

/// The basis of a grant, by the program's report.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReportedBasis<'a> {
    pub(super) node: Option<&'a str>,
    pub(super) token: Option<i64>,
    pub(super) session: Option<i64>,
}

impl ReportedBasis<'_> {
    /// Whether its name and token are this znode's. A token is required, and is wrong only if the znode's is known.
    pub(super) fn is(self, znode: &EphemeralNode) -> bool {
        self.token.is_some() && self.means(znode)
    }

    /// Whether its session is this znode's. A session is required.
    pub(super) fn is_under(self, znode: &EphemeralNode) -> bool {
        self.session == Some(znode.session)
    }

    /// Whether it identifies this znode: by the token, or else by the session, and by the name if there is one.
    fn means(self, znode: &EphemeralNode) -> bool {
        self.node.is_none_or(|node| node == znode.name)
            && match self.token {
                Some(token) => znode.czxid.is_none_or(|czxid| czxid == token),
                None => self.is_under(znode),
            }
    }
}

/// What a program's connections showed of its slots, state after state.
#[derive(Debug)]
pub(super) struct WireHistory {
    /// By slot: since when each state held; the last one holds now.
    states: BTreeMap<u32, VecDeque<(Nanos, LeadableZnodes)>>,
}

impl WireHistory {
    pub(super) fn of(slots: &[u32]) -> Self {
        Self { states: slots.iter().map(|&slot| (slot, VecDeque::new())).collect() }
    }

    /// Notes the states at `t`.
    pub(super) fn note(&mut self, t: Nanos, slots: &Slots) {
        for (&slot, states) in &mut self.states {
            let Some(state) = slots.slot(slot).map(LeadableZnodes::of) else { continue };
            if states.back().is_some_and(|(_, last)| *last == state) {
                continue;
            }
            if states.len() == STATES_KEPT {
                states.pop_front();
            }
            states.push_back((t, state));
        }
    }

    /// The znode with which a grant of `t0` to `t1` is compared when it is heard: the one that the slot has now. If that
    /// is another one than reported, it is the last one that the slot had at `t1`, or else since `t0`, provided that
    /// name and token (without a token: name and session) are those of that one: a line that comes late may be true.
    ///
    /// This hides one thing. A program passes if it leads by a new znode, names its previous one with that one's token,
    /// and dates the grant back to before it had the new one. The times must not precede the end of the term before
    /// (`reports_in_order`), nor the line by much (`reports_without_delay`).
    pub(super) fn behind(&self, slot: u32, said: ReportedBasis<'_>, times: (Nanos, Nanos)) -> Option<&EphemeralNode> {
        let states = self.states.get(&slot)?;
        let now = states.back().and_then(|(_, state)| state.rests_on(said.node));
        if now.is_some_and(|node| said.means(node)) {
            return now;
        }
        let then = last_within(states, said.node, times);
        // Only what is known can show that a znode was meant which is gone.
        then.filter(|node| (node.czxid.is_some() || said.token.is_none()) && said.means(node)).or(now)
    }
}

/// The znode that a slot had in the last of the states of that time that has one.
fn last_within<'a>(
    states: &'a VecDeque<(Nanos, LeadableZnodes)>,
    named: Option<&str>,
    (t0, t1): (Nanos, Nanos),
) -> Option<&'a EphemeralNode> {
    let (t0, t1) = (t0.saturating_sub(clock::uncertainty()), t1.saturating_add(clock::uncertainty()));
    let mut held_until = Nanos::MAX;
    for (from, state) in states.iter().rev() {
        if *from <= t1
            && held_until >= t0
            && let Some(node) = state.rests_on(named)
        {
            return Some(node);
        }
        held_until = *from;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::op_code;
    use crate::witness::{DecodedMessage, HostSlots, PendingRequest, RelayEvent, ReplyContent};

    const SLOT: u32 = 4;
    const SESSION: i64 = 70;
    /// Far more than the clock's uncertainty.
    const UNIT: Nanos = 100_000_000;

    /// A slot's connection, and what it showed.
    struct Wire {
        slots: Slots,
        history: WireHistory,
    }

    impl Wire {
        fn new() -> Self {
            let slots = Slots::new(HostSlots { candidates: vec![(SLOT, "/e".to_owned())], queue: true });
            let wire = Self { slots, history: WireHistory::of(&[SLOT]) };
            wire.begins(1, SESSION)
        }

        fn begins(mut self, at: Nanos, session: i64) -> Self {
            let (password, asked_ms, timeout_ms) = ([1; 16], 2_000, 2_000);
            self.shows(at, DecodedMessage::Established { session, password, asked_ms, timeout_ms, resumed: false });
            self
        }

        fn shows(&mut self, at: Nanos, message: DecodedMessage) {
            self.slots.take(at * UNIT, 1, &RelayEvent::Said(message), &mut |_| {});
            self.history.note(at * UNIT, &self.slots);
        }

        fn creates(mut self, at: Nanos, name: &str, czxid: i64) -> Self {
            let path = format!("/e/{name}");
            let asked = PendingRequest { xid: 1, op: op_code::CREATE, path: path.clone(), ephemeral: true };
            self.shows(at, DecodedMessage::Asked(asked.clone()));
            let shows = ReplyContent::Made(path);
            self.shows(at, DecodedMessage::Answered { asked, zxid: czxid, error: 0, shows });
            self
        }

        fn deletes(mut self, at: Nanos, name: &str) -> Self {
            let asked = PendingRequest { xid: 2, op: op_code::DELETE, path: format!("/e/{name}"), ephemeral: false };
            self.shows(at, DecodedMessage::Asked(asked.clone()));
            let shows = ReplyContent::Nothing;
            self.shows(at, DecodedMessage::Answered { asked, zxid: 1, error: 0, shows });
            self
        }

        /// A slot that has lost the znode by which it led, and has another one.
        fn with_second(names: [&str; 2]) -> Self {
            Self::new().creates(10, names[0], 100).deletes(20, names[0]).creates(30, names[1], 140)
        }

        /// Whether a grant of this time that is heard now is true. None: there is nothing to compare it with.
        fn confirms(&self, node: Option<&str>, token: i64, (t0, t1): (Nanos, Nanos)) -> Option<bool> {
            let said = ReportedBasis { node, token: Some(token), session: None };
            self.history.behind(SLOT, said, (t0 * UNIT, t1 * UNIT)).map(|node| said.is(node))
        }

        /// The same, of its session.
        fn confirms_session(&self, token: Option<i64>, session: i64, (t0, t1): (Nanos, Nanos)) -> Option<bool> {
            let said = ReportedBasis { node: None, token, session: Some(session) };
            self.history.behind(SLOT, said, (t0 * UNIT, t1 * UNIT)).map(|node| said.is_under(node))
        }
    }

    #[test]
    fn a_grant_that_is_heard_late_is_compared_with_the_znode_of_its_own_time() {
        let queue = Wire::with_second(["n-1", "n-2"]);
        assert_eq!(queue.confirms(Some("n-1"), 100, (11, 12)), Some(true));
        assert_eq!(queue.confirms(None, 100, (11, 12)), Some(true));
        assert_eq!(queue.confirms(Some("n-1"), 100, (15, 25)), Some(true), "it was lost before the line was written");
        assert_eq!(queue.confirms(Some("n-2"), 140, (31, 32)), Some(true));
        let lock = Wire::with_second(["lock", "lock"]);
        assert_eq!(lock.confirms(Some("lock"), 100, (11, 12)), Some(true));
        assert_eq!(lock.confirms(Some("lock"), 140, (31, 32)), Some(true));
        let gone = Wire::new().creates(10, "n-1", 100).deletes(20, "n-1");
        assert_eq!(gone.confirms(Some("n-1"), 100, (11, 12)), Some(true));
    }

    #[test]
    fn a_token_that_was_never_its_znode_s_is_wrong_however_late_it_is_heard() {
        let queue = Wire::with_second(["n-1", "n-2"]);
        for (node, token) in [(Some("n-1"), 99), (Some("n-1"), 140), (Some("n-2"), 100), (Some("n-9"), 100), (None, 99)]
        {
            for times in [(11, 12), (15, 25), (31, 32), (0, 40)] {
                assert_eq!(queue.confirms(node, token, times), Some(false), "{node:?}, {token}, {times:?}");
            }
        }
        let lock = Wire::with_second(["lock", "lock"]);
        assert_eq!(lock.confirms(Some("lock"), 99, (11, 12)), Some(false));
    }

    #[test]
    fn a_znode_that_was_gone_or_replaced_or_not_there_yet_is_no_basis_of_a_grant() {
        let queue = Wire::with_second(["n-1", "n-2"]);
        for times in [(31, 32), (15, 32), (22, 25), (2, 5)] {
            assert_eq!(queue.confirms(Some("n-1"), 100, times), Some(false), "{times:?}");
            assert_eq!(queue.confirms(None, 100, times), Some(false), "{times:?}");
        }
    }

    #[test]
    fn a_session_is_compared_with_that_of_the_znode_of_the_grant_s_own_time() {
        let queue = Wire::new().creates(10, "n-1", 100).deletes(20, "n-1").begins(25, 71).creates(30, "n-2", 140);
        for (first, second) in [(Some(100), Some(140)), (None, None)] {
            assert_eq!(queue.confirms_session(first, SESSION, (11, 12)), Some(true), "a line that comes late");
            assert_eq!(queue.confirms_session(second, 71, (31, 32)), Some(true));
            assert_eq!(queue.confirms_session(second, SESSION, (31, 32)), Some(false), "its former session");
            for times in [(11, 12), (31, 32), (0, 40)] {
                assert_eq!(queue.confirms_session(first, 1, times), Some(false), "{first:?}, {times:?}");
                assert_eq!(queue.confirms_session(second, 1, times), Some(false), "{second:?}, {times:?}");
            }
        }
    }

    #[test]
    fn a_slot_without_a_znode_is_compared_with_none() {
        assert_eq!(Wire::new().confirms(None, 100, (5, 6)), None);
        assert_eq!(Wire::new().creates(10, "n-1", 100).deletes(20, "n-1").confirms(None, 99, (11, 12)), None);
    }

    #[test]
    fn a_bounded_number_of_states_is_kept() {
        let mut wire = Wire::new();
        for i in 0..STATES_KEPT as Nanos {
            let name = format!("n-{i}");
            wire = wire.creates(10 + 2 * i, &name, 100).deletes(11 + 2 * i, &name);
        }
        assert_eq!(wire.history.states[&SLOT].len(), STATES_KEPT);
    }
}
