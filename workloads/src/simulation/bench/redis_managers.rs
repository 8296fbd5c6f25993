//! Managers of a Redis group on a bench: elected by the predecessor-watch recipe, with every fault at a known moment.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use hustings_record::numbers::to_u16;

use super::bench_candidate::{BenchSlot, JournalEntry};
use super::{Bench, BenchWorld, election};
use crate::host::{Order, Token};
use crate::recipes::{RecipeKind, StepDown};
use crate::redis_failover::{
    Manager, ManagerFlaw, ManagerParameters, ManagerSlot, ManagerSnapshot, ManagerStep, NodeStrategy, PublishedNodes,
    RedisRole,
};
use crate::simulation::redis::{RedisState, SimRedis, SimRedisConnection};
use crate::simulation::world::COORDINATOR;

const ROOT: &str = "/redis";
const PUBLISHED: &str = "/redis/nodes";
/// Time for the first discovery, and a round more.
const SETTLED_MS: u64 = 13_000;
/// From one write of the client to the next.
const WRITE_EVERY_MS: u64 = 100;

/// One write of the client.
#[derive(Clone, Copy, Debug)]
struct ClientWrite {
    at_ms: u64,
    id: u64,
    is_acknowledged: bool,
}

/// A step of a manager, and when.
type LoggedStep = (usize, u64, ManagerStep);

/// What a test sees.
struct Watched {
    redis: Rc<SimRedis>,
    writes: RefCell<Vec<ClientWrite>>,
    steps: RefCell<Vec<LoggedStep>>,
    /// The process of the manager that next takes this step is stopped at once.
    stops_at: Cell<Option<StopsAt>>,
    stopped: Cell<Option<u16>>,
}

/// A step of a manager at which its process is stopped.
#[derive(Clone, Copy, PartialEq)]
enum StopsAt {
    Decision,
    /// After the server was fenced, and before the order leaves.
    Promotion,
}

struct SlotOfManager {
    ground: Rc<BenchWorld>,
    index: usize,
    watched: Rc<Watched>,
}

impl ManagerSlot for SlotOfManager {
    fn token(&self) -> Option<Token> {
        let journal = self.ground.journal(self.index);
        let belief = journal.iter().rev().find_map(|entry| match entry {
            JournalEntry::Believes(token) => Some(*token),
            JournalEntry::Said(_) | JournalEntry::Fences(_) => None,
        });
        belief.flatten()
    }

    async fn token_changed(&self, known: Option<Token>) {
        let clock = &self.ground.world.clock;
        while self.token() == known {
            clock.sleep_until(to_u16(self.index), clock.now() + 10_000).await;
        }
    }

    fn resign(&self) {
        self.ground.order(self.index, Order::Resign);
    }

    fn log(&self, step: ManagerStep) {
        let reached = match step {
            ManagerStep::Decided { .. } => Some(StopsAt::Decision),
            ManagerStep::Promotes { .. } => Some(StopsAt::Promotion),
            _ => None,
        };
        if reached.is_some() && reached == self.watched.stops_at.get() {
            self.watched.stops_at.set(None);
            self.ground.world.pause_host(to_u16(self.index));
            self.watched.stopped.set(Some(to_u16(self.index)));
        }
        let at_ms = self.ground.world.clock.now() / 1_000;
        self.watched.steps.borrow_mut().push((self.index, at_ms, step));
    }
}

struct Group {
    bench: Bench,
    watched: Rc<Watched>,
}

impl Group {
    /// Three servers, so many managers, and a client that follows what is published.
    fn new(managers: usize, parameters: &ManagerParameters) -> Self {
        let mut group = Self::bare(managers, parameters);
        group.bench.advance_ms(SETTLED_MS);
        group
    }

    fn bare(managers: usize, parameters: &ManagerParameters) -> Self {
        let mut bench = Bench::new();
        bench.put(ROOT, "");
        bench.put("/redis/manager_node_state", "");
        let watched = Rc::new(Watched {
            redis: SimRedis::new(&bench.world, 3),
            writes: RefCell::default(),
            steps: RefCell::default(),
            stops_at: Cell::default(),
            stopped: Cell::default(),
        });
        bench.enter_all(managers, &election(RecipeKind::PredecessorWatch, StepDown::OnDisconnect));
        (0..managers).for_each(|index| manage(&bench, index, parameters, &watched));
        write(&bench, &watched);
        Self { bench, watched }
    }

    fn redis(&self) -> &Rc<SimRedis> {
        &self.watched.redis
    }

    fn now_ms(&self) -> u64 {
        self.bench.world.clock.now() / 1_000
    }

