//! What candidates say, in the words of the record.

use hustings_reports::record::{Event, LeaveHow, Nanos, NotifiedKind, Reason, SessionChange};
use hustings_workloads::booth::{Departure, Report, RevokeReason, Token};
use hustings_workloads::coordination::{SessionEnd, SessionState, WatchEvent};
use hustings_workloads::resource::Taken;

/// A report of a candidate. `requests`: sent since it joined or was last notified.
pub(crate) fn report(t: Nanos, cand: u32, session: i64, requests: u32, report: &Report<'_>) -> Event {
    match *report {
        Report::Joined { node, czxid } => Event::Joined { t, cand, session, node: node.map(str::to_owned), czxid },
        Report::Grant { at, term, token, node } => {
            Event::Grant { t: at, cand, session: token.session, term, czxid: token.czxid, node: node.to_owned() }
        }
        Report::Granted { at, term } => Event::Granted { t: at, cand, session, term },
        Report::Revoke { from, to, term, reason } => {
            Event::Revoke { from, to, cand, session, term, reason: reason_of(reason) }
        }
        Report::Notified { at, node, event } => {
            Event::Notified { t: at, cand, session, node: node.to_owned(), kind: kind_of(event) }
        }
        Report::Settled => Event::Settled { t, cand, session, requests },
        Report::Note { text } => Event::Note { t, cand: Some(cand), text: text.to_owned() },
    }
}

/// The end of an incarnation.
pub(crate) fn left(t: Nanos, cand: u32, session: i64, departure: &Departure) -> Event {
    let (how, delete) = match departure {
        Departure::Resigned { left } => (LeaveHow::Resigned, *left),
        Departure::Stopped => (LeaveHow::Stopped, None),
        Departure::SessionEnded(_) => (LeaveHow::SessionEnded, None),
        Departure::ElectionDeleted => (LeaveHow::ElectionDeleted, None),
        Departure::Failed(why) => (LeaveHow::Failed(why.clone()), None),
    };
    Event::Left { t, cand, session, how, delete }
}

/// A write of the leader's, a candidate on its host, and what the resource's ledgers made of it.
pub(crate) fn written(t: Nanos, group: u32, (cand, host): (u32, u16), token: Token, taken: Taken) -> Event {
    Event::Write {
        t,
        seq: taken.seq,
        group,
        cand,
        host,
        czxid: token.czxid,
        session: token.session,
        unfenced_stale: taken.unfenced_stale,
        fenced_rejected: taken.fenced_rejected,
        fenced_stale: taken.fenced_stale,
    }
}

/// A state of a session.
pub(crate) fn change_of(state: SessionState) -> SessionChange {
    match state {
        SessionState::Connected => SessionChange::Connected,
        SessionState::Disconnected => SessionChange::Disconnected,
        SessionState::Ended(SessionEnd::Expired) => SessionChange::Expired,
        SessionState::Ended(SessionEnd::Closed) => SessionChange::Closed,
        SessionState::Ended(SessionEnd::AuthFailed) => SessionChange::AuthFailed,
    }
}

fn reason_of(reason: RevokeReason) -> Reason {
    match reason {
        RevokeReason::Resigned => Reason::Resigned,
        RevokeReason::SteppedDown => Reason::SteppedDown,
        RevokeReason::SessionEnded => Reason::SessionEnded,
        RevokeReason::Deposed => Reason::Deposed,
        RevokeReason::ElectionDeleted => Reason::ElectionDeleted,
    }
}

fn kind_of(event: WatchEvent) -> NotifiedKind {
    match event {
        WatchEvent::Created => NotifiedKind::Created,
        WatchEvent::Deleted => NotifiedKind::Deleted,
        WatchEvent::DataChanged => NotifiedKind::Changed,
        WatchEvent::ChildrenChanged => NotifiedKind::Children,
        WatchEvent::Ended(_) => NotifiedKind::SessionEnded,
    }
}
