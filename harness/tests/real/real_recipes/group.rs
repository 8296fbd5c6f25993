//! One group of candidates on the real ensemble.

use hustings_record::StepDown;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use hustings::access::Access;
use hustings::client::session::ZkSession;
use hustings::client::take_over::take_over_and_close;
use hustings_workloads::coordination::{CreateMode, Session as _, SessionState, States as _};
use hustings_workloads::host::{Departure, Order};
use hustings_workloads::recipes::election::{Lead, leader};
use hustings_workloads::recipes::{Election, Lifecycle, RecipeKind, names, stand};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;

use super::host::{Entry, GroupState, TestHost};
use crate::real_support::{CLOSE_AT_MOST, ServerStage};

pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);

/// Longer than any machine needs.
const SOON: Duration = Duration::from_secs(30);

struct Candidate {
    session: Rc<ZkSession>,
    terms: Lifecycle,
    orders: mpsc::Sender<Order>,
    departure: Rc<RefCell<Option<Departure>>>,
    task: JoinHandle<()>,
}

/// Creates this path with all its ancestors, where they do not exist.
pub(crate) async fn make_path(session: &ZkSession, path: &str) {
    let ends = path.match_indices('/').map(|(at, _)| at).skip(1).chain([path.len()]);
    for end in ends {
        // It may exist.
        let _ = session.create(&path[..end], b"", CreateMode::Persistent).await;
    }
}

pub(crate) struct Group<'a> {
    pub(crate) stage: &'a ServerStage,
    pub(crate) election: Election,
    pub(crate) shared: Rc<GroupState>,
    /// A session that does not take part, for requests.
    pub(crate) outsider: ZkSession,
    candidates: RefCell<Vec<Candidate>>,
}

impl<'a> Group<'a> {
    pub(crate) async fn new(stage: &'a ServerStage, recipe: RecipeKind) -> Self {
        let election = Election {
            path: format!("/election/g{}-{recipe}", stage.fresh()),
            recipe,
            step_down: StepDown::OnDisconnect,
            poll_interval_ms: 50,
            create_missing: true,
        };
        let outsider = stage.direct(TIMEOUT).await;
        Self { stage, election, shared: Rc::default(), outsider, candidates: RefCell::default() }
    }

    /// A group of this many candidates without links, the first of which leads.
    pub(crate) async fn of(stage: &'a ServerStage, recipe: RecipeKind, candidates: usize) -> Self {
        let group = Self::new(stage, recipe).await;
        for _ in 0..candidates {
            let session = stage.direct(TIMEOUT).await;
            group.joins(session).await;
        }
        group.is_led_by(0).await;
        group
    }

    /// The next candidate enrols; returns its number.
    pub(crate) fn enter(&self, session: ZkSession) -> u32 {
        self.enter_for(Rc::new(session), self.election.clone())
    }

    pub(crate) fn enter_for(&self, session: Rc<ZkSession>, election: Election) -> u32 {
        let number = self.candidates.borrow().len() as u32;
        let candidate = self.start(number, session, election, Lifecycle::new());
        self.candidates.borrow_mut().push(candidate);
        number
    }

    /// Enters, and waits until the candidate has joined.
    pub(crate) async fn joins(&self, session: ZkSession) -> u32 {
        let number = self.enter(session);
        self.until("it joins", || self.said(number).contains(&Entry::Joined)).await;
        number
    }

    /// A candidate that has left enrols again, under its existing session.
    pub(crate) fn stand_again(&self, number: u32) {
        let candidate = self.candidates.borrow_mut().remove(number as usize);
        let again = self.start(number, candidate.session, self.election.clone(), candidate.terms);
        self.candidates.borrow_mut().insert(number as usize, again);
    }

    fn start(&self, number: u32, session: Rc<ZkSession>, election: Election, terms: Lifecycle) -> Candidate {
        let (orders, receiver) = mpsc::channel(8);
        let host = TestHost { candidate: number, shared: self.shared.clone(), orders: Mutex::new(receiver) };
        let departure = Rc::new(RefCell::new(None));
        let (left, standing, counter) = (departure.clone(), session.clone(), terms.clone());
        let task = tokio::task::spawn_local(async move {
            let departure = stand(&*standing, &host, &election, &counter).await;
            left.replace(Some(departure));
        });
        Candidate { session, terms, orders, departure, task }
    }

    pub(crate) fn order(&self, number: u32, order: Order) {
        self.candidates.borrow()[number as usize].orders.try_send(order).expect("it listens");
    }

    pub(crate) fn session(&self, number: u32) -> Rc<ZkSession> {
        self.candidates.borrow()[number as usize].session.clone()
    }

