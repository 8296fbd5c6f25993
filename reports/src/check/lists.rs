//! Compares candidates with the servers' own lists, both ways. An enrolled candidate has a known session, owns exactly
//! the znode of its enrolment, and holds the watch that its recipe declares. Each session, znode and watch of the
//! elections belongs to a candidate. Only calm candidates are compared: the lists may be older or newer than a recent
//! change.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::Finding;
use super::lingering_candidates::LingeringCandidates;
use super::stall_confounder::fail_unless_stalled;
use super::words::candidate;
use crate::index::{CandidateDeparture, CombinedLists, EnrolmentSpan, Index, ROOT, Stall};
use crate::stats::spans::{Span, touches};
use hustings_record::numbers::{to_u16, whole};
use hustings_record::{Departure, FanOut, Nanos, SessionState, WindowEdge, words};

/// A candidate is calm if it did nothing for this long before and after the servers were queried.
const CALM_NS: Nanos = 150_000_000;
/// Tolerance for a busy machine.
const MARGIN_NS: Nanos = 1_000_000_000;
/// The znode that the lock recipes compete for.
const LOCK: &str = "lock";

/// What came of one look at the servers' lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Listing {
    /// Candidates that were calm, and those of them that have what they should have, and no more.
    pub judged: u64,
    pub matching: u64,
    /// Sessions, ephemeral znodes and watches of the elections that nobody stands behind.
    pub sessions_left: u64,
    pub znodes_left: u64,
    pub watches_left: u64,
    /// The cell was old enough to look for all leaks. If not, these three numbers are only of sessions that are in use,
    /// and what candidates left behind with a session is not known.
    #[serde(default)]
    pub leaks_judged: bool,
}

impl Listing {
    /// Entries that nobody stands behind.
    pub(crate) fn left(&self) -> u64 {
        self.sessions_left + self.znodes_left + self.watches_left
    }
}

/// Checks the candidates against the lists of one edge, except those that a server still holds.
pub(super) fn judge<S>(
    index: &Index<'_>,
    edge: WindowEdge,
    kept: &LingeringCandidates<'_>,
    finding: &mut Finding<S>,
) -> Option<Listing> {
    let listed = match edge {
        WindowEdge::Begin => index.lists.begin.as_ref(),
        WindowEdge::End => index.lists.end.as_ref(),
    }?;
    if !listed.dissent.is_empty() {
        finding.note(format!("{} listed other sessions and znodes than the others", words::servers(&listed.dissent)));
    }
    let mut match_ = ListMatcher::new(index, listed);
    match_.candidates(kept, finding);
    // Leftovers of a fault or an orderly stop are removed within bounded time; until then they do not count.
    let settled_since = since(index, listed.asked.0);
    match_.found.leaks_judged = settled_since > index.span.0;
    if match_.found.leaks_judged || edge == WindowEdge::End {
        match_.nobodys(settled_since, finding);
    }
    if match_.found.judged == 0 && !index.presence.stood.is_empty() {
        finding.note("nobody was calm when the servers listed what they hold".into());
    }
    Some(match_.found)
}

/// The czxid of a znode, if it is known, its name and its session.
type ListedZnode<'n> = (Option<i64>, &'n str, i64);

struct ListMatcher<'i, 'a> {
    index: &'i Index<'a>,
    listed: &'i CombinedLists,
    /// Names of each group's ephemeral znodes, oldest first, with their sessions; None if the age of one is unknown.
    queues: BTreeMap<u32, Option<Vec<(&'i str, i64)>>>,
    found: Listing,
}

impl<'i, 'a> ListMatcher<'i, 'a> {
    fn new(index: &'i Index<'a>, listed: &'i CombinedLists) -> Self {
        let groups: BTreeMap<&str, u32> = index.info.groups.iter().map(String::as_str).zip(0..).collect();
        let mut ages: BTreeMap<(u32, &str), i64> = BTreeMap::new();
        for (cand, stands) in &index.candidates.stands {
            let Some(candidate) = index.candidates.all.get(cand) else { continue };
            // If the group is recreated later, a znode of the same name is a different one.
            let so_far = stands.iter().filter(|stand| stand.from <= listed.asked.1);
            let aged = so_far.filter_map(|stand| Some(((candidate.group, stand.node?), stand.czxid?)));
            ages.extend(aged);
        }
        let mut aged: BTreeMap<u32, Vec<ListedZnode<'_>>> = BTreeMap::new();
        for (path, &session) in &listed.holds.ephemerals {
            let Some((group, name)) = place(&groups, path) else { continue };
            let age = if name == LOCK { Some(0) } else { ages.get(&(group, name)).copied() };
            aged.entry(group).or_default().push((age, name, session));
        }
        let queues = aged.into_iter().map(|(group, mut queue)| {
            queue.sort_unstable();
            let known = queue.iter().all(|(age, ..)| age.is_some());
            (group, known.then(|| queue.into_iter().map(|(_, name, session)| (name, session)).collect()))
        });
        Self { index, listed, queues: queues.collect(), found: Listing::default() }
    }

