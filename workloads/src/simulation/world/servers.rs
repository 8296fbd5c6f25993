//! The state of a world's servers: the model of the ensemble, and the machine side of each.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};

use hustings_record::numbers::to_u32;
use hustings_record::{Holdings, ServerState};

use super::due::{Job, ScheduledEvent};
use super::server_watch::ServerWatch;
use crate::model::{Ensemble, Metrics, Micros, Options, Server, Ticket};

/// The machine side of a server.
#[derive(Default)]
pub(crate) struct ServerSide {
    pub(crate) queue: VecDeque<Job>,
    pub(crate) free_at: Micros,
    /// Whether `ServerFree` is planned.
    pub(crate) called: bool,
    pub(crate) running: bool,
    pub(crate) paused: bool,
    /// The additional delay before it applies the leader's commits.
    pub(crate) lag_us: Micros,
}

pub(crate) struct SimServers {
    pub(crate) ensemble: RefCell<Ensemble>,
    pub(crate) sides: RefCell<Vec<ServerSide>>,
    /// Pairs of servers that cannot communicate.
    pub(crate) parted: RefCell<Vec<(Server, Server)>>,
    /// Messages held until two servers can communicate again.
    pub(crate) between: RefCell<Vec<(Server, Server, ScheduledEvent)>>,
    /// Requests ordered by the leader that wait for its log.
    pub(crate) ordered: RefCell<VecDeque<Ticket>>,
    pub(crate) committing: Cell<bool>,
    pub(crate) advance_at: Cell<Micros>,
    pub(crate) watch: RefCell<ServerWatch>,
}

impl SimServers {
    pub(super) fn new(options: Options) -> Self {
        let servers = options.servers;
        Self {
            ensemble: RefCell::new(Ensemble::new(options)),
            sides: RefCell::new((0..servers).map(|_| ServerSide::default()).collect()),
            parted: RefCell::default(),
            between: RefCell::default(),
            ordered: RefCell::default(),
            committing: Cell::new(false),
            advance_at: Cell::new(Micros::MAX),
            watch: RefCell::new(ServerWatch::new(servers)),
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.sides.borrow().len()
    }

    /// A server's answer to a request for its state: a stopped one accepts connections and does not answer.
    pub(crate) fn says(&self, server: Server) -> ServerState {
        if self.sides.borrow()[server].paused { ServerState::Silent } else { self.ensemble.borrow().state(server) }
    }

    /// Whether it serves clients.
    pub(crate) fn serves(&self, server: Server) -> bool {
        self.says(server).serves()
    }

    /// Separates two servers, or joins them: each separation must be undone. True if that changed their contact.
    pub(crate) fn cut(&self, a: Server, b: Server, parted: bool) -> bool {
        let were = self.are_parted(a, b);
        let mut pairs = self.parted.borrow_mut();
        let pair = (a.min(b), a.max(b));
        if parted {
            pairs.push(pair);
        } else if let Some(at) = pairs.iter().position(|other| *other == pair) {
            pairs.swap_remove(at);
        }
        drop(pairs);
        were != self.are_parted(a, b)
    }

    pub(crate) fn are_parted(&self, a: Server, b: Server) -> bool {
        self.parted.borrow().contains(&(a.min(b), a.max(b)))
    }

    /// The watches and ephemerals of every serving server, by id.
    pub(crate) fn holdings(&self) -> BTreeMap<u32, Holdings> {
        let ensemble = self.ensemble.borrow();
        let serving = (0..self.count()).filter(|server| self.serves(*server));
        serving.map(|server| (to_u32(server) + 1, ensemble.holdings(server))).collect()
    }

    /// Counters of every running server, by id.
    pub(crate) fn metrics(&self) -> BTreeMap<u32, Metrics> {
        let (sides, ensemble) = (self.sides.borrow(), self.ensemble.borrow());
        let running = (0..sides.len()).filter(|server| sides[*server].running);
        let of = |server| {
            let mut metrics = ensemble.metrics(server);
            self.watch.borrow().count(server, &mut metrics);
            metrics
        };
        running.map(|server| (to_u32(server) + 1, of(server))).collect()
    }
}
