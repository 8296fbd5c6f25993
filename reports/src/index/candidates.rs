//! Candidates: their hosts, their sessions, their enrolments over time, and their departures.

use std::collections::BTreeMap;

use super::znodes::Znodes;
use crate::stats::spans::Span;
use hustings_record::numbers::to_u32;
use hustings_record::{CellRecord, Departure, Event, Nanos, SessionEnd, SessionState};

/// The client closed its session itself.
const CLOSED: SessionState = SessionState::Ended(SessionEnd::Closed);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CandidateIndex {
    pub group: u32,
    pub host: u16,
}

/// One enrolment of a candidate: from `Joined` to the end of that incarnation.
#[derive(Clone, Debug)]
pub struct EnrolmentSpan<'a> {
    pub from: Nanos,
    pub to: Nanos,
    pub session: i64,
    pub node: Option<&'a str>,
    pub czxid: Option<i64>,
    generation: u32,
    /// The candidate reported that it left.
    pub(super) left: bool,
}

#[derive(Clone, Debug)]
pub struct CandidateDeparture<'a> {
    pub t: Nanos,
    pub session: i64,
    pub how: &'a Departure,
}

#[derive(Default)]
pub struct Candidates<'a> {
    pub all: BTreeMap<u32, CandidateIndex>,
    /// Candidates of each group.
    pub by_group: BTreeMap<u32, Vec<u32>>,
    /// In order of time, by candidate.
    pub stands: BTreeMap<u32, Vec<EnrolmentSpan<'a>>>,
    /// Places among the stands of each candidate, in the order of the znodes' names, then of time.
    by_name: BTreeMap<u32, Vec<u32>>,
    pub departures: BTreeMap<u32, Vec<CandidateDeparture<'a>>>,
    /// Connection states that each session's client reported, in order of time.
    pub states: BTreeMap<i64, Vec<(Nanos, SessionState)>>,
    /// Host of each session.
    pub sessions: BTreeMap<i64, u16>,
    /// When each session was established. Sessions whose client reports nothing, and whose connections are not decoded, are
    /// not among them.
    pub established: BTreeMap<i64, Nanos>,
    pub incarnations: u64,
    /// When connections were re-established, of all sessions: in order.
    reconnects: Vec<Nanos>,
}

/// After a reconnect a server answers old watches at once: it notifies of changes in between, and may repeat earlier
/// notifications. This takes up to so long on a busy machine, and longer by a share for each reconnect at about that
/// time.
const REPLAY_NS: Nanos = 250_000_000;
const REPLAY_EACH_NS: Nanos = 1_000_000;
const REPLAYS_SHARE_NS: Nanos = 2_000_000_000;

impl<'a> Candidates<'a> {
    pub(super) fn new(cell: &'a CellRecord, znodes: &Znodes<'a>, end: Nanos) -> Self {
        let mut index = Self::default();
        for segment in &cell.segments {
            let Some(host) = segment.host else { continue };
            for event in &segment.events {
                index.take(host, segment.generation, (znodes, end), event);
            }
        }
        for (&cand, candidate) in &index.all {
            index.by_group.entry(candidate.group).or_default().push(cand);
        }
        index.departures.values_mut().for_each(|d| d.sort_by_key(|d| d.t));
        index.states.values_mut().for_each(|s| s.sort_by_key(|s| s.0));
        index.reconnects = index.states.values().flat_map(|states| again(states)).collect();
        index.reconnects.sort_unstable();
        for (cand, stands) in &mut index.stands {
            stands.sort_by_key(|s| s.from);
            let left = index.departures.get(cand).map_or(&[][..], Vec::as_slice);
            for stand in &mut *stands {
                let first = left.partition_point(|d| d.t < stand.from);
                if let Some(end) = left[first..].iter().find(|d| d.session == stand.session) {
                    (stand.to, stand.left) = (end.t, true);
                }
            }
            // A candidate that joins again in one incarnation is enrolled by its last znode alone.
            for next in 1..stands.len() {
                stands[next - 1].to = stands[next - 1].to.min(stands[next].from);
            }
            let mut by_name: Vec<u32> = (0..to_u32(stands.len())).collect();
            by_name.sort_by_key(|&at| stands[at as usize].node);
            index.by_name.insert(*cand, by_name);
        }
        index
    }

