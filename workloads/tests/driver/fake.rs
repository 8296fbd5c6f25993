//! A backend whose clock jumps from one sleeper to the next, and on which every action succeeds.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::task::{Poll, Waker};

use futures::executor::{LocalPool, LocalSpawner};
use futures::task::LocalSpawnExt as _;
use hustings_record::{
    Event, Holdings, Nanos, ProcessFate, ServerLine, ServerMetrics, ServerState, TargetClass, Token,
};
use hustings_workloads::coordination::{SessionState, States, Watch, WatchEvent};
use hustings_workloads::driver::{
    self, Backend, Effect, EnrolmentProgress, FloorPair, FloorStamps, InjectedFault, LinkFault, Remedy, ServerRemedy,
    State, Verification, as_planned,
};
use hustings_workloads::plan::{PlannedFault, ResolvedTarget};
use hustings_workloads::scenario::{Cell as Parameters, placement};

use crate::group_session::GroupSession;

pub(crate) struct FakeBackend {
    state: State,
    now: Rc<Cell<Nanos>>,
    sleepers: RefCell<Vec<(Nanos, Waker)>>,
    events: RefCell<Vec<Event>>,
    spawner: LocalSpawner,
    /// Whether candidates are enrolled, and every group is led by its first one.
    are_enrolled: bool,
    /// The time at which the cell is cut short.
    cut_at: Nanos,
    verifying: VerificationDelays,
    /// The sessions that its servers give, one each.
    sessions: RefCell<VecDeque<GroupSession>>,
}

/// The time that a backend takes to verify a fault that is in effect.
#[derive(Clone, Copy, Default)]
pub(crate) struct VerificationDelays {
    /// Until it reports since when the fault is in effect.
    pub(crate) says_after: Nanos,
    /// From then until the verification is complete.
    pub(crate) takes: Nanos,
    /// It already shows the effect when it reports it.
    pub(crate) is_seen: bool,
}

/// As `drive`, with a backend whose verifications take this long.
pub(crate) fn drive_verifying(cell: &Parameters, seed: u64, verifying: VerificationDelays) -> Vec<Event> {
    run(cell, seed, true, Nanos::MAX, verifying)
}

/// Drives a cell from its set-up to its tear-down, and returns the recorded events.
pub(crate) fn drive(cell: &Parameters, seed: u64, are_enrolled: bool, cut_at: Nanos) -> Vec<Event> {
    run(cell, seed, are_enrolled, cut_at, VerificationDelays::default())
}

fn run(cell: &Parameters, seed: u64, are_enrolled: bool, cut_at: Nanos, verifying: VerificationDelays) -> Vec<Event> {
    let mut pool = LocalPool::new();
    let fake = Rc::new(FakeBackend {
        state: State::new(Rc::new(cell.clone()), seed, placement(cell, seed)),
        now: Rc::new(Cell::new(1_000_000_000)),
        sleepers: RefCell::default(),
        events: RefCell::default(),
        spawner: pool.spawner(),
        are_enrolled,
        cut_at,
        verifying,
        sessions: RefCell::default(),
    });
    let (own, done) = (fake.clone(), Rc::new(Cell::new(false)));
    let over = done.clone();
    let driven = async move {
        let cut_short = driver::run(&own).await.is_err();
        assert_eq!(cut_short, own.now.get() >= cut_at);
        over.set(true);
    };
    pool.spawner().spawn_local(driven).expect("the pool is there");
    loop {
        pool.run_until_stalled();
        if done.get() {
            break;
        }
        let next = fake.sleepers.borrow().iter().map(|(at, _)| *at).min().expect("somebody sleeps");
        fake.now.set(next);
        let sleepers = fake.sleepers.take();
        let (due, later): (Vec<_>, Vec<_>) = sleepers.into_iter().partition(|(at, _)| *at <= next);
        fake.sleepers.borrow_mut().extend(later);
        due.into_iter().for_each(|(_, waker)| waker.wake());
    }
    // The pending heals of background tasks of a cell that was cut short.
    pool.run_until_stalled();
    fake.events.take()
}

impl FakeBackend {
    /// A backend with this clock, of a cell that nobody drives. Its servers give these sessions.
    pub(crate) fn of_servers(cell: &Parameters, now: Rc<Cell<Nanos>>, sessions: VecDeque<GroupSession>) -> Self {
        Self {
            state: State::new(Rc::new(cell.clone()), 1, placement(cell, 1)),
            now,
            sleepers: RefCell::default(),
            events: RefCell::default(),
            spawner: LocalPool::new().spawner(),
            are_enrolled: true,
            cut_at: Nanos::MAX,
            verifying: VerificationDelays::default(),
            sessions: RefCell::new(sessions),
        }
    }

    fn proof(&self) -> Verification {
        let now = self.now.get();
        Verification { from: now, to: now, verified: true, ..Verification::default() }
    }
}

impl Backend for FakeBackend {
    type Error = &'static str;
    type Session = GroupSession;

    fn state(&self) -> &State {
        &self.state
    }

    fn now(&self) -> Nanos {
        self.now.get()
    }

