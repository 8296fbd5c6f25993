//! Whether a candidate is notified of a change to a znode that its recipe watches. It is certain if nothing interferes
//! from before the change until a moment after.

use crate::index::{EDGE_NS, EnrolmentSpan, Fault, Index, LossWakeUps};
use crate::stats::spans::{Span, touches};
use hustings_record::{FaultKind, LeadLoss, Nanos, ProcessFate};

/// Longest time until a candidate whose znode another client deleted is enrolled again.
const ENROLS_AGAIN_NS: Nanos = 1_000_000_000;
/// A candidate ordered to leave within this time after a loss may miss its notification.
const ORDERED_NS: Nanos = 100_000_000;
/// Longest time from an order to leave to the departure.
const DEPARTS_NS: Nanos = 2_000_000_000;

pub(super) enum NotificationCertainty {
    None,
    /// It may have been notified or not, for this reason.
    Possible(&'static str),
    Certain,
}

/// Whether this candidate is notified of a change at some time within `at`.
pub(super) fn reach(index: &Index<'_>, lost: &LossWakeUps<'_>, cand: u32, at: Span) -> NotificationCertainty {
    let fault = lost.by_fault.map(|place| &index.faults.all[index.losses.all[place].fault]);
    let hit = fault.is_some_and(|fault| fault.hits(cand));
    let (first, last) = (index.candidates.standing(cand, at.0), index.candidates.standing(cand, at.1));
    // The notification arrives a moment later.
    let soon = (at.0, at.1 + EDGE_NS);
    if let Some(fault) = fault.filter(|fault| hit && fault.kind.facts().process == ProcessFate::Ended) {
        // A restarted process may be enrolled before the lost session has expired.
        let back = last.is_some_and(|stand| stand.from > fault.t) || index.candidates.enrols_again(cand, soon);
        // A process asked to exit may be notified until it is gone.
        let gone = fault.injected.as_ref().map_or(fault.t, |proof| proof.to) + EDGE_NS;
        let goes = !fault.kind.facts().lets_sessions_expire && at.0 <= gone;
        return if back || goes {
            NotificationCertainty::Possible("its process was ending, or was started again")
        } else {
            NotificationCertainty::None
        };
    }
    match (first, last) {
        // Its znode may have existed before it knew.
        (None, None) if index.candidates.enrols_again(cand, soon) => {
            NotificationCertainty::Possible("it was just enrolling")
        }
        (None, None) => NotificationCertainty::None,
        (Some(first), Some(last)) if first.from == last.from => {
            let doubts = [
                (hit || is_hit(index, lost.group, cand, soon), "a fault acted on it, or on servers"),
                (is_leaving(index, cand, first, at), "it was leaving by order"),
                (!is_there(index, lost.group, first, at), "its own znode may not have been there"),
                (!is_watching(index, lost, cand, first, at), "it was not done with what it was told before"),
                (!connected(index, first.session, soon), "its connection was lost"),
            ];
            doubts
                .into_iter()
                .find(|doubt| doubt.0)
                .map_or(NotificationCertainty::Certain, |doubt| NotificationCertainty::Possible(doubt.1))
        }
        (Some(_), _) | (None, Some(_)) => NotificationCertainty::Possible("it enrolled, or left, at that time"),
    }
}

/// Whether a fault may keep the candidate from being notified, or from recording it.
fn is_hit(index: &Index<'_>, group: u32, cand: u32, span: Span) -> bool {
    // Resignations are handled separately.
    let acts = |fault: &Fault<'_>| fault.kind != FaultKind::Resign && fault.acts_in(span);
    // A candidate whose znode was deleted with its group enrols again, and watches nothing until then.
    let since = (span.0.saturating_sub(ENROLS_AGAIN_NS), span.1);
    let anew = |fault: &Fault<'_>| fault.kind.facts().leads == LeadLoss::Anew && fault.acts_in(since);
    touches(index.faults.stops_of_cand(&index.candidates, cand), span)
        || index.faults.on_cand_in(cand, span).any(acts)
        || index.faults.on_group_in(group, since).any(anew)
        // During a server fault, some servers may receive nothing from the others.
        || index.faults.on_servers().any(|fault| fault.acts_in(span))
}

/// Whether it was ordered to resign and had not left yet.
fn is_leaving(index: &Index<'_>, cand: u32, stand: &EnrolmentSpan<'_>, at: Span) -> bool {
    let told = index.faults.of_cand(cand).filter(|fault| fault.kind == FaultKind::Resign && fault.t >= stand.from);
    told.into_iter().any(|fault| fault.t <= at.1 + ORDERED_NS && at.0 <= fault.t + DEPARTS_NS)
}

/// Whether its own znode, if any, existed: a candidate that lost it watches nothing until it enrols again.
fn is_there(index: &Index<'_>, group: u32, stand: &EnrolmentSpan<'_>, at: Span) -> bool {
    let place = stand.czxid.and_then(|czxid| index.places.of_stand(group, czxid, stand.session));
    place.is_none_or(|place| place.is_there(at))
}

/// Whether its watch was armed: it had finished with earlier notifications, and received no other around that time.
fn is_watching(index: &Index<'_>, lost: &LossWakeUps<'_>, cand: u32, stand: &EnrolmentSpan<'_>, at: Span) -> bool {
    let busy = |at: Nanos| index.notices.busy(cand, stand.from, at);
    let soon = (at.0, at.1 + EDGE_NS);
    !busy(at.0)
        && !busy(at.1)
        && !index.notices.notified_between(cand, at)
        && !index.notices.notified_of_another(lost.group, cand, lost.node, soon)
}

/// Whether the client of this session was connected throughout, as far as it had noticed.
pub(super) fn connected(index: &Index<'_>, session: i64, at: Span) -> bool {
    let states = index.candidates.states.get(&session).map_or(&[][..], Vec::as_slice);
    index.candidates.connected(session, at.0) && !states.iter().any(|state| at.0 < state.0 && state.0 <= at.1)
}