    fn take(&mut self, host: u16, generation: u32, (znodes, end): (&Znodes<'a>, Nanos), event: &'a Event) {
        match event {
            Event::Candidate { cand, group, .. } => {
                self.all.insert(*cand, CandidateIndex { group: *group, host });
            }
            Event::Session { t, session, .. } => {
                self.sessions.insert(*session, host);
                let established = self.established.entry(*session).or_insert(*t);
                *established = (*established).min(*t);
            }
            Event::Incarnation { session, .. } => {
                self.sessions.entry(*session).or_insert(host);
                self.incarnations += 1;
            }
            Event::State { t, session, state } => {
                // Most sessions are connected once.
                let states = self.states.entry(*session).or_insert_with(|| Vec::with_capacity(1));
                states.push((*t, *state));
            }
            Event::Joined { t, cand, session, node, czxid } => {
                let node = node.as_deref();
                // A czxid that the candidate did not receive is looked up by the znode's name.
                let czxid = czxid.or_else(|| znodes.named(*session, node?));
                let stand =
                    EnrolmentSpan { from: *t, to: end, session: *session, node, czxid, generation, left: false };
                self.stands.entry(*cand).or_default().push(stand);
            }
            Event::Left { t, cand, session, how } => {
                let departed = CandidateDeparture { t: *t, session: *session, how };
                self.departures.entry(*cand).or_default().push(departed);
            }
            _ => {}
        }
    }

    /// Enrolments on a host that died end with its process. `death` of a generation of a host: if and when it died.
    pub(super) fn cut_at_deaths(mut self, death: impl Fn(u16, u32) -> Option<Span>) -> Self {
        for (cand, stands) in &mut self.stands {
            let Some(candidate) = self.all.get(cand) else { continue };
            for stand in stands.iter_mut().filter(|s| !s.left) {
                if let Some(death) = death(candidate.host, stand.generation) {
                    stand.to = stand.to.min(death.0);
                }
            }
        }
        self
    }

    /// When the session's client noticed the session's end.
    #[must_use]
    pub fn ended_at(&self, session: i64) -> Option<Nanos> {
        let mut states = self.states.get(&session)?.iter();
        states.find(|state| matches!(state.1, SessionState::Ended(_))).map(|state| state.0)
    }

    #[must_use]
    pub fn of_group(&self, group: u32) -> &[u32] {
        self.by_group.get(&group).map_or(&[], Vec::as_slice)
    }

    /// The enrolment of the candidate at `at`, if it had one.
    #[must_use]
    pub fn standing(&self, cand: u32, at: Nanos) -> Option<&EnrolmentSpan<'a>> {
        let stands = self.stands.get(&cand)?;
        let last = stands.partition_point(|s| s.from <= at);
        stands[..last].last().filter(|s| at <= s.to)
    }

    /// Whether the candidate enrolled within `span`.
    #[must_use]
    pub fn enrols_again(&self, cand: u32, span: Span) -> bool {
        self.stands.get(&cand).into_iter().flatten().any(|stand| span.0 <= stand.from && stand.from <= span.1)
    }

    /// Whether the candidate enrolled under this session within `span`.
    #[must_use]
    pub fn enrols_again_under(&self, cand: u32, session: i64, span: Span) -> bool {
        let stands = self.stands.get(&cand).into_iter().flatten().filter(|stand| stand.session == session);
        stands.into_iter().any(|stand| span.0 <= stand.from && stand.from <= span.1)
    }

    /// When the candidate was first enrolled with this znode, if that is recorded.
    #[must_use]
    pub fn enrolled_since(&self, cand: u32, czxid: i64) -> Option<Nanos> {
        let stands = self.stands.get(&cand)?.iter();
        stands.filter(|stand| stand.czxid == Some(czxid)).map(|stand| stand.from).min()
    }

    /// Whether the candidate was ever enrolled with a znode of this name.
    #[must_use]
    pub fn enrolled_with(&self, cand: u32, node: &str) -> bool {
        let (Some(stands), Some(by_name)) = (self.stands.get(&cand), self.by_name.get(&cand)) else { return false };
        by_name.binary_search_by_key(&Some(node), |&place| stands[place as usize].node).is_ok()
    }

    /// When the candidate next enrolled, after `at`, with another znode of the same name.
    #[must_use]
    pub fn takes_name_again(&self, cand: u32, node: &str, czxid: i64, at: Nanos) -> Option<Nanos> {
        let (stands, by_name) = (self.stands.get(&cand)?, self.by_name.get(&cand)?);
        let stand = |place: &u32| &stands[*place as usize];
        let first = by_name.partition_point(|place| (stand(place).node, stand(place).from) <= (Some(node), at));
        let mut of_name = by_name[first..].iter().map(stand).take_while(|stand| stand.node == Some(node));
        of_name.find(|stand| stand.czxid != Some(czxid)).map(|stand| stand.from)
    }