    /// Makes the ensemble end the candidate's session, as after a crash. The candidate and its successor are notified
    /// in either order: two may believe for a moment.
    pub(crate) async fn expire(&self, number: u32) {
        let info = self.session(number).info();
        take_over_and_close(&Access::default(), &self.stage.cluster, info, CLOSE_AT_MOST).await.expect("expired");
    }

    pub(crate) async fn reconnects(&self, number: u32) {
        let mut states = self.session(number).states();
        let connected = async {
            let mut state = states.now();
            while state != SessionState::Connected {
                state = states.changed().await;
            }
        };
        tokio::time::timeout(SOON, connected).await.expect("connected again");
    }

    pub(crate) async fn departs(&self, number: u32) -> Departure {
        self.until("it departs", || self.departure(number).is_some()).await;
        self.departure(number).expect("it did")
    }

    pub(crate) fn departure(&self, number: u32) -> Option<Departure> {
        self.candidates.borrow()[number as usize].departure.borrow().clone()
    }

    pub(crate) async fn resigns(&self, number: u32) {
        self.order(number, Order::Resign);
        let departure = self.departs(number).await;
        assert!(matches!(departure, Departure::Resigned { delete: Some(_) }), "{number}: {departure:?}");
    }

    pub(crate) async fn until(&self, what: &str, is: impl Fn() -> bool) {
        let started = Instant::now();
        while !is() {
            assert!(
                started.elapsed() < SOON,
                "{what}: not within {SOON:?}; believers {:?}, journal {:?}",
                self.shared.believers.borrow(),
                self.shared.journal.borrow()
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub(crate) async fn is_led_by(&self, number: u32) {
        self.until(&format!("{number} leads"), || self.shared.believers.borrow().iter().eq([&number])).await;
    }

    /// Waits until exactly one candidate believes, and the ensemble agrees; returns its number.
    pub(crate) async fn has_one_leader(&self) -> u32 {
        let started = Instant::now();
        loop {
            let believer = self.only_believer();
            let lead = self.lead().await;
            if let (Some(number), Some(lead)) = (believer, lead)
                && believer == self.only_believer()
                && lead.session == self.session(number).id()
                && lead.who == Some((7, number))
            {
                return number;
            }
            assert!(
                started.elapsed() < SOON,
                "no single leader; believers {:?}, journal {:?}",
                self.shared.believers.borrow(),
                self.shared.journal.borrow()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) fn never_two(&self) {
        assert!(self.shared.believers_max.get() <= 1, "two led at once: {:?}", self.shared.journal.borrow());
    }

    fn only_believer(&self) -> Option<u32> {
        let believers = self.shared.believers.borrow();
        believers.first().copied().filter(|_| believers.len() == 1)
    }

    /// The leader according to the ensemble.
    pub(crate) async fn lead(&self) -> Option<Lead> {
        self.outsider.sync(&self.election.path).await.expect("synced");
        leader(&self.outsider, &self.election.path, self.election.recipe).await.expect("answered")
    }

    /// Names of the candidates' znodes (or the lock) that the session owns.
    pub(crate) async fn owned_by(&self, session: i64) -> Vec<String> {
        let mut owned = Vec::new();
        for name in self.children().await {
            let path = format!("{}/{name}", self.election.path);
            let found = self.outsider.exists(&path).await.expect("answered");
            if name != names::BREADCRUMB && found.is_some_and(|stat| stat.ephemeral_owner == session) {
                owned.push(name);
            }
        }
        owned
    }

    pub(crate) async fn children(&self) -> Vec<String> {
        self.outsider.sync(&self.election.path).await.expect("synced");
        self.outsider.children(&self.election.path).await.expect("listed")
    }

    /// Whether a znode of the election exists.
    pub(crate) async fn has(&self, name: &str) -> bool {
        self.children().await.iter().any(|child| child == name)
    }

    /// Every enrolled candidate has exactly one znode in a queue; for a lock only the leader has one.
    pub(crate) async fn nothing_is_left_over(&self, leader: u32, standing: impl IntoIterator<Item = u32>) {
        let mut owners = 0;
        for number in standing {
            let wanted = usize::from(number == leader || !self.election.recipe.is_lock());
            let owned = self.owned_by(self.session(number).id()).await;
            assert_eq!(owned.len(), wanted, "{number} owns {owned:?}");
            owners += wanted;
        }
        let nodes = self.children().await.into_iter().filter(|name| name != names::BREADCRUMB).count();
        assert_eq!(nodes, owners, "no orphans");
    }

    pub(crate) fn said(&self, number: u32) -> Vec<Entry> {
        let journal = self.shared.journal.borrow();
        journal.iter().filter(|(who, _)| *who == number).map(|(_, entry)| entry.clone()).collect()
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        for candidate in self.candidates.borrow().iter() {
            candidate.task.abort();
        }
    }
}
