//! The world of one simulated cell: its clock, its servers, its network, its clients, and the planned events. This file
//! has the state; the files that use it have the actions, and this one depends on none of them.

mod agenda;
mod client;
mod clock;
mod cores;
mod due;
mod link;
mod message;
mod network;
mod owners;
mod server_watch;
mod servers;
mod size;
mod sync_points;
mod watches;

use std::cell::RefCell;
use std::rc::Rc;

use futures::executor::LocalSpawner;
use futures::task::LocalSpawnExt as _;
use hustings_record::Event;
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;

pub(crate) use self::client::{AnswerSlot, Client, ClientOwner, PendingAnswer};
pub use self::clock::BEGIN_NS;
pub(crate) use self::clock::{Clock, micros, nanos};
use self::cores::Cores;
pub(crate) use self::due::{COORDINATOR, ClientId, ClientTimer, Job, ScheduledEvent};
pub(crate) use self::link::{Link, LostReply, ServerSet};
pub(crate) use self::message::{FromClient, ToClient};
pub(crate) use self::network::{Network, SimConnection};
pub(crate) use self::owners::Owners;
pub(crate) use self::servers::{ServerSide, SimServers};
pub(crate) use self::sync_points::{AnswerDelivery, ArmedSyncPoint, RequestDelivery, SyncPointEffect, SyncPoints};
pub(crate) use self::watches::{WatchDelivery, WatchRequest, WatchSlot, WatchSubject, Watches};
use super::event_sink::{EventSink, Writer};
use super::timing::Timing;
use crate::model::{Micros, Options};

pub(crate) struct SimWorld {
    pub(crate) clock: Clock,
    pub(crate) rng: RefCell<ChaCha8Rng>,
    pub(crate) timing: Timing,
    pub(crate) tick_us: Micros,
    pub(crate) cores: Cores,
    pub(crate) network: Network,
    pub(crate) servers: SimServers,
    pub(crate) clients: RefCell<Vec<Client>>,
    pub(crate) sync_points: RefCell<SyncPoints>,
    pub(crate) owners: RefCell<Owners>,
    sink: Rc<dyn EventSink>,
    spawner: LocalSpawner,
}

impl SimWorld {
    pub(crate) fn new(
        options: Options,
        timing: Timing,
        hosts: u16,
        owners: Owners,
        rng: ChaCha8Rng,
        sink: Rc<dyn EventSink>,
        spawner: LocalSpawner,
    ) -> Rc<Self> {
        Rc::new(Self {
            clock: Clock::new(),
            rng: RefCell::new(rng),
            tick_us: options.tick_ms * 1_000,
            cores: Cores::new(timing.cores),
            timing,
            network: Network::new(hosts),
            servers: SimServers::new(options),
            clients: RefCell::default(),
            sync_points: RefCell::default(),
            owners: RefCell::new(owners),
            sink,
            spawner,
        })
    }

    /// Forgets everything that was planned: the world ends, and nothing in it keeps it alive.
    pub(crate) fn end(&self) {
        drop(self.sync_points.take());
        self.clock.forget();
        self.network.hosts.borrow_mut().clear();
        self.servers.between.borrow_mut().clear();
        drop(self.clients.take());
    }

    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        // The pool outlives the world: spawning fails only once the pool is shut down.
        let _ = self.spawner.spawn_local(task);
    }

    pub(crate) fn record(&self, writer: Writer, event: Event) {
        self.sink.record(writer, event);
    }

    /// Notes an incident that is not an event of its own.
    pub(crate) fn note(&self, writer: Writer, cand: Option<u32>, text: impl Into<String>) {
        self.record(writer, Event::Note { t: self.clock.nanos(), cand, text: text.into() });
    }

    /// A random number below `below` (0 for 0).
    pub(crate) fn draw(&self, below: u64) -> u64 {
        if below == 0 { 0 } else { self.rng.borrow_mut().random_range(0..below) }
    }

    /// When a server or host that is free at `free_at` has done this much work.
    pub(crate) fn worked(&self, free_at: Micros, cost: Micros) -> Micros {
        self.cores.worked(self.clock.now(), free_at, cost)
    }
}
