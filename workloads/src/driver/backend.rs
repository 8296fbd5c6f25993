//! The backend of a cell, as the driver sees it.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use hustings_record::{Event, Holdings, Nanos, ServerLine, ServerLoad, ServerMetrics, ServerState};

use super::effect::Effect;
use super::floor_pair::{FloorPair, FloorStamps};
use super::injected_fault::{InjectedFault, Remedy, Verification};
use super::state::State;
use crate::coordination::Session;
use crate::plan::{PlannedFault, ResolvedTarget};

/// Enrolment progress of the candidates on all running hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EnrolmentProgress {
    /// Number of candidates.
    pub candidates: u64,
    /// Sessions that are connected.
    pub connected: u64,
    /// Candidates that are enrolled.
    pub standing: u64,
}

/// The hosts, links and servers of one cell, its clock and its record. Every action on them returns a [`Verification`].
#[expect(async_fn_in_trait, reason = "one thread drives a cell: its futures need no Send")]
pub trait Backend: Sized + 'static {
    /// Why a cell cannot go on: an infrastructure error, or a request to stop.
    type Error;
    /// A session of the coordinator's own.
    type Session: Session;

    fn state(&self) -> &State;
    fn now(&self) -> Nanos;
    /// Waits until the clock shows `at` or more.
    async fn sleep_until(&self, at: Nanos);
    /// Writes into the coordinator's segment. A written-through event has reached the kernel when this returns.
    fn record(&self, event: Event);
    /// Reports progress to the user.
    fn progress(&self, _what: impl FnOnce() -> String) {}

    /// Reports a warning to the user.
    fn warn(&self, _what: &str) {}

    /// Starts everything that the cell needs beside its hosts, and [lays out](super::lay_out) its znodes.
    async fn set_up(self: &Rc<Self>) -> Result<(), Self::Error>;
    /// Waits until the cell, once set up, cannot go on.
    async fn cut_short(&self) -> Self::Error;
    /// Heals active faults, ends every host, and takes down the set-up, however far the cell came.
    async fn tear_down(self: &Rc<Self>) -> Result<(), Self::Error>;
    /// Starts every host, and lets all its candidates enrol.
    async fn start_hosts(self: &Rc<Self>) -> Result<(), Self::Error>;
    /// Called when every candidate is enrolled, or the wait for that has timed out.
    fn enrolled(&self) {}
    fn standing(&self) -> EnrolmentProgress;
    /// Waits until something about candidates, leaders or hosts may have changed, but not beyond `until`.
    async fn changed(&self, until: Nanos);
    /// Number of servers; their ids begin with 1.
    fn servers(&self) -> u32;
    /// Path above the cell's znodes, as [these sessions](Self::connect_to) see it.
    fn chroot(&self) -> &str {
        ""
    }

    /// A session over this server only; `None`: the server gave none.
    async fn connect_to(&self, server: u32) -> Option<Self::Session>;
    /// Runs a task that is dropped when the cell ends.
    fn spawn(&self, task: impl Future<Output = ()> + 'static);
    /// Hosts whose process is running.
    fn running(&self) -> Vec<u16>;
    /// Asks a server for its state, and for the last zxid that it reports as processed.
    async fn look(&self, server: u32) -> (ServerState, Option<i64>);
    /// By how much the clock of the servers' logs is ahead of this clock now, and the bound on its error.
    fn log_clock(&self) -> (i64, Nanos) {
        (0, 0)
    }

    /// A server's log lines on the ensemble's elections and its own pauses, with times; empty where there is no log.
    ///
    /// # Errors
    /// Why it could not be read, as a sentence.
    async fn server_log(&self, server: u32) -> Result<Vec<(Nanos, ServerLine)>, String>;
    /// The interval at which servers are asked for their load. `None`: the load is not available.
    fn load_every(&self) -> Option<Duration> {
        None
    }

    /// The load of a server; `None`: it did not answer.
    async fn load(&self, _server: u32) -> Option<ServerLoad> {
        None
    }

    /// The servers' own counters, by id.
    ///
    /// # Errors
    /// Why they could not be read.
    async fn counters(&self) -> Result<BTreeMap<u32, ServerMetrics>, String>;
    /// The watches and ephemerals of every serving server, by id, with paths as the cell's sessions see them. Empty
    /// where the servers are shared with others.
    ///
    /// # Errors
    /// Why they could not be read.
    async fn holdings(&self) -> Result<BTreeMap<u32, Holdings>, String>;
    /// Makes two hosts take samples of the floor: one deletes, the other is notified. Returns both results; bounded.
    async fn take_floor(&self, one: FloorPair, watches: u16, deletes: u16) -> (FloorStamps, FloorStamps);
    /// Whether the floor can be measured: not once a host may have been felled.
    fn has_floor(&self) -> bool {
        true
    }

    /// Runs a task beside the cell's other waits. A cell does not end before its background tasks.
    fn background_task(self: &Rc<Self>, task: impl Future<Output = ()> + 'static);
    /// Waits until the clock shows `at`; false when the cell is cut short before that.
    async fn goes_on_until(&self, at: Nanos) -> bool;
    /// Performs all injections of the cell, and returns the end of the measured time.
    async fn injection(self: &Rc<Self>) -> Nanos;
    /// Waits on these hosts until a candidate has won on one of them but does not believe it yet. Holds it there and
    /// returns its host. `None`: no candidate won before `until`.
    async fn winner(&self, hosts: &[u16], until: Nanos) -> Option<u16>;
    /// Releases the held candidate, if there is one, as far as its host's process allows it.
    fn let_win(&self);
    /// Injects a fault into its target, and verifies it. `id` is its number in the record. `effect` is notified once it
    /// is in effect, if that is known before it is verified. If dropped while it verifies, it changes nothing more.
    async fn inject(
        self: &Rc<Self>,
        id: u32,
        planned: &PlannedFault,
        hit: &ResolvedTarget,
        effect: &Effect,
    ) -> InjectedFault;
    /// Undoes a fault.
    async fn heal(self: &Rc<Self>, remedy: &Remedy) -> Verification;
}