    /// Whether the client of this session had a connection at `at`, as far as it had noticed.
    #[must_use]
    pub fn connected(&self, session: i64, at: Nanos) -> bool {
        self.disconnected_since(session, at).is_none()
    }

    /// Start of the disconnection in which the session's client was at `at`, as far as it had noticed, if any.
    #[must_use]
    pub fn disconnected_since(&self, session: i64, at: Nanos) -> Option<Nanos> {
        self.away(session, at).last().map(|s| s.0)
    }

    /// As [`Self::disconnected_since`], but a client that closes its session itself is not cut off by that.
    #[must_use]
    pub fn cut_off_since(&self, session: i64, at: Nanos) -> Option<Nanos> {
        self.away(session, at).filter(|s| s.1 != CLOSED).last().map(|s| s.0)
    }

    /// The states of the session since its client was last connected by `at`; the last one first.
    fn away(&self, session: i64, at: Nanos) -> impl Iterator<Item = &(Nanos, SessionState)> {
        let states = self.states.get(&session).map_or(&[][..], Vec::as_slice);
        let before = &states[..states.partition_point(|s| s.0 <= at)];
        before.iter().rev().take_while(|s| s.1 != SessionState::Connected)
    }

    /// Whether the session lost its connection, or ended, within `span`.
    #[must_use]
    pub fn lost_touch(&self, session: i64, span: Span) -> bool {
        let states = self.states.get(&session).map_or(&[][..], Vec::as_slice);
        states.iter().any(|s| s.1 != SessionState::Connected && span.0 <= s.0 && s.0 <= span.1)
    }

    /// Whether the client of this session had no connection, or its session had ended, at some moment of `span`, as far as
    /// it had noticed. A session that it closed itself does not count.
    #[must_use]
    pub fn lost_contact(&self, session: i64, span: Span) -> bool {
        let states = self.states.get(&session).map_or(&[][..], Vec::as_slice);
        let first = states.partition_point(|s| s.0 <= span.0).saturating_sub(1);
        let within = states[first..].iter().take_while(|s| s.0 <= span.1);
        within.map(|s| s.1).any(|state| ![SessionState::Connected, CLOSED].contains(&state))
    }

    /// Whether the session's client noticed within `span` that the session had expired.
    #[must_use]
    pub fn expired_within(&self, session: i64, span: Span) -> bool {
        let mut states = self.states.get(&session).into_iter().flatten();
        states.any(|s| s.1 == SessionState::Ended(SessionEnd::Expired) && span.0 <= s.0 && s.0 <= span.1)
    }

    /// Whether the session had reconnected in the `span` before `at`.
    #[must_use]
    pub fn reconnected_within(&self, session: i64, at: Nanos, span: Nanos) -> bool {
        self.reconnected_by(session, at).is_some_and(|last| last + span >= at)
    }

    /// Whether a notification at `at` may be the answer to watches that the session set again after a reconnect.
    #[must_use]
    pub fn notified_on_reconnect(&self, session: i64, at: Nanos) -> bool {
        self.reconnected_by(session, at).is_some_and(|back| at <= self.replayed_by(back))
    }

    /// When a session that reconnected at `back` has the answers to the watches that it set again.
    #[must_use]
    pub fn replayed_by(&self, back: Nanos) -> Nanos {
        let of = |t: Nanos| self.reconnects.partition_point(|reconnect| *reconnect <= t);
        let beside = of(back + REPLAYS_SHARE_NS) - of(back.saturating_sub(REPLAYS_SHARE_NS));
        back + REPLAY_NS + beside as u64 * REPLAY_EACH_NS
    }

    /// When the session last reconnected by `at`, if it ever did.
    #[must_use]
    pub fn reconnected_by(&self, session: i64, at: Nanos) -> Option<Nanos> {
        let states = self.states.get(&session)?;
        again(&states[..states.partition_point(|s| s.0 <= at)]).next_back()
    }
}

/// When a session reconnected.
fn again(states: &[(Nanos, SessionState)]) -> impl DoubleEndedIterator<Item = Nanos> {
    let again =
        |w: &&[(Nanos, SessionState)]| w[0].1 == SessionState::Disconnected && w[1].1 == SessionState::Connected;
    states.windows(2).filter(again).map(|w| w[1].0)
}