    fn published(&self) -> Option<PublishedNodes> {
        Some(serde_json::from_str(&self.bench.data(PUBLISHED)?).expect("a manager wrote it"))
    }

    fn published_master(&self) -> Option<u16> {
        self.published()?.master
    }

    /// The longest time from one acknowledged write to the next, from this moment on.
    fn longest_outage_ms(&self, from_ms: u64) -> u64 {
        let writes = self.watched.writes.borrow();
        let acknowledged = writes.iter().filter(|write| write.is_acknowledged).map(|write| write.at_ms);
        let times: Vec<u64> = acknowledged.filter(|at| at + WRITE_EVERY_MS >= from_ms).chain([self.now_ms()]).collect();
        times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(u64::MAX)
    }

    /// Acknowledged writes that the published master does not have.
    fn lost_writes(&self) -> Vec<u64> {
        let master = self.published_master().expect("a master");
        let writes = self.watched.writes.borrow();
        let acknowledged = writes.iter().filter(|write| write.is_acknowledged).map(|write| write.id);
        acknowledged.filter(|id| !self.redis().has(master, *id)).collect()
    }

    fn count(&self, wanted: impl Fn(&ManagerStep) -> bool) -> usize {
        self.watched.steps.borrow().iter().filter(|(_, _, step)| wanted(step)).count()
    }

    fn promotions(&self) -> Vec<u16> {
        let steps = self.watched.steps.borrow();
        let promoted = |(_, _, step): &LoggedStep| match step {
            ManagerStep::Promoted { node, how: Ok(()) } => Some(*node),
            _ => None,
        };
        steps.iter().filter_map(promoted).collect()
    }

    fn steps(&self) -> String {
        self.watched.steps.borrow().iter().map(|(index, at, step)| format!("{at} ms, {index}: {step:?}\n")).collect()
    }
}

/// Starts the manager of a candidate.
fn manage(bench: &Bench, index: usize, parameters: &ManagerParameters, watched: &Rc<Watched>) {
    let (ground, watched) = (Rc::clone(bench), watched.clone());
    let (candidate, parameters) = (ground.candidate(index), parameters.clone());
    let session = candidate.session.borrow().as_ref().expect("it stands").share();
    ground.world.clone().spawn(async move {
        let number = to_u16(index);
        let host = BenchSlot { number, world: ground.world.clone(), state: ground.state.clone(), candidate };
        let redis = watched.redis.clone();
        let nodes: Vec<_> = (0..redis.count()).map(|node| SimRedisConnection::new(&redis, number, node)).collect();
        let slot = SlotOfManager { ground, index, watched };
        let seen = RefCell::<ManagerSnapshot>::default();
        let (slot, nodes) = (&slot, &nodes[..]);
        let manager =
            Manager { session: &session, host: &host, slot, nodes, parameters: &parameters, root: ROOT, seen: &seen };
        manager.run().await;
    });
}

/// Starts a client that writes a new id to the published master again and again.
fn write(bench: &Bench, watched: &Rc<Watched>) {
    let (ground, watched) = (Rc::clone(bench), watched.clone());
    ground.world.clone().spawn(async move {
        let clock = &ground.world.clock;
        for id in 0.. {
            clock.sleep_until(COORDINATOR, clock.now() + WRITE_EVERY_MS * 1_000).await;
            let published = ground.data(PUBLISHED).and_then(|data| serde_json::from_str::<PublishedNodes>(&data).ok());
            let Some(server) = published.and_then(|nodes| nodes.master) else { continue };
            let is_acknowledged = watched.redis.write(server, id).is_ok();
            let at_ms = clock.now() / 1_000;
            watched.writes.borrow_mut().push(ClientWrite { at_ms, id, is_acknowledged });
        }
    });
}

fn with(flaws: &[ManagerFlaw]) -> ManagerParameters {
    ManagerParameters { flaws: flaws.iter().copied().collect(), ..ManagerParameters::default() }
}

fn by(strategy: NodeStrategy) -> ManagerParameters {
    ManagerParameters { strategy, ..ManagerParameters::default() }
}

#[test]
fn the_master_that_is_there_is_found_and_published_and_nothing_is_promoted() {
    let mut group = Group::new(3, &ManagerParameters::default());
    group.bench.advance_ms(60_000);
    let published = group.published().expect("it is published");
    assert_eq!((published.master, published.replicas, published.unavailable), (Some(0), vec![1, 2], vec![]));
    assert_eq!(group.promotions(), Vec::<u16>::new());
    assert_eq!(group.longest_outage_ms(SETTLED_MS), WRITE_EVERY_MS);
}