    /// Checks that each calm candidate has what it should have.
    fn candidates<S>(&mut self, kept: &LingeringCandidates<'_>, finding: &mut Finding<S>) {
        for &cand in self.index.candidates.all.keys().filter(|cand| !kept.contains_key(cand)) {
            let Some(stand) = self.calm(cand) else { continue };
            let Some((what, cause)) = self.lacks(cand, stand) else {
                (self.found.judged, self.found.matching) = (self.found.judged + 1, self.found.matching + 1);
                continue;
            };
            let host = self.index.candidates.all[&cand].host;
            // Only its own process, and what is between it and the servers, can keep it from anything.
            let explains = |stall: &Stall| stall.from <= cause.1 && cause.0 <= stall.to && !stall.is_of_coordinator();
            let stall = self.index.confounding_stall_where(&[host], self.listed.asked, explains);
            self.found.judged += u64::from(stall.is_none());
            let text = format!("{} {what}, say the servers' lists", candidate(self.index, cand));
            fail_unless_stalled(finding, self.index, stall, text);
        }
    }

    /// The candidate's enrolment while the servers were queried, if it did nothing else meanwhile and no fault hit it.
    fn calm(&self, cand: u32) -> Option<&'i EnrolmentSpan<'a>> {
        let (index, asked) = (self.index, self.listed.asked);
        let around = (asked.0.saturating_sub(CALM_NS), asked.1 + CALM_NS);
        let stand = index.candidates.standing(cand, around.0).filter(|stand| stand.to >= around.1)?;
        let states = index.candidates.states.get(&stand.session).map_or(&[][..], Vec::as_slice);
        let before = states[..states.partition_point(|state| state.0 < around.0)].last();
        let connected = before.is_none_or(|state| state.1 == SessionState::Connected);
        // Its client restores its watches after it is connected again, which takes a busy machine longer.
        let restored = asked.0.saturating_sub(MARGIN_NS);
        let changed = states.iter().any(|state| restored <= state.0 && state.0 <= around.1);
        let busy = index.presence.is_unsettled(cand, around);
        let terms = index.terms.by_cand.get(&cand).into_iter().flatten().map(|&place| &index.terms.all[place]);
        let within = |t: Nanos| around.0 <= t && t <= around.1;
        let moved = terms.clone().any(|term| within(term.grant) || within(term.ended.0) || within(term.ended.1));
        let host = index.candidates.all[&cand].host;
        let hit = touches(index.faults.stops_of(host), around)
            || index.faults.of_cand(cand).any(|fault| fault.acts_in(around));
        (connected && !changed && !busy && !moved && !hit).then_some(stand)
    }

    /// What a calm candidate should have but lacks, and when a stall may have caused that.
    fn lacks(&self, cand: u32, stand: &EnrolmentSpan<'_>) -> Option<(String, Span)> {
        let (index, holds) = (self.index, &self.listed.holds);
        let group = index.candidates.all[&cand].group;
        // A session may end at any time, and its znode with it.
        let always = (0, self.listed.asked.1);
        if !holds.sessions.contains(&stand.session) {
            return Some((format!("stands under session {:#x}, which has ended", stand.session), always));
        }
        let leads = index.terms.held_by(cand, self.listed.asked.0).is_some();
        let own = stand.node.or(leads.then_some(LOCK));
        if let Some(own) = own.filter(|own| holds.ephemerals.get(&self.path(group, own)) != Some(&stand.session)) {
            return Some((format!("stands by {own}, which is not there or another's"), always));
        }
        if leads {
            return None;
        }
        let watches = |name: &&str| {
            holds.watches.get(&self.path(group, name)).is_some_and(|sessions| sessions.contains(&stand.session))
        };
        let missing = self.declared(group, stand)?.find(|name| !watches(name))?;
        Some((format!("does not watch {missing}, as its recipe declares"), self.delays_watches(cand, stand)))
    }

