//! The life of one candidate: session after session, it stands, leads, leaves and stands again.

use std::rc::Rc;
use std::time::Duration;

use hustings_reports::record::Event;
use hustings_workloads::booth::{Booth as _, Departure};
use hustings_workloads::coordination::Session as _;
use hustings_workloads::recipes::{Career, Election, stand};

use crate::clock;
use crate::host::said;
use crate::host::seat::{Seat, ZkSessionRef};
use crate::host::sessions::{CLOSE_AT_MOST, Sessions};
use crate::protocol::FromHost;
use crate::session::ZkSession;

/// After a failure that its recipe has no answer to, a candidate stands again after this.
const AFTER_FAILURE: Duration = Duration::from_millis(500);

/// How a candidate's life on this host ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Its session was closed and the server said so (or others still use it).
    Closed,
    /// The server did not answer the close.
    Unanswered,
}

/// Runs a candidate until its host stops or its election is deleted.
pub(super) async fn live(seat: Rc<Seat>, sessions: Rc<Sessions>, election: Rc<Election>) -> End {
    let career = Career::default();
    let mut ended = 0;
    loop {
        let Some(session) = sessions.obtain(ended).await else { return End::Closed };
        ended = session.id();
        seat.session.replace(Some(ZkSessionRef::of(&session)));
        seat.shared.journal.push(&Event::Incarnation { t: clock::now(), cand: seat.cand, session: session.id() });
        if let Some(end) = one_session(&seat, session, &election, &career).await {
            return end;
        }
    }
}

/// Stands under one session until it ends (None), or until the candidate is done for good.
async fn one_session(seat: &Rc<Seat>, session: ZkSession, election: &Election, career: &Career) -> Option<End> {
    loop {
        let departure = Box::pin(stand(&session, &**seat, election, career)).await;
        seat.stands(false);
        leave(seat, &departure);
        let pause = match departure {
            Departure::SessionEnded(_) => return None,
            Departure::Stopped | Departure::ElectionDeleted => return Some(close(seat, session).await),
            Departure::Resigned { .. } => Duration::from_millis(seat.shared.set_up.rejoin_after_ms),
            Departure::Failed(_) => AFTER_FAILURE,
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = seat.shared.stopped() => return Some(close(seat, session).await),
        }
    }
}

fn leave(seat: &Seat, departure: &Departure) {
    let outcome = match departure {
        Departure::Resigned { left: Some(times) } => Ok(*times),
        Departure::Resigned { left: None } => Err("it resigned without a znode to delete".to_owned()),
        other => Err(format!("it left otherwise: {other:?}")),
    };
    seat.shared.journal.push(&said::left(seat.now(), seat.cand, seat.session_id(), departure));
    if let Some(fault) = seat.resigning.take() {
        seat.shared.tell(FromHost::Done { fault, cand: seat.cand, outcome });
    }
}

async fn close(seat: &Seat, session: ZkSession) -> End {
    if seat.shared.set_up.session_per_host {
        return End::Closed;
    }
    if session.close(CLOSE_AT_MOST).await { End::Closed } else { End::Unanswered }
}
