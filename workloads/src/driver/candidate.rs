//! The life of a candidate on its host: in session after session it enrols, leads, leaves and enrols again. Also its
//! work while it leads.

use std::time::Duration;

use hustings_record::numbers::nanos;
use hustings_record::{Departure, Event, Token};

use super::sessions::{Process, Sessions, unless_stopped};
use crate::coordination::Session as _;
use crate::host::Host;
use crate::recipes::{Election, Lifecycle, stand};

/// Delay before a candidate enrols again after a failure that its recipe does not handle.
const AFTER_FAILURE: Duration = Duration::from_millis(500);

/// A candidate's slot on its host.
pub trait Slot: Host {
    type Process: Process;

    /// The candidate begins an incarnation under a session.
    fn begins(&self, session: &<Self::Process as Process>::Session);
    /// The candidate has left the election, in this way.
    fn left(&self, departure: &Departure);
    /// How long it stays away after a resignation.
    fn rejoin_after(&self) -> Duration;

    /// Whether the belief with this number still holds.
    fn believes(&self, change: u64) -> bool;
    /// Sends a write to the resource, unless the previous write is still unanswered.
    fn write(&self, token: Token);
    /// Interval between writes.
    fn work_interval(&self) -> Duration;
}

/// How a candidate's life on its host ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionClosure {
    /// Its session was closed and the server confirmed it, or other candidates still use it.
    Closed,
    /// The server did not answer the close.
    Unanswered,
}

/// Runs a candidate until its host stops or its election is deleted.
pub async fn live<S: Slot>(slot: &S, sessions: &Sessions<S::Process>, election: &Election) -> SessionClosure {
    let (lifecycle, cand) = (Lifecycle::default(), slot.candidate());
    let mut ended = 0;
    loop {
        let Some(session) = sessions.obtain(cand, ended).await else { return SessionClosure::Closed };
        ended = session.id();
        slot.begins(&session);
        slot.record(Event::Incarnation { t: slot.now(), cand, session: ended });
        if one_session(slot, sessions, &session, election, &lifecycle).await {
            return if sessions.close(session).await { SessionClosure::Closed } else { SessionClosure::Unanswered };
        }
    }
}

/// Participates under one session until that ends (false), or until the candidate is done for good (true).
async fn one_session<S: Slot>(
    slot: &S,
    sessions: &Sessions<S::Process>,
    session: &<S::Process as Process>::Session,
    election: &Election,
    lifecycle: &Lifecycle,
) -> bool {
    loop {
        let departure = stand(session, slot, election, lifecycle).await;
        let (t, cand, session) = (slot.now(), slot.candidate(), session.id());
        slot.record(Event::Left { t, cand, session, how: departure.clone() });
        slot.left(&departure);
        let pause = match departure {
            Departure::SessionEnded(_) => return false,
            Departure::Stopped | Departure::ElectionDeleted => return true,
            Departure::Resigned { .. } => slot.rejoin_after(),
            Departure::Failed(_) => AFTER_FAILURE,
        };
        let until = slot.now() + nanos(pause);
        if unless_stopped(&*sessions.process, slot.sleep_until(until)).await.is_none() {
            return true;
        }
    }
}

/// A leader's work: writes at once and then at every intended time, until the belief numbered `change` is over.
/// Intended times that pass while it is busy or stopped are skipped, as a busy leader would.
pub async fn work<S: Slot>(slot: &S, token: Token, change: u64) {
    let interval = nanos(slot.work_interval()).max(1);
    let mut next = slot.now();
    loop {
        slot.sleep_until(next).await;
        if !slot.believes(change) {
            return;
        }
        slot.write(token);
        let behind = slot.now().saturating_sub(next) / interval;
        next += interval * (behind + 1);
    }
}
