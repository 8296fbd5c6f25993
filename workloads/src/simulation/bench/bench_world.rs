//! What a test can observe on a bench, and its actions there. Candidates are identified by index.

use hustings_record::Direction;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use hustings_record::Event;
use hustings_record::numbers::{to_u16, to_usize, whole};

use super::bench_candidate::{BenchCandidate, BenchSlot, BenchState, JournalEntry};
use crate::coordination::{CreateMode, Session as _};
use crate::host::{Departure, Order};
use crate::model::{ANY_VERSION, Acl, Request, Znode};
use crate::recipes::{Election, stand};
use crate::simulation::session::SimSession;
use crate::simulation::world::{AnswerSlot, ClientId, ClientOwner, SimWorld};

/// The session timeout of all candidates.
pub const TIMEOUT_MS: u64 = 2_000;
/// The path of the election under test.
pub const PATH: &str = "/election/g0";

/// The world of a bench and its contenders.
pub struct BenchWorld {
    pub(super) world: Rc<SimWorld>,
    /// An unrelated session, for requests and actions from outside; `None` at the end.
    outside: RefCell<Option<Rc<SimSession>>>,
    candidates: RefCell<Vec<Rc<BenchCandidate>>>,
    pub(super) state: Rc<BenchState>,
}

impl BenchWorld {
    pub(super) fn new(world: Rc<SimWorld>, outside: SimSession) -> Rc<Self> {
        Rc::new(Self {
            world,
            outside: RefCell::new(Some(Rc::new(outside))),
            candidates: RefCell::default(),
            state: Rc::default(),
        })
    }

    pub(super) fn clear(&self) {
        self.world.sync_points.borrow_mut().clear();
        self.candidates.borrow_mut().clear();
        self.outside.borrow_mut().take();
    }

    pub(super) fn outside(&self) -> Rc<SimSession> {
        self.outside.borrow().clone().expect("it is not over")
    }

    // ---- candidates enter and leave

    /// A new candidate begins to enrol under its own session.
    pub fn enter(self: &Rc<Self>, election: &Election) -> usize {
        self.enter_with(None, election)
    }

    /// A new candidate begins to enrol under another one's session.
    pub fn enter_beside(self: &Rc<Self>, other: usize, election: &Election) -> usize {
        let shared = self.candidate(other).session.borrow().as_ref().map(|session| session.share());
        self.enter_with(shared, election)
    }

    fn enter_with(self: &Rc<Self>, session: Option<SimSession>, election: &Election) -> usize {
        self.candidates.borrow_mut().push(Rc::default());
        let index = self.candidates.borrow().len() - 1;
        self.begin(index, session, election);
        index
    }

    /// A departed candidate enrols again under a new session.
    pub fn reenter(self: &Rc<Self>, index: usize, election: &Election) {
        let candidate = self.candidate(index);
        assert!(candidate.departure.borrow_mut().take().is_some(), "it still stands");
        // A departed candidate drops its session.
        candidate.session.borrow_mut().take();
        self.begin(index, None, election);
    }

    fn begin(self: &Rc<Self>, index: usize, session: Option<SimSession>, election: &Election) {
        self.world.network.hosts.borrow_mut()[index].alive = true;
        self.release(index);
        let (world, state) = (self.world.clone(), self.state.clone());
        let (own, election) = (self.candidate(index), election.clone());
        self.world.spawn(async move {
            let number = to_u16(index);
            let owner = ClientOwner { host: number, cand: Some(number.into()), told: false };
            let session = match session {
                Some(session) => session,
                None => SimSession::connect(&world, owner, TIMEOUT_MS).await.expect("a session"),
            };
            let session = Rc::new(session);
            own.session.replace(Some(session.clone()));
            let place = BenchSlot { number, world, state, candidate: own.clone() };
            let how = stand(&*session, &place, &election, &own.lifecycle).await;
            own.departure.replace(Some(how));
        });
    }

    pub fn order(&self, index: usize, order: Order) {
        self.candidate(index).give(order);
    }

    /// From now on fencing fails for everyone, or succeeds again.
    pub fn let_fencing_fail(&self, fails: bool) {
        self.state.fencing_fails.set(fails);
    }

    /// Discards the orders that have not been taken.
    pub fn clear_orders(&self) {
        self.candidates.borrow().iter().for_each(|candidate| candidate.forget_orders());
    }

    // ---- observations

    #[must_use]
    pub fn departure(&self, index: usize) -> Option<Departure> {
        self.candidate(index).departure.borrow().clone()
    }

    #[must_use]
    pub fn believers(&self) -> Vec<usize> {
        self.state.believers.borrow().iter().copied().collect()
    }

    /// The most simultaneous believers so far.
    #[must_use]
    pub fn believers_max(&self) -> usize {
        self.state.believers_max.get()
    }

    #[must_use]
    pub fn journal(&self, index: usize) -> Vec<JournalEntry> {
        self.state.journal.borrow().iter().filter(|line| line.0 == index).map(|line| line.1.clone()).collect()
    }

    pub fn clear_journal(&self) {
        self.state.journal.borrow_mut().clear();
    }

    pub fn count(&self, index: usize, wanted: impl Fn(&JournalEntry) -> bool) -> usize {
        self.journal(index).iter().filter(|entry| wanted(entry)).count()
    }

