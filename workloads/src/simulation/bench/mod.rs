//! Recipes on the model in virtual time, driven by a test. Candidates enter, leave and are notified one by one, and the
//! test acts in between. There is no schedule, plan or record: all their events are in a journal.

mod bench_candidate;
mod bench_world;
#[cfg(test)]
mod redis_managers;
mod sync_points;

use std::rc::Rc;

use futures::channel::oneshot;
use futures::executor::LocalPool;

pub use self::bench_candidate::JournalEntry;
pub use self::bench_world::{BenchWorld, PATH, TIMEOUT_MS};
use super::session::SimSession;
use super::timing::Timing;
use super::world::{ClientOwner, Owners, ScheduledEvent, SimWorld};
use crate::coordination::OpError;
use crate::model::{Bugs, Options};
use crate::recipes::election::{Lead, delete_election, leader};
use crate::recipes::{Election, RecipeKind, StepDown};
use crate::seed;

const TICK_MS: u64 = 100;
const SERVERS: usize = 3;
/// Each candidate has its own host with the same number.
const HOSTS: u16 = 1_100;
/// Time for all immediate consequences.
const AT_ONCE_MS: u64 = 30;
/// The session for requests from outside outlives all others.
const OUTSIDE_TIMEOUT_MS: u64 = 600_000;

/// An election with the defaults of most tests.
#[must_use]
pub fn election(recipe: RecipeKind, step_down: StepDown) -> Election {
    Election { path: PATH.into(), recipe, step_down, poll_interval_ms: 100, create_missing: true }
}

/// A world with candidates; the [`BenchWorld`] has the observations and the actions.
pub struct Bench {
    pool: Option<LocalPool>,
    ground: Rc<BenchWorld>,
}

impl std::ops::Deref for Bench {
    type Target = Rc<BenchWorld>;

    fn deref(&self) -> &Rc<BenchWorld> {
        &self.ground
    }
}

impl Bench {
    /// A bench with an empty tree, on servers with these bugs.
    #[must_use]
    pub fn bare(bugs: Bugs) -> Self {
        let options = Options {
            servers: SERVERS,
            tick_ms: TICK_MS,
            timeout_min_ms: 2 * TICK_MS,
            timeout_max_ms: OUTSIDE_TIMEOUT_MS,
            bugs,
            ..Options::default()
        };
        let mut pool = LocalPool::new();
        let rng = seed::rng(1, "bench", "simulation");
        let world =
            SimWorld::new(options, Timing::default(), HOSTS, Owners::default(), rng, Rc::new(()), pool.spawner());
        (0..SERVERS).for_each(|server| world.start_server(server));
        world.clock.plan(world.tick_us / 2, ScheduledEvent::HandOver);
        let (tell, told) = oneshot::channel();
        let own = world.clone();
        world.spawn(async move {
            let session = SimSession::connect(&own, ClientOwner::NOBODY, OUTSIDE_TIMEOUT_MS).await;
            drop(tell.send(session));
        });
        let outside = until(&mut pool, &world, told).expect("a session");
        Self { pool: Some(pool), ground: BenchWorld::new(world, outside) }
    }

    /// A bench with an election but no candidates.
    #[must_use]
    pub fn on(bugs: Bugs) -> Self {
        let mut bench = Self::bare(bugs);
        bench.put("/election", "");
        bench.put(PATH, "");
        bench.run();
        bench
    }

    #[must_use]
    pub fn new() -> Self {
        Self::on(Bugs::default())
    }

    /// A bench with `n` candidates, enrolled in this order; the first one leads.
    #[must_use]
    pub fn with(n: usize, election: &Election) -> Self {
        let mut bench = Self::new();
        bench.enter_all(n, election);
        bench
    }

    /// This many candidates enrol, one after the other.
    pub fn enter_all(&mut self, n: usize, election: &Election) {
        for _ in 0..n {
            self.enter(election);
            self.run();
        }
    }

    /// Runs all immediate consequences.
    pub fn run(&mut self) {
        self.advance_ms(AT_ONCE_MS);
    }

    /// Lets this much time pass.
    pub fn advance_ms(&mut self, ms: u64) {
        let world = self.ground.world.clone();
        let (tell, told) = oneshot::channel();
        world.clock.later(world.clock.now() + ms * 1_000, move || tell.send(()).expect("it is waited for"));
        until(self.pool(), &world, told);
    }

    /// The leader, as an outside client sees it.
    ///
    /// # Errors
    /// As [`leader`].
    pub fn leader(&mut self, recipe: RecipeKind) -> Result<Option<Lead>, OpError> {
        self.ask(async move |session| leader(session, PATH, recipe).await)
    }

    /// Deletes the election at a path from outside.
    ///
    /// # Errors
    /// As [`delete_election`].
    pub fn delete_election(&mut self, path: &'static str) -> Result<(), OpError> {
        self.ask(async move |session| delete_election(session, path).await)
    }

    fn ask<T: 'static>(&mut self, question: impl AsyncFnOnce(&SimSession) -> T + 'static) -> T {
        let ground = self.ground.clone();
        let (tell, told) = oneshot::channel();
        self.ground.world.spawn(async move {
            drop(tell.send(question(&ground.outside()).await));
        });
        let world = self.ground.world.clone();
        until(self.pool(), &world, told)
    }

    fn pool(&mut self) -> &mut LocalPool {
        self.pool.as_mut().expect("only a drop takes it")
    }
}

impl Default for Bench {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.ground.clear();
        // Tasks drop their sessions while the world still exists.
        self.pool.take();
        self.ground.world.end();
    }
}

/// Runs the world until the receiver has an answer.
fn until<T>(pool: &mut LocalPool, world: &Rc<SimWorld>, mut told: oneshot::Receiver<T>) -> T {
    loop {
        pool.run_until_stalled();
        if let Some(answer) = told.try_recv().expect("it comes to an end") {
            return answer;
        }
        assert!(world.step(), "nothing happens any more");
    }
}
