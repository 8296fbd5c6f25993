//! The life of a candidate on its host: session after session, it stands, leads, leaves and stands again; and its work while it
//! leads.

use std::time::Duration;

use hustings_record::{Departure, Event, Nanos, Token};

use super::sessions::{Process, Sessions, unless_stopped};
use crate::coordination::Session as _;
use crate::host::Host;
use crate::recipes::{Election, Lifecycle, stand};

/// After a failure that its recipe has no answer to, a candidate stands again after this.
const AFTER_FAILURE: Duration = Duration::from_millis(500);

/// A candidate's place on its host.
pub trait Seat: Host {
    type Process: Process;

    /// It begins a life under a session.
    fn begins(&self, session: &<Self::Process as Process>::Session);
    /// It stands no more, and this is how it left.
    fn left(&self, departure: &Departure);
    /// How long it stays away after a resignation.
    fn rejoin_after(&self) -> Duration;

    /// Whether this belief, by its number, goes on.
    fn believes(&self, change: u64) -> bool;
    /// Sends a write to the resource, unless the answer to the one before is still out.
    fn write(&self, token: Token);
    /// From one write to the next.
    fn work_interval(&self) -> Duration;
}

/// How a candidate's life on its host ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Its session was closed and the server said so, or others still use it.
    Closed,
    /// The server did not answer the close.
    Unanswered,
}

/// Runs a candidate until its host stops or its election is deleted.
pub async fn live<S: Seat>(seat: &S, sessions: &Sessions<S::Process>, election: &Election) -> End {
    let (lifecycle, cand) = (Lifecycle::default(), seat.candidate());
    let mut ended = 0;
    loop {
        let Some(session) = sessions.obtain(cand, ended).await else { return End::Closed };
        ended = session.id();
        seat.begins(&session);
        seat.record(Event::Incarnation { t: seat.now(), cand, session: ended });
        if one_session(seat, sessions, &session, election, &lifecycle).await {
            return if sessions.close(session).await { End::Closed } else { End::Unanswered };
        }
    }
}

/// Stands under one session until that ends (false), or until the candidate is done for good.
async fn one_session<S: Seat>(
    seat: &S,
    sessions: &Sessions<S::Process>,
    session: &<S::Process as Process>::Session,
    election: &Election,
    lifecycle: &Lifecycle,
) -> bool {
    loop {
        let departure = stand(session, seat, election, lifecycle).await;
        let (t, cand, session) = (seat.now(), seat.candidate(), session.id());
        seat.record(Event::Left { t, cand, session, how: departure.clone() });
        seat.left(&departure);
        let pause = match departure {
            Departure::SessionEnded(_) => return false,
            Departure::Stopped | Departure::ElectionDeleted => return true,
            Departure::Resigned { .. } => seat.rejoin_after(),
            Departure::Failed(_) => AFTER_FAILURE,
        };
        let until = seat.now() + pause.as_nanos() as Nanos;
        if unless_stopped(&*sessions.process, seat.sleep_until(until)).await.is_none() {
            return true;
        }
    }
}

/// A leader's work: writes at once and then on every intended time, until the belief numbered `change` is over. Intended times
/// that pass while it is busy or stopped are skipped, as a busy leader would.
pub async fn work<S: Seat>(seat: &S, token: Token, change: u64) {
    let interval = (seat.work_interval().as_nanos() as Nanos).max(1);
    let mut next = seat.now();
    loop {
        seat.sleep_until(next).await;
        if !seat.believes(change) {
            return;
        }
        seat.write(token);
        let behind = seat.now().saturating_sub(next) / interval;
        next += interval * (behind + 1);
    }
}
