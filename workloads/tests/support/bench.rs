//! Runs candidates on the ensemble in memory, step by step.

use std::cell::RefCell;
use std::rc::Rc;

use futures::FutureExt;
use futures::executor::LocalPool;
use futures::future::{AbortHandle, abortable};
use futures::task::LocalSpawnExt;
use hustings_workloads::booth::{Departure, Order};
use hustings_workloads::recipes::{Career, Election, RecipeKind, StepDown, stand};

use super::booth::{Entry, Hall, TestBooth};
use super::ensemble::Ensemble;
use super::session::TestSession;

pub(crate) const PATH: &str = "/election/g0";

/// An election as most tests want it.
pub(crate) fn election(recipe: RecipeKind, step_down: StepDown) -> Election {
    Election { path: PATH.into(), recipe, step_down, poll_interval_ms: 100, create_missing: true }
}

struct Contender {
    session: TestSession,
    booth: TestBooth,
    terms: Career,
    departure: Rc<RefCell<Option<Departure>>>,
    life: AbortHandle,
}

pub(crate) struct Bench {
    pool: LocalPool,
    pub(crate) ensemble: Ensemble,
    pub(crate) hall: Rc<Hall>,
    contenders: Vec<Contender>,
    next_session: i64,
}

impl Bench {
    /// With the election in place, and nobody there.
    pub(crate) fn new() -> Self {
        let bench = Self::bare();
        bench.ensemble.put("/election", "", 0);
        bench.ensemble.put(PATH, "", 0);
        bench
    }

    /// With an empty tree.
    pub(crate) fn bare() -> Self {
        let (ensemble, hall) = (Ensemble::new(), Rc::default());
        Self { pool: LocalPool::new(), ensemble, hall, contenders: Vec::new(), next_session: 100 }
    }

    /// A bench on which `n` candidates stand, in this order, and the first of them leads.
    pub(crate) fn with(n: usize, election: &Election) -> Self {
        let mut bench = Self::new();
        for _ in 0..n {
            bench.enter(election);
            bench.run();
        }
        bench
    }

    fn open(&mut self) -> TestSession {
        self.next_session += 1;
        self.ensemble.open(self.next_session);
        TestSession { id: self.next_session, ensemble: self.ensemble.clone() }
    }

    /// A session of nobody in particular, for questions from outside.
    pub(crate) fn outsider(&mut self) -> TestSession {
        self.open()
    }

    /// A new candidate begins to stand; it gets to act with the next `run`.
    pub(crate) fn enter(&mut self, election: &Election) -> usize {
        let session = self.open();
        self.enter_under(session, election)
    }

    pub(crate) fn enter_under(&mut self, session: TestSession, election: &Election) -> usize {
        let index = self.contenders.len();
        let booth = TestBooth { index, hall: self.hall.clone(), orders: Rc::default() };
        let life = AbortHandle::new_pair().0;
        self.contenders.push(Contender { session, booth, terms: Career::new(), departure: Rc::default(), life });
        self.spawn(index, election);
        index
    }

    /// A candidate's process is killed: its session is left to expire.
    pub(crate) fn kill(&mut self, index: usize) {
        let contender = &self.contenders[index];
        contender.life.abort();
        *contender.departure.borrow_mut() = Some(Departure::Stopped);
        self.hall.believers.borrow_mut().remove(&index);
        self.run();
    }

    /// A candidate stands again under a new session.
    pub(crate) fn reenter(&mut self, index: usize, election: &Election) {
        assert!(self.contenders[index].departure.borrow().is_some(), "it still stands");
        let session = self.open();
        self.contenders[index].session = session;
        self.contenders[index].departure = Rc::default();
        self.spawn(index, election);
    }

    fn spawn(&mut self, index: usize, election: &Election) {
        let Contender { session, booth, terms, departure, .. } = &self.contenders[index];
        let (session, booth, terms, departure) = (session.clone(), booth.clone(), terms.clone(), departure.clone());
        let election = election.clone();
        let (candidacy, life) = abortable(async move {
            let how = stand(&session, &booth, &election, &terms).await;
            *departure.borrow_mut() = Some(how);
        });
        self.contenders[index].life = life;
        self.pool.spawner().spawn_local(candidacy.map(|_| ())).unwrap();
    }

    /// Lets everybody act until all of them wait.
    pub(crate) fn run(&mut self) {
        self.pool.run_until_stalled();
    }

    /// Moves the clock, stopping wherever somebody has something to do.
    pub(crate) fn advance_ms(&mut self, ms: u64) {
        let target = self.hall.now.get() + ms * 1_000_000;
        loop {
            self.run();
            let next = self.hall.sleepers.borrow().iter().map(|(at, _)| *at).min();
            let Some(next) = next.filter(|at| *at <= target) else { break };
            self.hall.now.set(next.max(self.hall.now.get()));
            let (due, rest) = self.hall.sleepers.take().into_iter().partition(|(at, _)| *at <= self.hall.now.get());
            self.hall.sleepers.replace(rest);
            let due: Vec<_> = due;
            due.into_iter().for_each(|(_, waker)| waker.wake());
        }
        self.hall.now.set(target.max(self.hall.now.get()));
        self.run();
    }

    pub(crate) fn order(&self, index: usize, order: Order) {
        self.messenger(index)(order);
    }

    /// Gives orders to a candidate from within a hook.
    pub(crate) fn messenger(&self, index: usize) -> impl Fn(Order) + 'static {
        let orders = self.contenders[index].booth.orders.clone();
        move |order| {
            let mut orders = orders.borrow_mut();
            orders.0.push_back(order);
            if let Some(waker) = orders.1.take() {
                waker.wake();
            }
        }
    }

    /// Takes back the orders that nobody has taken.
    pub(crate) fn clear_orders(&self) {
        self.contenders.iter().for_each(|contender| contender.booth.orders.borrow_mut().0.clear());
    }

    /// Id of the session that this candidate stands under.
    pub(crate) fn session(&self, index: usize) -> i64 {
        self.contenders[index].session.id
    }

    pub(crate) fn departure(&self, index: usize) -> Option<Departure> {
        self.contenders[index].departure.borrow().clone()
    }

    pub(crate) fn believers(&self) -> Vec<usize> {
        self.hall.believers.borrow().iter().copied().collect()
    }

    pub(crate) fn believers_max(&self) -> usize {
        self.hall.believers_max.get()
    }

    pub(crate) fn journal(&self, index: usize) -> Vec<Entry> {
        self.hall.journal.borrow().iter().filter(|line| line.0 == index).map(|line| line.2.clone()).collect()
    }

    pub(crate) fn clear_journal(&self) {
        self.hall.journal.borrow_mut().clear();
    }

    pub(crate) fn count(&self, index: usize, wanted: impl Fn(&Entry) -> bool) -> usize {
        self.journal(index).iter().filter(|entry| wanted(entry)).count()
    }

    /// How many candidates other than `index` were notified since the journal was cleared.
    pub(crate) fn others_notified(&self, index: usize) -> usize {
        let told = |i: usize| self.count(i, |entry| matches!(entry, Entry::Notified { .. })) > 0;
        (0..self.contenders.len()).filter(|i| *i != index && told(*i)).count()
    }
}
