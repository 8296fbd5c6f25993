//! The leader's clock of sessions. A session is filed under the tick at which it would expire. A touch only notes the
//! later time; the session is filed again when the old tick comes.

use std::collections::BTreeMap;

use super::interface::Server;
use super::op::{Code, Micros, SessionId};
use super::table::Table;

/// Sessions by the tick at which they expire.
#[derive(Debug)]
pub(super) struct Tracker {
    tick_ms: u64,
    rows: Table<SessionId, SessionRow>,
    /// Each session is in one bucket. Sessions closed in the meantime stay in theirs until its tick.
    buckets: BTreeMap<u64, Vec<SessionId>>,
}

#[derive(Debug)]
struct SessionRow {
    touched: Micros,
    expires_ms: u64,
    /// The server that it is connected to, once known.
    owner: Option<Server>,
    /// Whether its end is decided.
    is_closing: bool,
}

impl Tracker {
    pub(super) fn new(tick_ms: u64) -> Self {
        Self { tick_ms, rows: Table::default(), buckets: BTreeMap::new() }
    }

    /// Starts the clock of a session.
    pub(super) fn track(&mut self, now: Micros, session: SessionId, timeout_ms: i32, owner: Option<Server>) {
        let expires_ms = self.expires(now, timeout_ms);
        let row = SessionRow { touched: now, expires_ms, owner, is_closing: false };
        if self.rows.insert(session, row).is_none() {
            self.buckets.entry(expires_ms).or_default().push(session);
        }
    }

    /// The last touch plus T, rounded up to a tick, and always to a later one than that sum.
    fn expires(&self, now: Micros, timeout_ms: i32) -> u64 {
        ((now / 1_000 + u64::try_from(timeout_ms).unwrap_or(0)) / self.tick_ms + 1) * self.tick_ms
    }

    /// Contact with the session. False when it has ended or is about to.
    pub(super) fn touch(&mut self, now: Micros, session: SessionId, timeout_ms: i32) -> bool {
        let expires_ms = self.expires(now, timeout_ms);
        let Some(row) = self.rows.get_mut(&session).filter(|row| !row.is_closing) else { return false };
        row.touched = now;
        row.expires_ms = row.expires_ms.max(expires_ms);
        true
    }

    /// Whether this server may send a request of this session. If no server owns the session yet, this one takes it.
    ///
    /// # Errors
    /// `SessionExpired`, or `SessionMoved` when another server owns it.
    pub(super) fn check(&mut self, session: SessionId, server: Server) -> Result<(), Code> {
        let row = self.rows.get_mut(&session).filter(|row| !row.is_closing).ok_or(Code::SessionExpired)?;
        if *row.owner.get_or_insert(server) == server { Ok(()) } else { Err(Code::SessionMoved) }
    }

    /// The session is connected to this server from now on.
    pub(super) fn set_owner(&mut self, session: SessionId, server: Server) {
        if let Some(row) = self.rows.get_mut(&session) {
            row.owner = Some(server);
        }
    }

    pub(super) fn remove(&mut self, session: SessionId) {
        self.rows.remove(&session);
    }

    /// The next time at which sessions may expire. There may be none that does.
    pub(super) fn due(&self) -> Option<Micros> {
        self.buckets.first_key_value().map(|(tick_ms, _)| tick_ms * 1_000)
    }

    /// The expired sessions of the next tick, if it has come, in the order of their last touch. They are closing now.
    pub(super) fn expire(&mut self, now: Micros) -> Option<Vec<SessionId>> {
        let (&tick_ms, _) = self.buckets.first_key_value().filter(|(tick_ms, _)| **tick_ms * 1_000 <= now)?;
        let bucket = self.buckets.remove(&tick_ms)?;
        let mut expired = Vec::new();
        for session in bucket {
            let Some(row) = self.rows.get_mut(&session).filter(|row| !row.is_closing) else { continue };
            if row.expires_ms > tick_ms {
                self.buckets.entry(row.expires_ms).or_default().push(session);
            } else {
                row.is_closing = true;
                expired.push((row.touched, session));
            }
        }
        expired.sort_unstable();
        Some(expired.into_iter().map(|(_, session)| session).collect())
    }
}
