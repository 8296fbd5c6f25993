//! One slot, as observed on its host's connections: its znodes, and the one by which it can lead.

use std::collections::BTreeSet;

use hustings_record::{Event, Nanos};

/// Number of digits at the end of sequential znodes.
const SEQUENCE_DIGITS: usize = 10;
/// A requested name with this many hexadecimal digits before its sequence number is unique to its requester.
const GUID_DIGITS: usize = 32;
/// Maximum number of tracked creates of a slot without a reply.
const UNANSWERED_MAX: usize = 16;
/// Maximum number of tracked names of a slot's znodes.
const HAD_MAX: usize = 4_096;

/// Receiver of events.
pub(super) type EventReceiver<'a> = dyn FnMut(Event) + 'a;

/// An ephemeral znode of a session in an election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EphemeralNode {
    /// Without the election's path.
    pub name: String,
    /// None: the reply to its creation was lost, and no later reply showed the czxid.
    pub czxid: Option<i64>,
    pub session: i64,
    /// When its deletion was first requested, if the result is unknown.
    given_back: Option<Nanos>,
}

impl EphemeralNode {
    fn new(name: String, czxid: Option<i64>, session: i64) -> Self {
        Self { name, czxid, session, given_back: None }
    }

    /// Whether it exists, as far as is known.
    fn is_sure(&self) -> bool {
        self.given_back.is_none()
    }
}

/// One slot, as observed on its host's connections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedSlot {
    /// The last session with a request about its election.
    pub session: Option<i64>,
    /// Znodes that it created there, or found to be its own, and has not deleted; the newest is last.
    pub nodes: Vec<EphemeralNode>,
    /// The last znode that it had, until it requests another.
    last: Option<EphemeralNode>,
    /// The names of all znodes that it ever had here, up to a maximum number.
    had: BTreeSet<String>,
    /// Names that it requested without a reply: these znodes may exist.
    unanswered: Vec<String>,
    /// When the last request about its election came.
    pub asked_at: Option<Nanos>,
    /// It is enrolled under that session: it has a znode there, or needs none until it leads.
    pub stands: bool,
    /// It was ordered to resign.
    pub resigning: bool,
    /// When the deletion of its last released znode was requested, and acknowledged.
    pub gave_back: Option<(Nanos, Nanos)>,
    /// Requests since it enrolled or was last woken, until it has settled.
    pub(super) unsettled: Option<u32>,
    /// Number of requests without a reply.
    pub(super) waiting: u32,
    /// Time of its last request, reply or notification.
    pub(super) moved_at: Nanos,
}

impl ObservedSlot {
    /// The znode by which it leads from now on: the named one, else its newest one. None: unknown. A znode that is
    /// gone, or may be, is no evidence for a later term.
    #[must_use]
    pub fn rests_on(&self, named: Option<&str>) -> Option<&EphemeralNode> {
        let mut sure = self.nodes.iter().rev().filter(|node| node.is_sure());
        match named {
            Some(name) => sure.find(|node| node.name == name),
            None if self.unanswered.is_empty() => sure.next(),
            None => None,
        }
    }

    /// The znode that it certainly has, if `named` is one that it never had. None: it may have had that one.
    #[must_use]
    pub fn contradicts(&self, named: &str) -> Option<&EphemeralNode> {
        let may_be = self.unanswered.iter().any(|asked| named.starts_with(asked.as_str()));
        let unknown = self.had.contains(named) || self.had.len() >= HAD_MAX || may_be;
        self.rests_on(None).filter(|_| !unknown)
    }

    /// The znode behind a write that names none: the one by which it leads. Once that is gone, the last one by which it
    /// led, until it requests another.
    #[must_use]
    pub fn writes_by(&self) -> Option<&EphemeralNode> {
        self.rests_on(None).or(self.last.as_ref())
    }

    /// The tokens that its writes may carry: of its znodes, and of the last one by which it led.
    #[must_use]
    pub fn tokens(&self) -> Vec<i64> {
        self.nodes.iter().chain(&self.last).filter_map(|node| node.czxid).collect()
    }

    /// Notes a request for a znode: a later term does not rest on its previous one.
    pub(super) fn asks_for_node(&mut self) {
        self.last = None;
    }

    /// Notes a request for a znode of this name that will get no reply.
    pub(super) fn note_unanswered_create(&mut self, name: String) {
        if self.unanswered.len() < UNANSWERED_MAX && !self.unanswered.contains(&name) {
            self.unanswered.push(name);
        }
    }

