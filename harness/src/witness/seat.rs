//! One seat, as its host's connections show it: which znodes it has, and by which of them it can lead.

use std::collections::BTreeSet;

use hustings_record::{Event, Nanos};

/// Sequential znodes end in so many digits.
const SEQUENCE_DIGITS: usize = 10;
/// A name that was asked for with so many hexadecimal digits before its sequence number was asked for by nobody else.
const GUID_DIGITS: usize = 32;
/// Creates of a seat that were not answered and are kept in mind.
const UNHEARD_MAX: usize = 16;
/// So many names of a seat's znodes are kept in mind.
const HAD_MAX: usize = 4_096;

/// Where events go.
pub(super) type Tell<'a> = dyn FnMut(Event) + 'a;

/// An ephemeral znode of a session in an election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EphemeralNode {
    /// Without the election's path.
    pub name: String,
    /// None: its making was not heard, and nothing has told it since.
    pub czxid: Option<i64>,
    pub session: i64,
    /// When its deletion was first asked for, where nobody knows what became of that.
    given_back: Option<Nanos>,
}

impl EphemeralNode {
    fn new(name: String, czxid: Option<i64>, session: i64) -> Self {
        Self { name, czxid, session, given_back: None }
    }

    /// Whether it is there for all that is known.
    fn is_sure(&self) -> bool {
        self.given_back.is_none()
    }
}

/// One seat, as its host's connections show it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeatSeen {
    /// The last session that asked for anything in its election.
    pub session: Option<i64>,
    /// What it created there, or found to be its own, and has not deleted; the last one is the last.
    pub nodes: Vec<EphemeralNode>,
    /// The last one that it had, until it asks for another.
    last: Option<EphemeralNode>,
    /// The names of all znodes that it ever had here, up to some number.
    had: BTreeSet<String>,
    /// Names that it asked for without an answer: they may be there.
    unheard: Vec<String>,
    /// When the last request about its election came.
    pub asked_at: Option<Nanos>,
    /// It stands under that session: it has a znode there, or needs none until it leads.
    pub stands: bool,
    /// Told to give its place back.
    pub resigning: bool,
    /// When the deletion of the last znode that it gave back was asked for, and answered.
    pub gave_back: Option<(Nanos, Nanos)>,
    /// Requests since it stood or was last woken, until it is done with that.
    pub(super) unsettled: Option<u32>,
    /// Requests without an answer so far.
    pub(super) waiting: u32,
    /// When it last asked for, or was told, anything.
    pub(super) moved_at: Nanos,
}

impl SeatSeen {
    /// The znode by which it leads from now on: the one of that name, if it says one, else the last one that it has. None: that is
    /// not known. What has gone, or may have, is no evidence of what follows.
    #[must_use]
    pub fn rests_on(&self, named: Option<&str>) -> Option<&EphemeralNode> {
        let mut sure = self.nodes.iter().rev().filter(|node| node.is_sure());
        match named {
            Some(name) => sure.find(|node| node.name == name),
            None if self.unheard.is_empty() => sure.next(),
            None => None,
        }
    }

    /// The znode that it surely has, where it says that it leads by one that it never had. None: it may have had that.
    #[must_use]
    pub fn contradicts(&self, named: &str) -> Option<&EphemeralNode> {
        let may_be = self.unheard.iter().any(|asked| named.starts_with(asked.as_str()));
        let unknown = self.had.contains(named) || self.had.len() >= HAD_MAX || may_be;
        self.rests_on(None).filter(|_| !unknown)
    }

    /// The znode by which it writes, where it names none: the one that it leads by; once that is gone, and as long as it has asked
    /// for no other, the one that it led by last.
    #[must_use]
    pub fn writes_by(&self) -> Option<&EphemeralNode> {
        self.rests_on(None).or(self.last.as_ref())
    }

    /// The tokens by which it may write: of its znodes, and of the one that it led by last.
    #[must_use]
    pub fn tokens(&self) -> Vec<i64> {
        self.nodes.iter().chain(&self.last).filter_map(|node| node.czxid).collect()
    }

