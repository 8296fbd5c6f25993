//! Places in queues: the znode of each candidate, how long it certainly existed, and by when it was certainly gone.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::candidates::{Candidates, EnrolmentSpan};
use super::faults::Faults;
use super::span_index::SpanIndex;
use super::terms::Terms;
use crate::stats::spans::{Span, touches};
use hustings_record::{Departure, Nanos, SessionState};

/// A client may report the end of its session this much later than the end.
const NOTIFICATION_DELAY_NS: Nanos = 250_000_000;

/// A candidate's znode in the queue of its group.
#[derive(Clone, Copy, Debug)]
pub struct QueuePlace<'a> {
    pub group: u32,
    pub cand: u32,
    pub session: i64,
    pub node: &'a str,
    pub czxid: i64,
    /// It existed by then.
    pub from: Nanos,
    /// It certainly existed from `from` until then; if that is earlier than `from`, at no time.
    pub there_until: Nanos,
    /// It was certainly gone by then. None: not known to have gone.
    pub gone_by: Option<Nanos>,
    /// Its owner deleted it, between `there_until` and `gone_by`.
    pub given_back: bool,
    /// A lead rested on it.
    pub led: bool,
}

impl QueuePlace<'_> {
    /// Whether it certainly existed throughout.
    #[must_use]
    pub fn is_there(&self, at: Span) -> bool {
        self.from <= at.0 && at.1 <= self.there_until
    }
}

/// The number at the end of a sequential znode's name.
#[must_use]
pub fn number(node: &str) -> Option<i32> {
    node.rsplit_once("-n_")?.1.parse().ok()
}

#[derive(Default)]
pub struct QueuePlaces<'a> {
    /// By group, in the order of the queue, which is that of the czxid.
    by_group: BTreeMap<u32, Vec<QueuePlace<'a>>>,
    /// By group, places in the queue by when they certainly existed.
    there: BTreeMap<u32, SpanIndex>,
}

impl<'a> QueuePlaces<'a> {
    /// For a cell whose tear-down began at `tear_down`, and which ended at `end`. `session_known_within`: the time after a
    /// fault by which a client knows whether its session lives. `gone_by`: until when a session may live after its last
    /// sign of life.
    pub(super) fn new(
        candidates: &Candidates<'a>,
        faults: &Faults<'_>,
        terms: &Terms<'_>,
        (tear_down, end): Span,
        session_known_within: Nanos,
        gone_by: impl Fn(Nanos) -> Nanos,
    ) -> Self {
        let mut places = Self::default();
        for (&cand, stands) in &candidates.stands {
            let Some(candidate) = candidates.all.get(&cand) else { continue };
            for (at, stand) in stands.iter().enumerate() {
                let (Some(node), Some(czxid)) = (stand.node, stand.czxid) else { continue };
                let replaced =
                    stands.get(at + 1).is_some_and(|next| next.session == stand.session && !stand.left_before(next));
                let (there_until, gone, given_back) = match replaced {
                    // Another client had deleted it, at an unknown time.
                    true => (stand.from, None, false),
                    false => ending(
                        candidates,
                        faults,
                        cand,
                        stand,
                        (tear_down, end),
                        (session_known_within, gone_by(stand.to)),
                    ),
                };
                let held = terms.by_cand.get(&cand).into_iter().flatten().map(|&term| &terms.all[term]);
                let led = held.into_iter().any(|term| term.session == stand.session && term.czxid == czxid);
                places.by_group.entry(candidate.group).or_default().push(QueuePlace {
                    group: candidate.group,
                    cand,
                    session: stand.session,
                    node,
                    czxid,
                    from: stand.from,
                    there_until,
                    gone_by: gone,
                    given_back,
                    led,
                });
            }
        }
        places.by_group.values_mut().for_each(|places| places.sort_by_key(|place| (place.czxid, place.from)));
        for (group, of_group) in &places.by_group {
            let there = of_group.iter().map(|place| (place.from, place.there_until)).enumerate();
            places.there.insert(*group, SpanIndex::of(there.filter(|(_, there)| there.0 <= there.1)));
        }
        places
    }

    pub(super) fn groups(&self) -> impl Iterator<Item = u32> {
        self.by_group.keys().copied()
    }

    /// In the order of the queue.
    #[must_use]
    pub fn of_group(&self, group: u32) -> &[QueuePlace<'a>] {
        self.by_group.get(&group).map_or(&[], Vec::as_slice)
    }