    /// Notes a deletion requested at `sent` that will get no reply.
    pub(super) fn note_unanswered_delete(&mut self, name: &str, sent: Nanos) {
        self.nodes.iter_mut().filter(|node| node.name == name).for_each(|node| _ = node.given_back.get_or_insert(sent));
    }

    /// Drops the znodes of sessions that are not kept, when another session takes over or this one ends.
    pub(super) fn keep_session(&mut self, is_kept: impl Fn(i64) -> bool) {
        self.nodes.retain(|node| is_kept(node.session));
        if self.session.is_none_or(|session| !is_kept(session)) {
            self.unanswered.clear();
        }
    }

    /// Whether this session owns one of its znodes, or asked for one and got no reply.
    pub(super) fn may_own(&self, session: i64) -> bool {
        let awaits = self.session == Some(session) && !self.unanswered.is_empty();
        awaits || self.nodes.iter().any(|node| node.session == session)
    }

    /// Drops its znodes of this name with a lower czxid, which are gone. False: there is none. One that it asked to delete
    /// is its own to tell of.
    pub(super) fn drops_older(&mut self, name: &str, czxid: i64) -> bool {
        let all = self.nodes.len();
        let is_older = |node: &EphemeralNode| node.name == name && node.czxid.is_some_and(|own| own < czxid);
        self.nodes.retain(|node| !(is_older(node) && node.is_sure()));
        self.nodes.len() < all
    }

    /// Notes that a znode of its own was created, or exists. False: that was known.
    pub(super) fn has(&mut self, name: &str, czxid: i64, session: i64) -> bool {
        let known = self.nodes.iter_mut().find(|node| node.name == name && node.session == session);
        let node = EphemeralNode::new(name.to_owned(), Some(czxid), session);
        let is_new = known.as_ref().is_none_or(|known| known.czxid != Some(czxid));
        if is_new {
            self.last = Some(node.clone());
            self.unanswered.clear();
        }
        match known {
            Some(known) => *known = node,
            None => self.nodes.push(node),
        }
        self.keeps_in_mind(name);
        is_new
    }

    /// Handles a list of the election's names, as its session sees it. Returns the names of its znodes that are gone,
    /// and of one that exists although the reply to its creation was lost.
    pub(super) fn sees(&mut self, names: &[String], session: i64) -> (Vec<String>, Option<String>) {
        let is_there = |node: &EphemeralNode| names.contains(&node.name);
        self.nodes.iter_mut().filter(|node| is_there(node)).for_each(|node| node.given_back = None);
        let gone = self.nodes.iter().filter(|node| node.session == session && !is_there(node));
        let gone = gone.map(|node| node.name.clone()).collect();
        let mut own = names.iter().filter(|name| self.unanswered.iter().any(|asked| is_made_of(name, asked)));
        let (Some(name), None) = (own.next(), own.next()) else { return (gone, None) };
        self.unanswered.clear();
        let is_new = !self.nodes.iter().any(|node| node.name == *name);
        if is_new {
            self.nodes.push(EphemeralNode::new(name.clone(), None, session));
            self.keeps_in_mind(name);
        }
        (gone, is_new.then(|| name.clone()))
    }

    fn keeps_in_mind(&mut self, name: &str) {
        // Called for every observed znode: copy only new names.
        if self.had.len() < HAD_MAX && !self.had.contains(name) {
            self.had.insert(name.to_owned());
        }
    }

    /// Removes a znode that is gone. Returns when its deletion was first requested without a reply, and whether the
    /// slot has another znode.
    pub(super) fn takes_out(&mut self, name: &str, session: i64) -> Option<(Option<Nanos>, bool)> {
        let place = self.nodes.iter().position(|node| node.name == name && node.session == session)?;
        let node = self.nodes.remove(place);
        Some((node.given_back, self.nodes.iter().any(EphemeralNode::is_sure)))
    }

    pub(super) fn joins(
        &mut self,
        t: Nanos,
        cand: u32,
        session: i64,
        (node, czxid): (Option<String>, Option<i64>),
        tell: &mut EventReceiver<'_>,
    ) {
        (self.stands, self.unsettled, self.moved_at) = (true, Some(0), t);
        tell(Event::Joined { t, cand, session, node, czxid });
    }
}

/// Whether a znode of this name results from a request for `asked`, which is unique to its requester.
fn is_made_of(name: &str, asked: &str) -> bool {
    let sequence = name.strip_prefix(asked);
    let is_number = |rest: &str| rest.len() == SEQUENCE_DIGITS && rest.bytes().all(|byte| byte.is_ascii_digit());
    asked.bytes().filter(u8::is_ascii_hexdigit).count() >= GUID_DIGITS && sequence.is_some_and(is_number)
}