/// The longest outages for a client after this happened to the master, at moments over a whole round.
fn outages(happens: impl Fn(&Rc<SimRedis>), parameters: &ManagerParameters) -> Vec<u64> {
    (0..10)
        .map(|phase| {
            let mut group = Group::new(3, parameters);
            group.bench.advance_ms(phase * 500);
            let from = group.now_ms();
            happens(group.redis());
            group.bench.advance_ms(45_000);
            assert_eq!(group.promotions().len(), 1, "{}", group.steps());
            assert_ne!(group.published_master(), Some(0));
            group.longest_outage_ms(from)
        })
        .collect()
}

#[test]
fn a_crashed_master_is_replaced_within_four_to_eleven_seconds() {
    for parameters in [ManagerParameters::default(), with(&ManagerFlaw::ALL)] {
        let found = outages(|redis| redis.set_state(0, RedisState::Dead), &parameters);
        assert!(found.iter().all(|outage| (4_000..=11_300).contains(outage)), "{found:?}");
        assert!(found.iter().collect::<BTreeSet<_>>().len() > 3, "it depends on the moment: {found:?}");
    }
}

#[test]
fn a_silent_master_is_replaced_within_seventeen_to_twenty_six_seconds() {
    let found = outages(|redis| redis.set_state(0, RedisState::Stopped), &ManagerParameters::default());
    assert!(found.iter().all(|outage| (17_000..=26_300).contains(outage)), "{found:?}");
}

#[test]
fn one_manager_that_is_cut_off_from_the_master_makes_only_single_fail_over() {
    for (strategy, fails_over) in
        [(NodeStrategy::Majority, false), (NodeStrategy::Consensus, false), (NodeStrategy::Single, true)]
    {
        let mut group = Group::new(3, &by(strategy));
        group.redis().set_cut(1, 0, true);
        group.bench.advance_ms(60_000);
        assert_eq!(!group.promotions().is_empty(), fails_over, "{strategy:?}\n{}", group.steps());
    }
}

/// A manager is stopped in the middle of a failover. Its successor fails over, also to another server, and then the
/// first one goes on.
fn stopped_in_the_middle(at: StopsAt, parameters: &ManagerParameters) -> Group {
    let mut group = Group::new(3, parameters);
    group.watched.stops_at.set(Some(at));
    group.redis().set_state(0, RedisState::Dead);
    group.bench.advance_ms(40_000);
    let first = group.promotions().first().copied().expect("its successor promoted one");
    assert_eq!(group.published_master(), Some(first), "{}", group.steps());
    // What both chose is lost, another is promoted, and the lost one is there again.
    group.redis().set_state(first, RedisState::Stopped);
    group.bench.advance_ms(40_000);
    assert_eq!(group.promotions().len(), 2, "{}", group.steps());
    group.redis().set_state(first, RedisState::Running);
    group.bench.advance_ms(20_000);
    let second = *group.promotions().last().expect("two were promoted");
    assert_eq!(group.redis().role(first), RedisRole::Replica { of: Some(second) }, "{}", group.steps());
    let stopped = group.watched.stopped.get().expect("one decided");
    group.watched.steps.borrow_mut().clear();
    assert!(group.bench.world.continue_host(stopped));
    group.bench.advance_ms(300);
    group
}

#[test]
fn a_manager_whose_lead_was_over_promotes_nobody() {
    for at in [StopsAt::Decision, StopsAt::Promotion] {
        let group = stopped_in_the_middle(at, &ManagerParameters::default());
        assert_eq!(group.promotions(), Vec::<u16>::new(), "{}", group.steps());
        assert_eq!(group.redis().masters().len(), 1, "{}", group.steps());
    }
}

#[test]
fn a_manager_that_looks_at_its_lead_only_before_it_waits_promotes_after_its_successor() {
    let flaws = [ManagerFlaw::AssertsBeforeWaiting, ManagerFlaw::MovesReplicasFirst];
    let group = stopped_in_the_middle(StopsAt::Decision, &with(&flaws));
    assert_eq!(group.promotions().len(), 1, "{}", group.steps());
}

/// No server is fit for a while after the master crashed, and then two are.
fn without_candidate(parameters: &ManagerParameters) -> Group {
    let mut group = Group::new(3, parameters);
    (1..3).for_each(|server| group.redis().set_cut(0, server, true));
    group.bench.advance_ms(25_000);
    group.redis().set_state(0, RedisState::Dead);
    group.bench.advance_ms(35_000);
    assert_eq!(group.published_master().filter(|master| *master != 0), None, "{}", group.steps());
    (1..3).for_each(|server| group.redis().set_cut(0, server, false));
    group.bench.advance_ms(60_000);
    group
}