    /// The group's znodes that certainly existed throughout.
    pub fn there(&self, group: u32, at: Span) -> impl Iterator<Item = &QueuePlace<'a>> {
        let of_group = self.of_group(group);
        let there = self.there.get(&group).into_iter().flat_map(move |there| there.within(at));
        there.map(|place| &of_group[place]).filter(move |place| place.is_there(at))
    }

    /// The group's znode with this czxid that was enrolled under this session.
    #[must_use]
    pub fn of_stand(&self, group: u32, czxid: i64, session: i64) -> Option<&QueuePlace<'a>> {
        let of_group = self.of_group(group);
        let from = of_group.partition_point(|place| place.czxid < czxid);
        of_group[from..].iter().take_while(|place| place.czxid == czxid).find(|place| place.session == session)
    }

    pub fn all(&self) -> impl Iterator<Item = &QueuePlace<'a>> {
        self.by_group.values().flatten()
    }
}

impl EnrolmentSpan<'_> {
    /// Whether this enrolment was over when `next` began, as its candidate reports.
    fn left_before(&self, next: &Self) -> bool {
        self.left && self.to <= next.from
    }
}

/// Until when the znode existed, by when it had gone, and whether its owner deleted it. `gone_by`: used if its owner
/// was silent after its enrolment.
fn ending(
    candidates: &Candidates<'_>,
    faults: &Faults<'_>,
    cand: u32,
    stand: &EnrolmentSpan<'_>,
    (tear_down, end): Span,
    (session_known_within, gone_by): (Nanos, Nanos),
) -> (Nanos, Option<Nanos>, bool) {
    // A process that is stopped or cut off does not know when its session ends.
    let stops = faults.stops_of_cand(candidates, cand);
    let hit = |at: Nanos| {
        let expiring = faults.of_cand(cand).filter(|fault| fault.kind.facts().lets_sessions_expire);
        let mut hit: Vec<_> =
            expiring.filter(|fault| stand.from <= fault.active.1 + NOTIFICATION_DELAY_NS && fault.t < at).collect();
        hit.sort_by_key(|fault| Reverse(fault.t));
        // If it was hit again before it was heard from, it is not known to have existed in between.
        let mut unheard = (at, stand.to);
        let states = candidates.states.get(&stand.session).map_or(&[][..], Vec::as_slice);
        let heard = |span: Span| states.iter().any(|s| s.1 == SessionState::Connected && span.0 < s.0 && s.0 < span.1);
        for fault in hit {
            // A client existed when the fault was over if it has run, is connected so long after the fault, and was not
            // notified of anything.
            let knows = fault.over().saturating_add(session_known_within);
            let has_run = !touches(stops, (fault.over() + 1, knows));
            if has_run && knows <= unheard.1 && candidates.connected(stand.session, knows) {
                break;
            }
            if unheard.1 <= fault.explains_until && (unheard.1 == stand.to || !heard((fault.t, unheard.1))) {
                unheard = (fault.t.min(unheard.0), fault.t);
            }
        }
        unheard.0
    };
    let heard = hit(candidates.disconnected_since(stand.session, stand.to).unwrap_or(stand.to));
    if !stand.left {
        // Its process died, or it is still enrolled.
        return if stand.to < end { (heard, Some(gone_by), false) } else { (end, None, false) };
    }
    let left = candidates.departures.get(&cand).map_or(&[][..], Vec::as_slice);
    let first = left.partition_point(|left| left.t < stand.from);
    let how = left[first..].iter().find(|left| left.session == stand.session).map(|left| left.how);
    match how {
        Some(Departure::Resigned { delete: Some((sent, answered)) }) => (*sent, Some(*answered), true),
        Some(Departure::SessionEnded(_)) => (heard.saturating_sub(NOTIFICATION_DELAY_NS), Some(gone_by), false),
        // Until it was ordered to leave, or to lose its znode, its znode existed.
        Some(Departure::Resigned { delete: None } | Departure::Stopped) => {
            let orders = faults.of_cand(cand).filter(|fault| fault.kind.takes_znodes() && fault.t >= stand.from);
            let ordered = orders.map(|fault| fault.t).fold(tear_down, Nanos::min);
            (heard.min(ordered).max(stand.from), None, false)
        }
        Some(Departure::ElectionDeleted | Departure::Failed(_)) | None => (stand.from, None, false),
    }
}