    /// It asks for a znode: whatever it leads by then is not what it had before.
    pub(super) fn asks_for_node(&mut self) {
        self.last = None;
    }

    /// It asked for a znode of this name, and will get no answer.
    pub(super) fn makes_unheard(&mut self, name: String) {
        if self.unheard.len() < UNHEARD_MAX && !self.unheard.contains(&name) {
            self.unheard.push(name);
        }
    }

    /// It asked for the deletion of a znode at `sent`, and will get no answer.
    pub(super) fn deletes_unheard(&mut self, name: &str, sent: Nanos) {
        self.nodes.iter_mut().filter(|node| node.name == name).for_each(|node| _ = node.given_back.get_or_insert(sent));
    }

    /// Another session stands here now, or this one is over.
    pub(super) fn keep_session(&mut self, is_kept: impl Fn(i64) -> bool) {
        self.nodes.retain(|node| is_kept(node.session));
        if self.session.is_none_or(|session| !is_kept(session)) {
            self.unheard.clear();
        }
    }

    /// A znode of its own was made, or is seen to be there. False: that was known.
    pub(super) fn has(&mut self, name: &str, czxid: i64, session: i64) -> bool {
        let known = self.nodes.iter_mut().find(|node| node.name == name && node.session == session);
        let node = EphemeralNode::new(name.to_owned(), Some(czxid), session);
        let is_new = known.as_ref().is_none_or(|known| known.czxid != Some(czxid));
        if is_new {
            self.last = Some(node.clone());
            self.unheard.clear();
        }
        match known {
            Some(known) => *known = node,
            None => self.nodes.push(node),
        }
        self.keeps_in_mind(name);
        is_new
    }

    /// These are the names in the election as its session sees it. Gives those of znodes that it had and that have gone, and of one
    /// that it has without having been told.
    pub(super) fn sees(&mut self, names: &[String], session: i64) -> (Vec<String>, Option<String>) {
        let is_there = |node: &EphemeralNode| names.contains(&node.name);
        self.nodes.iter_mut().filter(|node| is_there(node)).for_each(|node| node.given_back = None);
        let gone = self.nodes.iter().filter(|node| node.session == session && !is_there(node));
        let gone = gone.map(|node| node.name.clone()).collect();
        let mut own = names.iter().filter(|name| self.unheard.iter().any(|asked| is_made_of(name, asked)));
        let (Some(name), None) = (own.next(), own.next()) else { return (gone, None) };
        self.unheard.clear();
        let is_new = !self.nodes.iter().any(|node| node.name == *name);
        if is_new {
            self.nodes.push(EphemeralNode::new(name.clone(), None, session));
            self.keeps_in_mind(name);
        }
        (gone, is_new.then(|| name.clone()))
    }

    fn keeps_in_mind(&mut self, name: &str) {
        // Asked whenever a znode is seen: only a new name is worth a copy.
        if self.had.len() < HAD_MAX && !self.had.contains(name) {
            self.had.insert(name.to_owned());
        }
    }

    /// Takes out a znode that has gone. Gives when its deletion was first asked for without an answer, and whether it has another
    /// one.
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
        tell: &mut Tell<'_>,
    ) {
        (self.stands, self.unsettled, self.moved_at) = (true, Some(0), t);
        tell(Event::Joined { t, cand, session, node, czxid });
    }
}

/// Whether a znode of this name is what came of a request for `asked`, which nobody else asks for.
fn is_made_of(name: &str, asked: &str) -> bool {
    let sequence = name.strip_prefix(asked);
    let is_number = |rest: &str| rest.len() == SEQUENCE_DIGITS && rest.bytes().all(|byte| byte.is_ascii_digit());
    asked.bytes().filter(u8::is_ascii_hexdigit).count() >= GUID_DIGITS && sequence.is_some_and(is_number)
}