    /// When a stall may have kept a candidate from a watch: from its own last change until 2 T after that, or after the last change of
    /// its group. It may not have been notified of that one yet, and be calm all the same.
    fn delays_watches(&self, cand: u32, stand: &EnrolmentSpan<'_>) -> Span {
        let (index, asked) = (self.index, self.listed.asked);
        let settled = index.presence.unsettled.get(&cand).into_iter().flatten().map(|span| span.1);
        let connected = index.candidates.reconnected_by(stand.session, asked.0);
        let changed = settled.filter(|&t| t <= asked.0).chain(connected).fold(stand.from, Nanos::max);
        let group = index.candidates.all[&cand].group;
        let stands = index.candidates.of_group(group).iter().filter_map(|cand| index.candidates.stands.get(cand));
        let stands = stands.flatten().flat_map(|stand| [stand.from, stand.to]);
        let terms = index.terms.of_group(group).iter().map(|&place| &index.terms.all[place]);
        let moves = stands.chain(terms.flat_map(|term| [term.grant, term.ended.1]));
        let last = moves.filter(|&t| t <= asked.1).fold(changed, Nanos::max);
        (changed, last + index.stall_effect())
    }

    /// Names of the znodes that a follower should watch; None: not known. If a leader's loss wakes all others, each
    /// watches the leader's znode. If it wakes the next one or two in line, each watches that many znodes before its
    /// own.
    fn declared(&self, group: u32, stand: &EnrolmentSpan<'_>) -> Option<impl Iterator<Item = &'i str> + use<'i, '_>> {
        let queue = self.queues.get(&group)?.as_ref()?;
        let own = queue.iter().position(|(name, _)| Some(*name) == stand.node);
        let before = |all: usize| own.map(|own| own.saturating_sub(all)..own);
        let watched = match self.index.info.leader_wakes()? {
            FanOut::None => 0..0,
            FanOut::AllOthers => 0..usize::from(own != Some(0)),
            FanOut::One => before(1)?,
            FanOut::Two => before(2)?,
        };
        Some(queue.get(watched)?.iter().map(|(name, _)| *name))
    }

    /// Reports all other entries that the servers hold for this cell's candidates as leftovers. In a young cell, a
    /// session that no host reported may be of a process that died just now.
    fn nobodys<S>(&mut self, settled_since: Nanos, finding: &mut Finding<S>) {
        let users = self.users(settled_since);
        let of_all = self.found.leaks_judged;
        for (&session, of) in &users.over {
            if let Some(servers) = self.listed.contested.get(&session) {
                // The other servers know of its end, so the session was closed.
                finding.note(format!(
                    "session {session:#x}, which has ended, is still on the list of {}",
                    words::servers(servers)
                ));
            } else if self.listed.holds.sessions.contains(&session) {
                self.found.sessions_left += 1;
                let user = candidate(self.index, of.cand);
                let text = format!("session {session:#x}, which {user} left behind, is still there");
                self.nobodys_is((session, Some(*of)), finding, text);
            }
        }
        for (&group, queue) in &self.queues {
            let all: Vec<(&str, i64)> = match queue {
                Some(queue) => queue.clone(),
                None => self.of_group(group),
            };
            let all = all.into_iter().filter(|(_, session)| of_all || users.known.contains(session));
            for (name, session) in all.filter(|(name, session)| !users.owns(group, name, *session)) {
                self.found.znodes_left += 1;
                let text = format!("{}: nobody stands by {name} of session {session:#x}", self.index.group_name(group));
                self.nobodys_is((session, users.last_use(group, name, session)), finding, text);
            }
        }
        self.watches(&users, finding);
    }

    /// A stall of the session's host, or of a process that is not a host, may explain the leftover. For a session that
    /// no host reported, any host counts.
    fn nobodys_is<S>(&self, (session, last): (i64, Option<LastUse>), finding: &mut Finding<S>, text: String) {
        fail_unless_stalled(finding, self.index, self.stall_of(session, last), text);
    }

    /// The stall must begin before what was left was due to be gone: one that begins later did not keep it. It ends after the last use,
    /// since what is left has been out of use for longer than a stall has effects.
    fn stall_of(&self, session: i64, last: Option<LastUse>) -> Option<&'i Stall> {
        let index = self.index;
        let host = index.candidates.sessions.get(&session);
        let hosts = host.map_or_else(|| (0..to_u16(index.info.hosts.len())).collect(), |&host| vec![host]);
        let due = last.map_or(self.listed.asked.1, |last| last.until + index.session_expiry());
        // The coordinator ends no session, and removes nothing. But it kills processes, and one that it is late to kill keeps its session
        // for so much longer.
        let killed = last.is_some_and(|last| last.died);
        let explains = |stall: &Stall| stall.from <= due && (killed || !stall.is_of_coordinator());
        index.confounding_stall_where(&hosts, self.listed.asked, explains)
    }

