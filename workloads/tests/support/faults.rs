//! What a test can do to sessions and their requests.

use std::rc::Rc;

use hustings_workloads::coordination::{SessionEnd, SessionState};

use super::booth::Hall;
use super::ensemble::{Act, Ensemble, Hook, Kind, deliver};

impl Ensemble {
    pub(crate) fn before(&self, session: i64, kind: Kind, part: &str, act: impl FnOnce(&Ensemble) + 'static) {
        self.hook(Some(session), kind, part, Act::Before(Box::new(act)));
    }

    pub(crate) fn drop_reply(&self, session: i64, kind: Kind, part: &str) {
        self.hook(Some(session), kind, part, Act::DropReply);
    }

    pub(crate) fn hold_reply(&self, session: i64, kind: Kind, part: &str) {
        self.hook(Some(session), kind, part, Act::HoldReply);
    }

    pub(crate) fn clear_hooks(&self) {
        self.state().hooks.clear();
    }

    fn hook(&self, session: Option<i64>, kind: Kind, part: &str, act: Act) {
        self.state().hooks.push(Hook { session, kind, part: part.to_owned(), act });
    }

    /// The connection goes and the client knows.
    pub(crate) fn disconnect(&self, id: i64) {
        self.change(id, SessionState::Disconnected);
    }

    pub(crate) fn reconnect(&self, id: i64) {
        self.change(id, SessionState::Connected);
        let missed = self.state().sessions.get_mut(&id).map(|row| std::mem::take(&mut row.missed)).unwrap_or_default();
        missed.into_iter().for_each(|(slot, event)| deliver(&slot, event));
    }

    /// Nothing passes and nobody is told.
    pub(crate) fn silence(&self, id: i64) {
        if let Some(row) = self.state().sessions.get_mut(&id) {
            row.silent = true;
        }
    }

    /// The ensemble ends the session; its client learns of it when `tell` is called.
    pub(crate) fn expire_untold(&self, id: i64) {
        let gone = if self.state().keeps_ephemerals { Vec::new() } else { self.owned_by(id) };
        self.state().watches.retain(|watch| watch.session != id);
        for path in gone {
            self.remove(&path);
        }
    }

    pub(crate) fn tell(&self, id: i64) {
        self.change(id, SessionState::Ended(SessionEnd::Expired));
    }

    pub(crate) fn expire(&self, id: i64) {
        self.expire_untold(id);
        self.tell(id);
    }

    /// The server forgets what this session watches, as after a reconnect whose watches got lost.
    pub(crate) fn forget_watches(&self, id: i64) {
        let mut state = self.state();
        state.watches.retain(|watch| watch.session != id);
        if let Some(row) = state.sessions.get_mut(&id) {
            row.missed.clear();
        }
    }

    pub(crate) fn hold_events(&self) {
        self.state().hold_events = true;
    }

    /// Events of one session are late.
    pub(crate) fn hold_events_of(&self, id: i64) {
        self.state().held_sessions.insert(id);
    }

    /// The end of a session leaves its znodes, from now on.
    pub(crate) fn keep_ephemerals(&self) {
        self.state().keeps_ephemerals = true;
    }

    /// From now on this session's requests are under way for so long, and their answers as well.
    pub(crate) fn slow(&self, id: i64, ms: u64, hall: &Rc<Hall>) {
        self.state().slow.insert(id, (ms, hall.clone()));
    }

    pub(crate) fn release_events(&self) {
        let held = {
            let mut state = self.state();
            state.hold_events = false;
            state.held_sessions.clear();
            std::mem::take(&mut state.held_events)
        };
        held.into_iter().for_each(|(slot, event)| deliver(&slot, event));
    }
}
