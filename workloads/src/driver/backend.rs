//! What makes a cell happen, as the driver sees it.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use hustings_record::{Event, Holdings, Nanos, ServerLine, ServerLoad, ServerMetrics, ServerState};

use super::effect::Effect;
use super::floor_pair::{FloorPair, FloorTaken};
use super::injury::{Injury, Proof, Remedy};
use super::state::State;
use crate::coordination::Session;
use crate::plan::{Hit, PlannedFault};

/// How far the candidates of all hosts that run have come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// How many there are.
    pub candidates: u64,
    /// Sessions that are connected.
    pub connected: u64,
    /// Candidates that stand.
    pub standing: u64,
}

/// The hosts, links and servers of one cell, its clock and its record. What is done to them comes back as a proof.
#[expect(async_fn_in_trait, reason = "one thread drives a cell: its futures need no Send")]
pub trait Backend: Sized + 'static {
    /// Why a cell cannot go on: an error of the infrastructure, or somebody's wish.
    type Error;
    /// A session of the coordinator's own.
    type Session: Session;

    fn state(&self) -> &State;
    fn now(&self) -> Nanos;
    /// Waits until the clock shows `at` or more.
    async fn sleep_until(&self, at: Nanos);
    /// Writes into the coordinator's segment. What is written through has reached the kernel when this returns.
    fn record(&self, event: Event);
    /// Tells people what goes on.
    fn progress(&self, _what: impl FnOnce() -> String) {}

    /// Tells people what they should not miss.
    fn warn(&self, _what: &str) {}

    /// Starts all that the cell needs beside its hosts, and [lays out](super::lay_out) its znodes.
    async fn set_up(self: &Rc<Self>) -> Result<(), Self::Error>;
    /// Waits until the cell, once it is set up, cannot go on.
    async fn cut_short(&self) -> Self::Error;
    /// Heals what is injured, ends every host, and takes down what was set up, however far the cell came.
    async fn tear_down(self: &Rc<Self>) -> Result<(), Self::Error>;
    /// Starts every host, and lets all its candidates stand.
    async fn start_hosts(self: &Rc<Self>) -> Result<(), Self::Error>;
    /// Every candidate stands, or it was waited for long enough.
    fn enrolled(&self) {}
    fn standing(&self) -> Standing;
    /// Waits until something about candidates, leaders or hosts may have changed, but not beyond `until`.
    async fn changed(&self, until: Nanos);
    /// How many servers there are; their ids begin with 1.
    fn servers(&self) -> u32;
    /// Path under which the cell's znodes lie, as [these sessions](Self::connect_to) see it.
    fn chroot(&self) -> &str {
        ""
    }

    /// A session over this server and no other; None: it gave none.
    async fn connect_to(&self, server: u32) -> Option<Self::Session>;
    /// Runs a task that ends with the cell, wherever it is then.
    fn spawn(&self, task: impl Future<Output = ()> + 'static);
    /// Hosts whose process runs.
    fn running(&self) -> Vec<u16>;
    /// Asks a server for its state, and for the last zxid that it says it has processed.
    async fn look(&self, server: u32) -> (ServerState, Option<i64>);
    /// How far the clock that servers' logs go by is ahead of this one now, and by how much that may be off.
    fn log_clock(&self) -> (i64, Nanos) {
        (0, 0)
    }

    /// What a server's log says about the ensemble's elections and its own pauses, and when; nothing where there is no log.
    ///
    /// # Errors
    /// A sentence on why it could not be read.
    async fn server_log(&self, server: u32) -> Result<Vec<(Nanos, ServerLine)>, String>;
    /// How often servers are asked for their load. None: there is none to ask for.
    fn load_every(&self) -> Option<Duration> {
        None
    }

    /// How loaded a server is; None: it did not say.
    async fn load(&self, _server: u32) -> Option<ServerLoad> {
        None
    }

    /// The servers' own counters, by id.
    ///
    /// # Errors
    /// Why they could not be read.
    async fn counters(&self) -> Result<BTreeMap<u32, ServerMetrics>, String>;
    /// What every server that serves has on its lists, by id, with paths as the cell's sessions see them. No server where
    /// they are somebody else's.
    ///
    /// # Errors
    /// Why they could not be read.
    async fn holdings(&self) -> Result<BTreeMap<u32, Holdings>, String>;
    /// Has two hosts take samples of the floor, one of them to delete and the other to be told. Gives what each has done; bounded.
    async fn take_floor(&self, one: FloorPair, watches: u16, deletes: u16) -> (FloorTaken, FloorTaken);
    /// Whether the floor can be measured: nobody may have been felled by now.
    fn has_floor(&self) -> bool {
        true
    }

    /// Runs a task beside the cell's other waits. A cell does not end before its background tasks.
    fn background_task(self: &Rc<Self>, task: impl Future<Output = ()> + 'static);
    /// Waits until the clock shows `at`; false when the cell is cut short before.
    async fn goes_on_until(&self, at: Nanos) -> bool;
    /// Does all that is to hit the cell, and gives the time until which is measured.
    async fn injection(self: &Rc<Self>) -> Nanos;
    /// Lies in wait on these hosts until a candidate has won on one of them and does not believe it yet, holds it there, and gives
    /// its host. None: nobody had until then.
    async fn winner(&self, hosts: &[u16], until: Nanos) -> Option<u16>;
    /// Lets the candidate go on that is held, if one is, as far as its host's process lets it.
    fn let_win(&self);
    /// Does a fault to what it hits, and verifies it. `id` is its number in the record. `effect` is told once it is in effect, if
    /// that is known before it is verified; given up while it verifies, it changes nothing more.
    async fn inject(self: &Rc<Self>, id: u32, planned: &PlannedFault, hit: &Hit, effect: &Effect) -> Injury;
    /// Undoes it.
    async fn heal(self: &Rc<Self>, remedy: &Remedy) -> Proof;
}