    fn watches<S>(&mut self, users: &Users<'_>, finding: &mut Finding<S>) {
        if self.index.info.leader_wakes().is_none() {
            return;
        }
        let groups: BTreeMap<&str, u32> = self.index.info.groups.iter().map(String::as_str).zip(0..).collect();
        let mut left: Vec<(&str, i64)> = Vec::new();
        let besides = self.index.info.declared.map_or(0, |declared| declared.watches_besides());
        let mut watched_besides: BTreeMap<(u32, i64), u32> = BTreeMap::new();
        for (path, sessions) in &self.listed.holds.watches {
            let Some((group, name)) = place(&groups, path) else { continue };
            for session in sessions.iter().filter(|session| users.known.contains(session)) {
                let of: Vec<u32> = users.standing(group, *session).collect();
                let explained =
                    of.iter().any(|&cand| self.calm(cand).is_none_or(|stand| self.may_watch(group, stand, name)))
                        || of.is_empty() && !users.over.contains_key(session)
                        || users.interrupted.contains(&(group, *session));
                if explained {
                    continue;
                }
                let so_many = watched_besides.entry((group, *session)).or_default();
                *so_many += 1;
                if of.is_empty() || *so_many > besides {
                    left.push((path, *session));
                }
            }
        }
        self.found.watches_left = left.len() as u64;
        let last = |session: &i64| users.over.get(session).copied();
        let calm = left.iter().find(|(_, session)| self.stall_of(*session, last(session)).is_none());
        if let Some((path, session)) = calm.or(left.first()) {
            let text = format!("{} watches are nobody's, one of them on {path} by session {session:#x}", left.len());
            self.nobodys_is((*session, last(session)), finding, text);
        }
    }

    /// Whether a calm candidate may watch this znode: its own, or those that its recipe declares, as far as that is known.
    fn may_watch(&self, group: u32, stand: &EnrolmentSpan<'_>, name: &str) -> bool {
        let queue = self.queues.get(&group).and_then(Option::as_ref);
        let known =
            queue.is_some_and(|queue| stand.node.is_none_or(|own| queue.iter().any(|(other, _)| *other == own)));
        !known
            || stand.node.unwrap_or(LOCK) == name
            || self.declared(group, stand).is_some_and(|mut declared| declared.any(|declared| declared == name))
    }

