//! Simulated sessions on the model pass the conformance suite of [`Session`].

use std::cell::Cell;
use std::rc::Rc;

use futures::channel::oneshot;
use futures::executor::LocalPool;
use hustings_record::Direction;

use super::session::SimSession;
use super::timing::Timing;
use super::world::{COORDINATOR, ClientOwner, Owners, ScheduledEvent, SimWorld};
use crate::conformance::{Conformance, ConformanceTarget, check_all};
use crate::coordination::Session as _;
use crate::model::{Bugs, Micros, Options};
use crate::seed;

/// As on the real servers that conform.
const TICK_MS: u64 = 300;
const TIMEOUT_MS: u64 = 6_000;
const CLOSE_MAX_US: Micros = 10_000_000;

/// Each linked session has its own host.
const HOSTS: u16 = 1_000;

/// A simulated ensemble whose sessions have one host each.
pub(super) struct SimulatedTarget {
    pub(super) world: Rc<SimWorld>,
    next_host: Cell<u16>,
    next_number: Cell<u64>,
}

impl SimulatedTarget {
    pub(super) fn host_of(&self, session: &SimSession) -> u16 {
        self.world.clients.borrow()[session.client() as usize].host
    }
}

impl ConformanceTarget for SimulatedTarget {
    type Session = SimSession;

    async fn connect(&self) -> SimSession {
        let host = self.next_host.replace(self.next_host.get() + 1);
        self.world.network.hosts.borrow_mut()[usize::from(host)].alive = true;
        let owner = ClientOwner { host, cand: None, told: false };
        SimSession::connect(&self.world, owner, TIMEOUT_MS).await.expect("a session")
    }

    async fn cut(&self, session: &SimSession) {
        self.world.reset_host(self.host_of(session));
    }

    async fn hold(&self, session: &SimSession, way: Direction) {
        self.world.network.hold(self.host_of(session), way);
    }

    async fn release(&self, session: &SimSession) {
        self.world.release(self.host_of(session));
    }

    async fn take_over(&self, session: &SimSession) -> SimSession {
        self.take_over_at(session, 0).await
    }

    fn servers(&self) -> usize {
        self.world.servers.count()
    }

    async fn take_over_at(&self, session: &SimSession, server: usize) -> SimSession {
        let client = self.world.take_over(session.client(), server);
        SimSession::of(&self.world, client).await.expect("taken over")
    }

    async fn expire(&self, session: &SimSession) {
        let (tell, told) = oneshot::channel();
        self.world.end_session(session.id(), Some(session.client()), move |done| {
            tell.send(done).expect("somebody waits for it");
        });
        assert_eq!(told.await, Ok(true), "the session is ended");
    }

    async fn close(&self, session: SimSession) -> bool {
        session.close(CLOSE_MAX_US).await
    }

    async fn watch_count(&self) -> u64 {
        let ensemble = self.world.servers.ensemble.borrow();
        (0..ensemble.servers()).map(|server| ensemble.metrics(server)["watch_count"] as u64).sum()
    }

    async fn sleep(&self, ms: u64) {
        self.world.clock.sleep_until(COORDINATOR, self.world.clock.now() + ms * 1_000).await;
    }

    fn now_ms(&self) -> u64 {
        self.world.clock.now() / 1_000
    }

    fn fresh(&self) -> u64 {
        self.next_number.set(self.next_number.get() + 1);
        self.next_number.get()
    }
}

/// The result of an action on an ensemble of this many servers.
pub(super) fn on_simulated<T: 'static>(
    servers: usize,
    seed: u64,
    bugs: Bugs,
    act: impl AsyncFnOnce(&SimulatedTarget) -> T + 'static,
) -> T {
    let options = Options {
        servers,
        tick_ms: TICK_MS,
        timeout_min_ms: 2 * TICK_MS,
        timeout_max_ms: 20 * TICK_MS,
        bugs,
        seed,
        ..Options::default()
    };
    let mut pool = LocalPool::new();
    let rng = seed::rng(seed, "conformance", "simulation");
    let world = SimWorld::new(options, Timing::default(), HOSTS, Owners::default(), rng, Rc::new(()), pool.spawner());
    (0..servers).for_each(|server| world.start_server(server));
    world.clock.plan(world.tick_us / 2, ScheduledEvent::HandOver);
    let arm = SimulatedTarget { world: world.clone(), next_host: Cell::new(0), next_number: Cell::new(0) };
    let (tell, mut told) = oneshot::channel();
    world.spawn(async move {
        let done = act(&arm).await;
        assert!(tell.send(done).is_ok(), "somebody waits for it");
    });
    let done = loop {
        pool.run_until_stalled();
        if let Some(done) = told.try_recv().expect("it ends") {
            break done;
        }
        assert!(world.step(), "nothing happens any more");
    };
    drop(pool);
    world.end();
    done
}

/// The result of the checks on an ensemble of this many servers.
fn conformance(servers: usize, seed: u64, bugs: Bugs) -> Conformance {
    on_simulated(servers, seed, bugs, async |arm| check_all(arm).await)
}

#[test]
fn a_simulated_session_conforms() {
    for (servers, seed) in [(1, 0), (3, 1), (3, 2), (5, 3)] {
        conformance(servers, seed, Bugs::default()).assert_whole(&format!("sessions on {servers} simulated servers"));
    }
}

#[test]
fn known_bugs_of_servers_do_not_conform() {
    let caught = |bugs| conformance(3, 1, bugs).failures.into_iter().map(|(check, _)| check).collect::<Vec<_>>();
    let forgets = caught(Bugs { forget_missed_events: true, ..Bugs::default() });
    assert_eq!(
        forgets,
        [
            "watches::what_happened_meanwhile_is_told_after_a_reconnect",
            "watches::many_watches_are_set_again_at_once",
            "watches::one_deleted_and_made_again_meanwhile_has_changed",
        ]
    );
    let keeps = caught(Bugs { keep_ephemerals: true, ..Bugs::default() });
    assert!(keeps.contains(&"sessions::a_close_is_answered_and_takes_the_ephemerals"), "{keeps:?}");
    assert!(keeps.contains(&"sessions::a_long_silence_ends_the_session"), "{keeps:?}");
}