    async fn sleep_until(&self, at: Nanos) {
        std::future::poll_fn(|cx| {
            if self.now.get() >= at {
                return Poll::Ready(());
            }
            self.sleepers.borrow_mut().push((at, cx.waker().clone()));
            Poll::Pending
        })
        .await;
    }

    fn record(&self, event: Event) {
        self.events.borrow_mut().push(event);
    }

    async fn set_up(self: &Rc<Self>) -> Result<(), &'static str> {
        if self.now.get() < self.cut_at { Ok(()) } else { Err("cut short") }
    }

    async fn cut_short(&self) -> &'static str {
        self.sleep_until(self.cut_at).await;
        "cut short"
    }

    async fn tear_down(self: &Rc<Self>) -> Result<(), &'static str> {
        Ok(())
    }

    async fn start_hosts(self: &Rc<Self>) -> Result<(), &'static str> {
        if self.are_enrolled {
            let mut leaders = self.state.leaders.borrow_mut();
            for group in 0..self.state.cell.groups {
                let token = Token { czxid: i64::from(group), session: 1 };
                leaders.believe(group * self.state.cell.candidates_per_group, Some(token));
            }
        }
        Ok(())
    }

    fn standing(&self) -> EnrolmentProgress {
        let candidates = self.state.cell.candidates();
        let standing = if self.are_enrolled { candidates } else { 0 };
        EnrolmentProgress { candidates, connected: standing, standing }
    }

    async fn changed(&self, until: Nanos) {
        self.sleep_until(until).await;
    }

    fn servers(&self) -> u32 {
        self.state.cell.servers
    }

    async fn connect_to(&self, _: u32) -> Option<GroupSession> {
        self.sessions.borrow_mut().pop_front()
    }

    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.spawner.spawn_local(task).expect("the pool is there");
    }

    fn running(&self) -> Vec<u16> {
        (0..self.state.cell.hosts).collect()
    }

    async fn look(&self, server: u32) -> (ServerState, Option<i64>) {
        (if server == 1 { ServerState::Leading } else { ServerState::Following }, None)
    }

    async fn server_log(&self, _: u32) -> Result<Vec<(Nanos, ServerLine)>, String> {
        Ok(Vec::new())
    }

    async fn counters(&self) -> Result<BTreeMap<u32, ServerMetrics>, String> {
        Err("there are none".to_owned())
    }

    async fn holdings(&self) -> Result<BTreeMap<u32, Holdings>, String> {
        Err("there are none".to_owned())
    }

    fn has_floor(&self) -> bool {
        false
    }

    async fn take_floor(&self, _: FloorPair, _: u16, _: u16) -> (FloorStamps, FloorStamps) {
        (Err("nobody".to_owned()), Err("nobody".to_owned()))
    }

    fn background_task(self: &Rc<Self>, task: impl Future<Output = ()> + 'static) {
        self.spawn(task);
    }

    async fn goes_on_until(&self, at: Nanos) -> bool {
        self.sleep_until(at.min(self.cut_at)).await;
        at < self.cut_at
    }

    async fn injection(self: &Rc<Self>) -> Nanos {
        as_planned(self).await
    }

    async fn winner(&self, hosts: &[u16], _: Nanos) -> Option<u16> {
        hosts.first().copied()
    }

    fn let_win(&self) {}

    async fn inject(
        self: &Rc<Self>,
        _: u32,
        planned: &PlannedFault,
        hit: &ResolvedTarget,
        effect: &Effect,
    ) -> InjectedFault {
        let (facts, hosts, servers) = (planned.kind().facts(), hit.hosts.clone(), hit.servers.clone());
        let remedy = if facts.process == ProcessFate::Ended {
            Remedy::Restart(hosts)
        } else if !facts.until_healed {
            Remedy::None
        } else if facts.leaves == Some(ServerState::Down) {
            Remedy::Servers(ServerRemedy::Start { servers, gap: std::time::Duration::ZERO, empty: false })
        } else if facts.hits == TargetClass::Servers {
            Remedy::Servers(ServerRemedy::Resume(servers))
        } else {
            Remedy::Links(LinkFault::Partition, hosts)
        };
        let proof = self.proof();
        self.sleep_until(self.now.get() + self.verifying.says_after).await;
        if self.verifying.is_seen {
            effect.seen(proof.clone(), remedy.clone());
        } else {
            effect.took((proof.from, proof.to), remedy.clone());
        }
        self.sleep_until(self.now.get() + self.verifying.takes).await;
        InjectedFault { proof, remedy }
    }

    async fn heal(self: &Rc<Self>, _: &Remedy) -> Verification {
        self.proof()
    }
}

/// A watch, or a subscription to states: no session of this backend gives one.
pub(crate) enum ImpossibleWatch {}

impl Watch for ImpossibleWatch {
    async fn fired(&mut self) -> WatchEvent {
        match *self {}
    }
}

impl States for ImpossibleWatch {
    fn now(&mut self) -> SessionState {
        match *self {}
    }

    async fn changed(&mut self) -> SessionState {
        match *self {}
    }
}