    /// Users of each session since `settled_since`.
    fn users(&self, settled_since: Nanos) -> Users<'i> {
        let index = self.index;
        let mut users = Users::default();
        for (&cand, candidate) in &index.candidates.all {
            let incarnations = index.presence.incarnations.get(&cand).map_or(&[][..], Vec::as_slice);
            let dead = index.presence.dead.get(&candidate.host).map(|dead| dead.0);
            for (place, &(_, session)) in incarnations.iter().enumerate() {
                users.known.insert(session);
                let next = incarnations.get(place + 1).map(|next| next.0);
                let Some(until) = next.or(dead).filter(|&until| until < settled_since) else {
                    users.current.insert(session);
                    continue;
                };
                // When its process died is known only as an interval.
                let until = next.unwrap_or_else(|| index.lives.surely_dead(candidate.host, until));
                LastUse { cand, until, died: next.is_none() }.keep_latest(&mut users.over, session);
            }
            let last = incarnations.last().map(|last| last.1);
            let joins = |t: Nanos| t >= settled_since && index.candidates.standing(cand, self.listed.asked.0).is_none();
            let came = incarnations.last().map(|last| last.0);
            let went = index.candidates.departures.get(&cand).and_then(|left| left.last()).map(|left| left.t);
            if came.into_iter().chain(went).any(joins) {
                users.joining.extend(last.map(|session| (candidate.group, session)));
            }
            for stand in index.candidates.stands.get(&cand).into_iter().flatten() {
                let znode = (candidate.group, stand.session, stand.node.unwrap_or(LOCK));
                let deleted = self.deleted(cand, stand);
                if stand.to >= settled_since && deleted.is_none() {
                    users.stands.insert(znode, cand);
                } else {
                    let until = deleted.unwrap_or(stand.to);
                    LastUse { cand, until, died: false }.keep_latest(&mut users.stood, znode);
                }
            }
            let left = index.candidates.departures.get(&cand).into_iter().flatten();
            let left = left.filter(|left| interrupted(index, cand, left));
            users.interrupted.extend(left.map(|left| (candidate.group, left.session)));
        }
        users.over.retain(|session, _| !users.current.contains(session));
        users
    }

    /// When the deletion of an enrolment's znode was answered, if all servers list the same after that: the one that
    /// answered had deleted it.
    fn deleted(&self, cand: u32, stand: &EnrolmentSpan<'_>) -> Option<Nanos> {
        let departures = self.index.candidates.departures.get(&cand)?;
        let left = departures[departures.partition_point(|left| left.t < stand.to)..].first()?;
        let (_, answered) = left.how.deletion().filter(|_| left.session == stand.session && left.t == stand.to)?;
        (self.listed.dissent.is_empty() && answered < self.listed.asked.0).then_some(answered)
    }

    /// The ephemeral znodes of a group, in no order.
    fn of_group(&self, group: u32) -> Vec<(&'i str, i64)> {
        let below = format!("{ROOT}{}/", self.index.group_name(group));
        let all = self.listed.holds.ephemerals.iter();
        all.filter_map(|(path, &session)| Some((path.strip_prefix(&below)?, session))).collect()
    }

    fn path(&self, group: u32, name: &str) -> String {
        format!("{ROOT}{}/{name}", self.index.group_name(group))
    }
}

/// When a session or a znode was last used, and by which candidate.
#[derive(Clone, Copy)]
struct LastUse {
    cand: u32,
    until: Nanos,
    /// Its process died.
    died: bool,
}

impl LastUse {
    /// Keeps the later of this one and the one in `all`.
    fn keep_latest<K: Ord>(self, all: &mut BTreeMap<K, Self>, of: K) {
        let latest = all.entry(of).or_insert(self);
        if latest.until <= self.until {
            *latest = self;
        }
    }
}

/// The users of the sessions.
#[derive(Default)]
struct Users<'i> {
    /// Sessions of this cell's candidates: all; those in use; those no longer used.
    known: BTreeSet<i64>,
    current: BTreeSet<i64>,
    over: BTreeMap<i64, LastUse>,
    /// Enrolled candidates by group, session and znode.
    stands: BTreeMap<(u32, i64, &'i str), u32>,
    /// Enrolments that are over, by the same.
    stood: BTreeMap<(u32, i64, &'i str), LastUse>,
    /// Groups and sessions in which a candidate may be about to enrol.
    joining: BTreeSet<(u32, i64)>,
    /// Groups and sessions whose candidate was ordered to leave between request and response: a watch may remain until
    /// it fires.
    interrupted: BTreeSet<(u32, i64)>,
}

impl Users<'_> {
    fn owns(&self, group: u32, name: &str, session: i64) -> bool {
        self.stands.contains_key(&(group, session, name)) || self.joining.contains(&(group, session))
    }

    /// The last use of a znode without a user; None: not known. It goes with its session at the latest.
    fn last_use(&self, group: u32, name: &str, session: i64) -> Option<LastUse> {
        self.over.get(&session).or_else(|| self.stood.get(&(group, session, name))).copied()
    }

    fn standing(&self, group: u32, session: i64) -> impl Iterator<Item = u32> {
        let all = self.stands.range((group, session, "")..);
        all.take_while(move |(key, _)| (key.0, key.1) == (group, session)).map(|(_, &cand)| cand)
    }
}

