//! One group from the observer's view: the znodes that leadership can rest on, and the notifications about them. The
//! changes of a group are handled one after the other. For a new znode the observer must first query its session; other
//! groups do not wait for that.

use std::collections::{BTreeMap, VecDeque};

/// Name and session of every znode that leadership can rest on, by czxid: the oldest one leads.
pub(super) type LeadZnodes = BTreeMap<i64, (String, i64)>;

/// A change of which the observer was notified.
#[derive(Clone, Debug)]
pub(super) struct ObservedChange {
    pub(super) name: String,
    pub(super) created: bool,
    /// It happened between these times; the notification came at the second one.
    pub(super) from: u64,
    pub(super) to: u64,
}

/// From some time within these bounds on, the znode with this czxid owns the leadership; None: no owner.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OwnershipInterval {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) owner: Option<(i64, String, i64)>,
}

#[derive(Debug, Default)]
pub(super) struct ObservedGroup {
    nodes: LeadZnodes,
    /// The czxid last reported as the owner's.
    owner: Option<i64>,
    /// In order of arrival. The first one, a creation, waits for a reply.
    waiting: VecDeque<ObservedChange>,
    /// The group must be read again: its owner was known until then.
    unread: Option<u64>,
    /// Number of readings and losses so far. Replies to earlier queries are stale.
    readings: u64,
}

impl ObservedGroup {
    /// The czxid of the znode of this name under this session, if it is known to exist. None for names without a
    /// sequence number, which recur.
    pub(super) fn czxid_of(&self, node: &str, session: i64) -> Option<i64> {
        let comes_once = node.len() > 10 && node.bytes().rev().take(10).all(|byte| byte.is_ascii_digit());
        let mut nodes = self.nodes.iter().filter(|_| comes_once);
        nodes.find(|(_, (name, of))| name == node && *of == session).map(|(czxid, _)| *czxid)
    }

    /// Handles a change.
    pub(super) fn take(&mut self, change: ObservedChange) -> Vec<OwnershipInterval> {
        self.waiting.push_back(change);
        if self.waiting.len() == 1 { self.go_on() } else { Vec::new() }
    }

    /// The name of the znode whose session must be queried, and the number that the reply must carry.
    pub(super) fn question(&self) -> Option<(&str, u64)> {
        self.waiting.front().map(|change| (change.name.as_str(), self.readings))
    }

    /// Whether the reply to a query of that reading is still valid.
    pub(super) fn waits_for(&self, readings: u64) -> bool {
        self.question().is_some_and(|(_, now)| now == readings)
    }

    /// Handles the reply: czxid and session of the znode, or None if it has been deleted meanwhile.
    pub(super) fn answered(&mut self, stat: Option<(i64, i64)>) -> Vec<OwnershipInterval> {
        let Some(change) = self.waiting.pop_front() else { return Vec::new() };
        let mut intervals = Vec::new();
        if let Some((czxid, session)) = stat {
            self.nodes.insert(czxid, (change.name, session));
            intervals.extend(self.interval(change.from, change.to));
        }
        intervals.extend(self.go_on());
        intervals
    }

    /// The znodes must be read again: their state since `from` is unknown.
    pub(super) fn lose(&mut self, from: u64) {
        self.unread = Some(self.begin_anew(from));
    }

    /// Sets the znodes as of `to`; no other change was notified since `from`.
    pub(super) fn read(&mut self, nodes: LeadZnodes, from: u64, to: u64) -> OwnershipInterval {
        let from = self.begin_anew(from);
        self.unread = None;
        self.nodes = nodes;
        self.say(from, to)
    }

    pub(super) fn is_unread(&self) -> bool {
        self.unread.is_some()
    }

    /// Drops the unresolved changes. Returns until when the owner was known: `from`, or earlier for dropped changes.
    fn begin_anew(&mut self, from: u64) -> u64 {
        let told = self.waiting.front().map(|change| change.from);
        self.waiting.clear();
        self.readings += 1;
        self.unread.into_iter().chain(told).fold(from, u64::min)
    }

    /// Handles the changes that need no reply.
    fn go_on(&mut self) -> Vec<OwnershipInterval> {
        let mut intervals = Vec::new();
        while let Some(gone) = self.waiting.pop_front_if(|change| !change.created) {
            self.nodes.retain(|_, (name, _)| *name != gone.name);
            intervals.extend(self.interval(gone.from, gone.to));
        }
        intervals
    }

