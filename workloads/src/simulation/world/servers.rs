//! The servers of a world, as they stand: the model of the ensemble, and each of them as far as the machine goes.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};

use hustings_record::{Holdings, ServerState};

use super::due::{Due, Job};
use super::server_watch::ServerWatch;
use crate::model::{Ensemble, Metrics, Micros, Options, Server, Ticket};

/// A server as far as the machine goes.
#[derive(Default)]
pub(crate) struct ServerSide {
    pub(crate) queue: VecDeque<Job>,
    pub(crate) free_at: Micros,
    /// `ServerFree` is planned.
    pub(crate) called: bool,
    pub(crate) running: bool,
    pub(crate) paused: bool,
    /// It applies what the leader commits so much later.
    pub(crate) lag_us: Micros,
}

pub(crate) struct SimServers {
    pub(crate) ensemble: RefCell<Ensemble>,
    pub(crate) sides: RefCell<Vec<ServerSide>>,
    /// Pairs of servers that cannot speak to each other.
    pub(crate) parted: RefCell<Vec<(Server, Server)>>,
    /// What waits for two servers to speak again.
    pub(crate) between: RefCell<Vec<(Server, Server, Due)>>,
    /// Ordered by the leader, waiting for its log.
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

    /// What a server answers to who asks for its state: a stopped one takes connections and answers nothing.
    pub(crate) fn says(&self, server: Server) -> ServerState {
        if self.sides.borrow()[server].paused { ServerState::Silent } else { self.ensemble.borrow().state(server) }
    }

    /// Whether clients are served there.
    pub(crate) fn serves(&self, server: Server) -> bool {
        self.says(server).serves()
    }

    /// Parts two servers, or joins them: each parting has to be taken back. True when that changed whether they can speak.
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

    /// What every server that serves has on its lists, by id.
    pub(crate) fn holdings(&self) -> BTreeMap<u32, Holdings> {
        let ensemble = self.ensemble.borrow();
        let serving = (0..self.count()).filter(|server| self.serves(*server));
        serving.map(|server| (server as u32 + 1, ensemble.holdings(server))).collect()
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
        running.map(|server| (server as u32 + 1, of(server))).collect()
    }
}
