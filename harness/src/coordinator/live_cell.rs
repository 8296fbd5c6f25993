//! A cell under way on real processes: its parts, and the actions that need several of them.

use std::cell::RefCell;
use std::rc::Rc;

use hustings_workloads::driver::{FloorPair, FloorPart, FloorStamps, State};
use hustings_workloads::host::Token;
use hustings_workloads::scenario::{Cell, placement};
use tokio::sync::mpsc;

use crate::coordinator::background_tasks::BackgroundTasks;
use crate::coordinator::cell_hosts::CellHosts;
use crate::coordinator::cell_status::CellStatus;
use crate::coordinator::environment::Environment;
use crate::coordinator::hosts::{HostMessage, Inbox};
use crate::coordinator::observer_task::ObserverTask;
use crate::coordinator::sync_point::SyncPoint;
use crate::coordinator::unanswered_writes::{UnansweredWrite, UnansweredWrites};
use crate::process::clock;
use crate::protocol::{ToHost, WriteAnswer};
use crate::recording::journal::Journal;

/// The result of one part of the floor's samples.
pub(super) type FloorReply = (FloorPart, FloorPair, FloorStamps);

/// A cell before its set-up, and the receiver of its hosts' messages.
pub(super) type NewCell = (Rc<LiveCell>, mpsc::Receiver<HostMessage>);

/// The parts of one cell under way. Single-threaded.
pub(crate) struct LiveCell {
    pub(super) state: Rc<State>,
    pub(super) journal: Journal,
    pub(super) environment: Rc<Environment>,
    pub(super) status: Rc<CellStatus>,
    pub(super) hosts: CellHosts,
    /// Set by the set-up; without candidates there is nothing to observe.
    pub(super) watching: RefCell<Option<ObserverTask>>,
    pub(super) floor: RefCell<Option<mpsc::Sender<FloorReply>>>,
    pub(super) sync_point: SyncPoint,
    /// Writes that the resource withholds for now.
    pub(super) hung: UnansweredWrites,
    pub(super) background_tasks: BackgroundTasks,
}

impl LiveCell {
    pub(super) fn new(cell: Rc<Cell>, environment: Environment, journal: Journal) -> NewCell {
        let Inbox { sender, receiver } = Inbox::new();
        let placed = placement(&cell, environment.seed);
        let state = Rc::new(State::new(cell, environment.seed, placed));
        let (environment, status) = (Rc::new(environment), Rc::<CellStatus>::default());
        let live = Self {
            hosts: CellHosts::new(state.clone(), journal.clone(), environment.clone(), status.clone(), sender),
            background_tasks: BackgroundTasks::new(status.clone()),
            state,
            journal,
            environment,
            status,
            watching: RefCell::default(),
            floor: RefCell::default(),
            sync_point: SyncPoint::default(),
            hung: UnansweredWrites::default(),
        };
        (Rc::new(live), receiver)
    }

    /// Passes a write to the resource and sends the reply.
    pub(super) fn take(&self, write: UnansweredWrite) {
        let UnansweredWrite { host, generation, cand, token, sent } = write;
        let Some(group) = self.state.leaders.borrow().group_of(cand) else { return };
        let taken = self.state.resource.borrow_mut().write(group as usize, cand, token);
        self.journal.push(&taken.event((sent, clock::now()), group, (cand, host), token));
        let answer = WriteAnswer { seq: taken.seq, refused: taken.fenced_rejected };
        self.hosts.tell(host, generation, ToHost::Written { cand, answer });
    }

    /// The token of the znode of this name, if the observer knows that znode under the token's session.
    pub(super) fn token_of(&self, cand: u32, token: Token, node: &str) -> Token {
        let group = self.state.leaders.borrow().group_of(cand);
        let watching = self.watching.borrow();
        let czxid = group
            .zip(watching.as_ref())
            .and_then(|(group, watching)| watching.groups.borrow().get(group as usize)?.czxid_of(node, token.session));
        Token { czxid: czxid.unwrap_or(token.czxid), ..token }
    }

    /// Passes the withheld writes of a host to the resource. Returns their number.
    pub(super) fn take_withheld(&self, host: u16) -> usize {
        let withheld = self.hung.end(host);
        let count = withheld.len();
        withheld.into_iter().for_each(|write| self.take(write));
        count
    }
}