/// Group and name of a candidate's znode; None: it is somewhere else.
fn place<'p>(groups: &BTreeMap<&str, u32>, path: &'p str) -> Option<(u32, &'p str)> {
    let (group, name) = path.strip_prefix(ROOT)?.split_once('/')?;
    Some((*groups.get(group)?, name))
}

/// Where the servers list nothing they still count: at least as many znodes and watches as the candidates have.
pub(super) fn at_least<S>(index: &Index<'_>, finding: &mut Finding<S>) {
    let Some((at, servers)) = index.servers.end else { return };
    let told = |name: &'static str| servers.values().filter_map(move |server| server.get(name)).map(|&v| whole(v));
    let calm: Vec<(u32, &EnrolmentSpan<'_>)> =
        index.candidates.all.keys().filter_map(|&cand| calm_before(index, cand, at)).collect();
    let queueing = calm.iter().filter(|(_, stand)| stand.node.is_some()).count() as u64;
    if let Some(count) = told("ephemerals_count").max().filter(|&count| count < queueing) {
        finding.fail(format!(
            "{queueing} candidates stand by a znode each, and no server counts more than {count} of them"
        ));
    }
    if !matches!(index.info.leader_wakes(), Some(FanOut::One | FanOut::Two | FanOut::AllOthers)) {
        return;
    }
    // Candidates of one group that share a session may share its watch too.
    let follows = |(cand, _): &&(u32, &EnrolmentSpan<'_>)| index.terms.held_by(*cand, at).is_none();
    let connected = |(_, stand): &&(u32, &EnrolmentSpan<'_>)| {
        index.candidates.connected(stand.session, at)
            && !index.candidates.lost_touch(stand.session, (at.saturating_sub(CALM_NS), at + CALM_NS))
    };
    let watching: BTreeSet<(u32, i64)> = calm
        .iter()
        .filter(follows)
        .filter(connected)
        .map(|(cand, stand)| (index.candidates.all[cand].group, stand.session))
        .collect();
    let watching = watching.len() as u64;
    if let Some(count) = told("watch_count").reduce(u64::saturating_add).filter(|&count| count < watching) {
        finding.fail(format!(
            "{watching} candidates are to wait with a watch each, and the servers count {count} watches"
        ));
    }
}

/// The candidate's enrolment at `at`, if it did nothing else for a while.
fn calm_before<'i, 'a>(index: &'i Index<'a>, cand: u32, at: Nanos) -> Option<(u32, &'i EnrolmentSpan<'a>)> {
    let around: Span = (at.saturating_sub(CALM_NS), at);
    let stood = index.presence.stood.get(&cand)?.iter().any(|span| span.0 <= around.0 && around.1 <= span.1);
    let busy = index.presence.is_unsettled(cand, around);
    let stand = index.candidates.standing(cand, at)?;
    (stood && !busy).then_some((cand, stand))
}

/// The time since which leftovers count. A new ensemble leader restarts every session's clock.
fn since(index: &Index<'_>, at: Nanos) -> Nanos {
    let limit = 2 * (index.timeout_or_asked() + index.tick) + MARGIN_NS;
    index.servers.outages.iter().rev().fold(at.saturating_sub(limit), |since, outage| {
        if outage.1 < since { since } else { since.min(outage.0.saturating_sub(limit)) }
    })
}

/// Whether it was ordered to leave between request and response: then it may have left a watch behind, until that
/// fires.
fn interrupted(index: &Index<'_>, cand: u32, left: &CandidateDeparture<'_>) -> bool {
    let Departure::Resigned { delete } = left.how else { return false };
    let ordered = delete.map_or(left.t.saturating_sub(1), |(sent, _)| sent);
    let Some(stood) = index.candidates.standing(cand, ordered) else { return false };
    index.notices.busy(cand, stood.from, ordered)
        || index.candidates.reconnected_within(left.session, ordered, MARGIN_NS)
}
