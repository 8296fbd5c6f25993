//! The harness's part of one server: its address, its connections, and its counters outside the model.

use hustings_record::ServerState;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;

use hustings_workloads::model::{AvailabilityMetrics, Conn, Metrics, Micros};
use tokio::sync::watch;

use super::line::{ServedConnection, ServedConnectionState};

/// The state of a server's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServerProcessState {
    Down,
    Running,
    /// It does not accept, read or write. The kernel completes connections, which then wait.
    Paused,
}

#[derive(Debug)]
pub(super) struct ServedMember {
    pub(super) address: SocketAddr,
    pub(super) gate: watch::Sender<ServerProcessState>,
    /// Connections whose task is running.
    pub(super) lines: RefCell<BTreeMap<Conn, Rc<ServedConnection>>>,
    /// Whether the port is bound.
    pub(super) is_bound: Cell<bool>,
    pub(super) received: Cell<u64>,
    pub(super) sent: Cell<u64>,
    absences: RefCell<AvailabilityMetrics>,
}

impl ServedMember {
    pub(super) fn new(address: SocketAddr) -> Self {
        Self {
            address,
            gate: watch::Sender::new(ServerProcessState::Down),
            lines: RefCell::default(),
            is_bound: Cell::default(),
            received: Cell::default(),
            sent: Cell::default(),
            absences: RefCell::default(),
        }
    }

    pub(super) fn gate(&self) -> ServerProcessState {
        *self.gate.borrow()
    }

    pub(super) fn line(&self, conn: Conn) -> Option<Rc<ServedConnection>> {
        self.lines.borrow().get(&conn).cloned()
    }

    /// Resets every connection.
    pub(super) fn reset_all(&self) {
        self.lines.borrow().values().for_each(|line| line.end(ServedConnectionState::Reset));
    }

    /// Returns the milliseconds for which it looked for a leader, if it has found one.
    pub(super) fn has_become(&self, state: ServerState, now: Micros) -> u64 {
        if state == ServerState::Down {
            self.reset_counts();
        }
        self.absences.borrow_mut().has_become(now, state)
    }

    pub(super) fn reset_counts(&self) {
        self.received.set(0);
        self.sent.set(0);
    }

    pub(super) fn count(&self, metrics: &mut Metrics) {
        let counts = [
            ("packets_received", self.received.get()),
            ("packets_sent", self.sent.get()),
            ("num_alive_connections", self.lines.borrow().len() as u64),
        ];
        metrics.extend(counts.map(|(name, value)| (name.to_owned(), value as f64)));
        self.absences.borrow().count(metrics);
    }
}