#[test]
fn a_failover_without_a_candidate_goes_on_when_there_is_one() {
    let group = without_candidate(&ManagerParameters::default());
    assert!(matches!(group.published_master(), Some(1 | 2)), "{}", group.steps());
    assert_eq!(group.lost_writes(), Vec::<u64>::new());
}

#[test]
fn what_was_published_is_lost_for_ever_where_it_is_deleted_before_a_server_is_chosen() {
    let group = without_candidate(&with(&[ManagerFlaw::DeletesPublished]));
    assert_eq!(group.published(), None, "{}", group.steps());
}

/// The snapshot of an older session stands when a manager writes its own, and goes later.
fn with_an_old_snapshot(parameters: &ManagerParameters) -> Group {
    let mut group = Group::bare(0, parameters);
    group.bench.put_ephemeral("/redis/manager_node_state/0-0");
    group.bench.run();
    group.bench.enter_all(1, &election(RecipeKind::PredecessorWatch, StepDown::OnDisconnect));
    manage(&group.bench, 0, parameters, &group.watched);
    group.bench.advance_ms(SETTLED_MS);
    group
}

#[test]
fn a_snapshot_is_never_written_into_the_znode_of_an_older_session() {
    for (flaws, stands) in [(&[][..], true), (&[ManagerFlaw::AdoptsSnapshot], false)] {
        let mut group = with_an_old_snapshot(&with(flaws));
        let path = "/redis/manager_node_state/0-0";
        assert!(group.bench.data(path).is_some_and(|data| data.contains("available")), "{}", group.steps());
        let is_own = group.bench.owned(0).iter().any(|owned| owned == path);
        assert_eq!(is_own, stands, "{flaws:?}");
        if !is_own {
            // The older session ends.
            group.bench.remove(path);
            group.bench.advance_ms(30_000);
            assert!(!group.bench.has(path), "nobody writes it again");
        }
    }
}

#[test]
fn clients_are_woken_only_by_a_change() {
    for (flaws, wakes) in [(&[][..], 0..=0), (&[ManagerFlaw::PublishesAlways], 11..=13)] {
        let mut group = Group::new(3, &with(flaws));
        let published = |group: &Group| group.count(|step| matches!(step, ManagerStep::Published { .. }));
        let before = published(&group);
        group.bench.advance_ms(60_000);
        assert!(wakes.contains(&(published(&group) - before)), "{flaws:?}: {}", published(&group) - before);
    }
}

#[test]
fn an_expiry_in_the_middle_of_a_promotion_is_finished_by_the_next_manager() {
    let mut group = Group::new(3, &ManagerParameters::default());
    group.watched.stops_at.set(Some(StopsAt::Decision));
    group.redis().set_state(0, RedisState::Dead);
    group.bench.advance_ms(12_000);
    let stopped = group.watched.stopped.get().expect("one decided");
    group.bench.expire(usize::from(stopped));
    group.bench.advance_ms(30_000);
    assert!(matches!(group.published_master(), Some(1 | 2)), "{}", group.steps());
    assert_eq!(group.lost_writes(), Vec::<u64>::new());
    assert_eq!(group.redis().masters(), vec![group.published_master().expect("it is published")]);
}

/// The master dies, and the quickest of the others has its copy still to make: it has just come back.
fn without_a_copy(parameters: &ManagerParameters) -> Group {
    let mut group = Group::new(3, parameters);
    group.redis().set_state(1, RedisState::Dead);
    group.bench.advance_ms(30_000);
    group.redis().set_state(1, RedisState::Running);
    // It answers again, and nobody has made it a replica yet.
    while !group.published().is_some_and(|nodes| nodes.replicas.contains(&1)) {
        group.bench.advance_ms(10);
    }
    group.redis().set_state(0, RedisState::Dead);
    group.redis().set_role_of(1, RedisRole::Master);
    group.bench.advance_ms(30_000);
    group
}

#[test]
fn a_server_without_a_copy_of_the_master_is_not_promoted_though_it_is_the_quickest() {
    let group = without_a_copy(&ManagerParameters::default());
    assert_eq!(group.published_master(), Some(2), "{}", group.steps());
    assert_eq!(group.lost_writes(), Vec::<u64>::new());
    let by_latency = without_a_copy(&with(&[ManagerFlaw::ChoosesByLatency]));
    assert_eq!(by_latency.published_master(), Some(1), "{}", by_latency.steps());
    assert!(!by_latency.lost_writes().is_empty());
}