    /// How many candidates other than this one were notified since the journal was cleared.
    #[must_use]
    pub fn others_notified(&self, index: usize) -> usize {
        let notified = |entry: &JournalEntry| matches!(entry, JournalEntry::Said(Event::Notified { .. }));
        let journal = self.state.journal.borrow();
        let told = journal.iter().filter(|line| line.0 != index && notified(&line.1)).map(|line| line.0);
        told.collect::<BTreeSet<usize>>().len()
    }

    /// Id of the current or last session of a candidate.
    #[must_use]
    pub fn session(&self, index: usize) -> i64 {
        self.session_of(index).id()
    }

    /// How many requests a candidate has sent under its session.
    #[must_use]
    pub fn requests(&self, index: usize) -> u64 {
        self.session_of(index).requests()
    }

    fn session_of(&self, index: usize) -> Rc<SimSession> {
        self.candidate(index).session.borrow().clone().expect("it has a session")
    }

    fn client(&self, index: usize) -> ClientId {
        self.session_of(index).client()
    }

    fn znodes<T>(&self, of: impl Fn(&Znode<'_>) -> Option<T>) -> Vec<T> {
        let ensemble = self.world.servers.ensemble.borrow();
        let leader = ensemble.leader().expect("the servers have a leader");
        ensemble.znodes(leader).filter_map(|znode| of(&znode)).collect()
    }

    /// Paths of all descendants of this znode.
    #[must_use]
    pub fn paths(&self, under: &str) -> Vec<String> {
        let prefix = format!("{under}/");
        self.znodes(|znode| znode.path.starts_with(&prefix).then(|| znode.path.to_owned()))
    }

    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        self.data(path).is_some()
    }

    #[must_use]
    pub fn data(&self, path: &str) -> Option<String> {
        self.znodes(|znode| (znode.path == path).then(|| String::from_utf8_lossy(znode.data).into_owned())).pop()
    }

    /// Paths of the znodes that a candidate's session owns.
    #[must_use]
    pub fn owned(&self, index: usize) -> Vec<String> {
        let id = self.session(index);
        self.znodes(|znode| (znode.stat.ephemeral_owner == id).then(|| znode.path.to_owned()))
    }

    /// Number of watches at all servers.
    #[must_use]
    pub fn watches(&self) -> usize {
        let ensemble = self.world.servers.ensemble.borrow();
        (0..ensemble.servers()).map(|server| to_usize(whole(ensemble.metrics(server)["watch_count"]))).sum()
    }

    // ---- actions from outside, executed with the next `run`

    fn send(&self, request: Request) {
        self.world.send(self.outside().client(), request, AnswerSlot::default());
    }

    fn create(&self, path: &str, data: &str, mode: CreateMode) {
        let (path, data) = (path.to_owned(), data.as_bytes().to_vec());
        self.send(Request::Create { path, data, acl: Acl::open(), kind: mode.into(), with_stat: false });
    }

    pub fn put(&self, path: &str, data: &str) {
        self.create(path, data, CreateMode::Persistent);
    }

    pub fn put_ephemeral(&self, path: &str) {
        self.create(path, "", CreateMode::Ephemeral);
    }

    pub fn set(&self, path: &str, data: &str) {
        self.send(Request::SetData { path: path.into(), data: data.as_bytes().to_vec(), version: ANY_VERSION });
    }

    pub fn remove(&self, path: &str) {
        self.send(Request::Delete { path: path.into(), version: ANY_VERSION });
    }

    /// Deletes a znode with all its descendants.
    pub fn remove_all(&self, path: &str) {
        self.paths(path).iter().rev().for_each(|child| self.remove(child));
        self.remove(path);
    }

    /// The next sequential znode in the election gets this number.
    pub fn count_from(&self, number: i32) {
        self.world.servers.ensemble.borrow_mut().count_from(PATH, number);
    }

    // ---- actions on sessions

    /// The connection is lost, the client knows, and it cannot reconnect.
    pub fn disconnect(&self, index: usize) {
        self.hold(index, Direction::Both);
        self.flap(index);
    }

    /// Everything passes again, and a client without a connection reconnects at once.
    pub fn reconnect(&self, index: usize) {
        self.release(index);
        self.world.dial_anew(self.client(index));
    }

    /// The connection is lost and is back at once.
    pub fn flap(&self, index: usize) {
        self.world.reset_host(to_u16(index));
    }

    /// Nothing passes, and the client is not notified.
    pub fn silence(&self, index: usize) {
        self.hold(index, Direction::Both);
    }

    /// Answers and notifications are held.
    pub fn hold_answers(&self, index: usize) {
        self.hold(index, Direction::Down);
    }

    /// Held messages pass.
    pub fn release(&self, index: usize) {
        self.world.release(to_u16(index));
    }

    /// The servers end the session, and its client is notified.
    pub fn expire(self: &Rc<Self>, index: usize) {
        let own = self.clone();
        self.world.end_session(self.session(index), Some(self.client(index)), move |_| own.reconnect(index));
    }

    /// The servers end the session, and its client is not notified before the next `reconnect`.
    pub fn expire_untold(&self, index: usize) {
        self.hold(index, Direction::Both);
        self.world.end_session(self.session(index), Some(self.client(index)), |_| {});
    }

    fn hold(&self, index: usize, way: Direction) {
        self.world.network.hold(to_u16(index), way);
    }

    pub(super) fn candidate(&self, index: usize) -> Rc<BenchCandidate> {
        self.candidates.borrow()[index].clone()
    }
}
