//! Recipes on the model in virtual time, moved by a test: candidates that enter, leave and are told things one by one, and
//! whatever the test does to them in between. No schedule, no plan, no record: everything that they say is in a journal.

mod contender;
mod ground;
mod sync_points;

use std::rc::Rc;

use futures::channel::oneshot;
use futures::executor::LocalPool;

pub use self::contender::JournalEntry;
pub use self::ground::{Ground, PATH, TIMEOUT_MS};
use super::session::SimSession;
use super::timing::Timing;
use super::world::{ClientOwner, Due, Owners, World};
use crate::coordination::OpError;
use crate::model::{Bugs, Options};
use crate::recipes::election::{Lead, delete_election, leader};
use crate::recipes::{Election, RecipeKind, StepDown};
use crate::seed;

const TICK_MS: u64 = 100;
const SERVERS: usize = 3;
/// Each candidate has a host of its own, with the same number.
const HOSTS: u16 = 1_100;
/// Within this everybody has done what there is to do at once.
const AT_ONCE_MS: u64 = 30;
/// The session for questions from outside outlives everything.
const OUTSIDE_TIMEOUT_MS: u64 = 600_000;

/// An election as most tests want it.
#[must_use]
pub fn election(recipe: RecipeKind, step_down: StepDown) -> Election {
    Election { path: PATH.into(), recipe, step_down, poll_interval_ms: 100, create_missing: true }
}

/// A world with candidates in it; what can be seen of it and done to it is the [`Ground`]'s.
pub struct Bench {
    pool: Option<LocalPool>,
    ground: Rc<Ground>,
}

impl std::ops::Deref for Bench {
    type Target = Rc<Ground>;

    fn deref(&self) -> &Rc<Ground> {
        &self.ground
    }
}

impl Bench {
    /// With an empty tree, on servers with these bugs.
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
        let world = World::new(options, Timing::default(), HOSTS, Owners::default(), rng, Rc::new(()), pool.spawner());
        (0..SERVERS).for_each(|server| world.start_server(server));
        world.clock.plan(world.tick_us / 2, Due::HandOver);
        let (tell, told) = oneshot::channel();
        let own = world.clone();
        world.spawn(async move {
            let session = SimSession::connect(&own, ClientOwner::NOBODY, OUTSIDE_TIMEOUT_MS).await;
            drop(tell.send(session));
        });
        let outside = until(&mut pool, &world, told).expect("a session");
        Self { pool: Some(pool), ground: Ground::new(world, outside) }
    }

    /// With the election in place, and nobody there.
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

    /// A bench on which `n` candidates stand, in this order, and the first of them leads.
    #[must_use]
    pub fn with(n: usize, election: &Election) -> Self {
        let mut bench = Self::new();
        bench.enter_all(n, election);
        bench
    }

    /// So many candidates begin to stand, one after the other.
    pub fn enter_all(&mut self, n: usize, election: &Election) {
        for _ in 0..n {
            self.enter(election);
            self.run();
        }
    }

    /// Lets everybody do what there is to do at once.
    pub fn run(&mut self) {
        self.advance_ms(AT_ONCE_MS);
    }

    /// Lets so much time pass.
    pub fn advance_ms(&mut self, ms: u64) {
        let world = self.ground.world.clone();
        let (tell, told) = oneshot::channel();
        world.clock.later(world.clock.now() + ms * 1_000, move || tell.send(()).expect("it is waited for"));
        until(self.pool(), &world, told);
    }

    /// Who leads, for those who ask from outside.
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
        // Tasks let go of their sessions while the world is still there.
        self.pool.take();
        self.ground.world.end();
    }
}

/// Lets the world go on until something is told.
fn until<T>(pool: &mut LocalPool, world: &Rc<World>, mut told: oneshot::Receiver<T>) -> T {
    loop {
        pool.run_until_stalled();
        if let Some(answer) = told.try_recv().expect("it comes to an end") {
            return answer;
        }
        assert!(world.step(), "nothing happens any more");
    }
}
