//! Who is told what happens: a simulation keeps no record of its own.

use std::collections::BTreeMap;

use crate::booth::{Departure, Nanos, Report, Token};
use crate::coordination::SessionState;
use crate::model::{Metrics, Micros, Role, Said, Zxid};
use crate::plan::{Hit, PlannedFault};
use crate::resource::Taken;

/// Takes down what happens.
pub trait Witness {
    /// `at` is the time of the simulated world.
    fn saw(&self, at: Micros, by: By, what: Saw<'_>);
}

/// Who tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Coordinator,
    Observer,
    Host(u16),
}

/// The phases of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    SetUp,
    Enrol,
    WarmUp,
    Measure,
    Heal,
    Drain,
    TearDown,
    End,
}

/// What happened.
#[derive(Debug)]
pub enum Saw<'a> {
    Phase(Phase),
    HostStarted {
        host: u16,
        life: u32,
    },
    HostEnded {
        host: u16,
        life: u32,
        killed: bool,
    },
    Candidate {
        cand: u32,
        group: u32,
    },
    Session {
        session: i64,
        timeout_ms: u64,
        asked_ms: u64,
        took_us: Micros,
    },
    State {
        session: i64,
        state: SessionState,
    },
    Incarnation {
        cand: u32,
        session: i64,
    },
    /// `requests`: sent since the candidate joined or was last notified.
    Report {
        cand: u32,
        session: i64,
        requests: u32,
        report: Report<'a>,
    },
    Left {
        cand: u32,
        session: i64,
        departure: &'a Departure,
    },
    Fault {
        planned: &'a PlannedFault,
        intended: Micros,
        hit: &'a Hit,
    },
    /// What was seen of a fault's effect or end, which came between `from` and `to`. `touches`: for sessions left to expire,
    /// when bytes of theirs last went up.
    Receipt {
        id: u32,
        healed: bool,
        from: Micros,
        to: Micros,
        verified: bool,
        evidence: String,
        touches: Vec<(i64, Micros)>,
    },
    Write {
        group: u32,
        cand: u32,
        host: u16,
        token: Token,
        taken: Taken,
    },
    Fence {
        group: u32,
        by: u32,
        old: Token,
        how: &'static str,
        done: bool,
    },
    /// Who owns the lead of a group from now on: session, name of the znode, czxid.
    Owner {
        group: u32,
        owner: Option<(i64, String, Zxid)>,
    },
    /// Counters of every running server, by id.
    Servers {
        at: &'static str,
        metrics: BTreeMap<u32, Metrics>,
    },
    /// From here on every change of a server's state is told.
    ServerWatch,
    /// The server's id, its role, and what it has applied. No role: it takes connections and answers nothing.
    Server {
        server: u32,
        role: Option<Role>,
        zxid: Zxid,
    },
    /// A server's log has a new line.
    ServerSaid {
        server: u32,
        said: Said,
    },
    /// So many states of a server were told; there are no more.
    ServerWatched {
        server: u32,
        states: u64,
    },
    /// Probes write through every server, one write after the other, so long after the last was acknowledged.
    WriteProbe {
        every_us: Micros,
    },
    /// No write of the probes was acknowledged meanwhile; `ended`: nor was one before the probes ended.
    WriteGap {
        from: Nanos,
        to: Nanos,
        ended: bool,
    },
    /// The probes have ended.
    WriteProbed {
        acknowledged: u64,
    },
    /// One sample of the floor.
    Floor {
        deleted: Nanos,
        notified: Nanos,
        listed: Nanos,
    },
    Note {
        cand: Option<u32>,
        text: String,
    },
}