    /// As long as the group is unread, no first znode is known.
    fn interval(&mut self, from: u64, to: u64) -> Option<OwnershipInterval> {
        let other = self.owner != self.nodes.keys().next().copied();
        (other && self.unread.is_none()).then(|| self.say(from, to))
    }

    fn say(&mut self, from: u64, to: u64) -> OwnershipInterval {
        let owner = self.nodes.first_key_value().map(|(czxid, (name, session))| (*czxid, name.clone(), *session));
        self.owner = owner.as_ref().map(|(czxid, ..)| *czxid);
        OwnershipInterval { from, to, owner }
    }
}

#[cfg(test)]
mod tests {
    use super::{LeadZnodes, ObservedChange, ObservedGroup, OwnershipInterval};

    fn change(name: &str, created: bool, at: u64) -> ObservedChange {
        ObservedChange { name: name.into(), created, from: at - 1, to: at }
    }

    fn interval(at: u64, owner: Option<(i64, &str, i64)>) -> OwnershipInterval {
        let owner = owner.map(|(czxid, name, session)| (czxid, name.to_owned(), session));
        OwnershipInterval { from: at - 1, to: at, owner }
    }

    #[test]
    fn a_group_takes_its_changes_in_order_though_answers_come_late() {
        let mut group = ObservedGroup::default();
        assert_eq!(group.take(change("a", true, 10)), []);
        assert_eq!(group.question(), Some(("a", 0)));
        // Both come before the reply.
        assert_eq!(group.take(change("b", true, 20)), []);
        assert_eq!(group.take(change("a", false, 30)), []);
        assert_eq!(group.answered(Some((1, 100))), [interval(10, Some((1, "a", 100)))]);
        assert_eq!(group.question(), Some(("b", 0)));
        assert_eq!(group.answered(Some((2, 200))), [interval(30, Some((2, "b", 200)))], "b never was behind nobody");
        assert_eq!(group.question(), None);
    }

    #[test]
    fn a_znode_that_has_gone_again_before_the_answer_leads_nobody() {
        let mut group = ObservedGroup::default();
        assert_eq!(group.take(change("a", true, 10)), []);
        assert_eq!(group.take(change("a", false, 20)), []);
        assert_eq!(group.answered(None), []);
        assert_eq!(group.question(), None);
    }

    #[test]
    fn a_znode_is_known_by_its_whole_name_and_its_session() {
        let mut group = ObservedGroup::default();
        let nodes = [(7, "n-0000000001", 100), (9, "lock", 100)];
        group.read(nodes.map(|(czxid, name, session)| (czxid, (name.to_owned(), session))).into(), 1, 2);
        assert_eq!(group.czxid_of("n-0000000001", 100), Some(7));
        assert_eq!(group.czxid_of("n-0000000001", 101), None);
        assert_eq!(group.czxid_of("n-0000000002", 100), None);
        assert_eq!(group.czxid_of("lock", 100), None, "which of several locks that is nobody knows");
    }

    #[test]
    fn a_lock_that_is_taken_anew_is_another_one() {
        let mut group = ObservedGroup::default();
        group.take(change("lock", true, 10));
        group.answered(Some((1, 100)));
        assert_eq!(group.take(change("lock", false, 20)), [interval(20, None)]);
        group.take(change("lock", true, 30));
        assert_eq!(group.answered(Some((2, 200))), [interval(30, Some((2, "lock", 200)))]);
    }

    #[test]
    fn what_is_read_anew_may_have_been_so_since_before_what_was_not_looked_into() {
        let mut group = ObservedGroup::default();
        group.take(change("a", true, 10));
        let nodes = || LeadZnodes::from([(1, ("a".to_owned(), 100))]);
        assert_eq!(group.read(nodes(), 40, 50).from, 9);
        assert!(!group.waits_for(0), "asked before it was read");

        group.lose(60);
        assert!(group.is_unread());
        assert_eq!(group.take(change("a", false, 70)), [], "nobody is known to be the first");
        let read = group.read(nodes(), 80, 90);
        assert_eq!((read.from, read.to), (60, 90));
        assert!(!group.is_unread());
    }
}
