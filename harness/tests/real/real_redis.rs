//! Redis servers of this machine, and managers that fail them over, elected by a real ensemble.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use hustings::client::session::ZkSession;
use hustings::files::workdir::WorkDir;
use hustings::redis::{RedisConnection, RedisGroup, RedisOptions};
use hustings_workloads::coordination::Session as _;
use hustings_workloads::host::{Order, Token};
use hustings_workloads::recipes::RecipeKind;
use hustings_workloads::redis_failover::{
    Manager, ManagerParameters, ManagerSlot, ManagerSnapshot, ManagerStep, PublishedNodes, RedisError, RedisNode as _,
    RedisRole,
};
use redis::aio::MultiplexedConnection;
use tokio::sync::{Mutex, mpsc};
use tokio::time::{sleep, timeout};

use crate::real_recipes::group::{Group, make_path};
use crate::real_recipes::host::{Entry, GroupState, TestHost};
use crate::real_support::{EXE, ServerStage, on_one_thread};

const TICK_MS: u64 = 500;
const ROOT: &str = "/redis/g0";
/// From one write of the client to the next, and how long it waits for an answer.
const WRITE_EVERY: Duration = Duration::from_millis(20);
const ANSWER_WITHIN: Duration = Duration::from_millis(300);
/// Longer than any machine needs.
const SOON: Duration = Duration::from_secs(30);

/// A tenth of the times of the gem, so that a failover takes a tenth of its time.
fn quick() -> ManagerParameters {
    ManagerParameters {
        check_every_ms: 200,
        block_ms: 200,
        request_timeout_ms: 1_000,
        decide_every_ms: 500,
        ..ManagerParameters::default()
    }
}

/// Runs a test on a group of its own.
fn on_redis(test: impl AsyncFnOnce(RedisGroup)) {
    on_one_thread(async {
        let root = tempfile::tempdir().expect("a temp dir");
        let work = WorkDir::create_in(root.path(), "redis").expect("a folder");
        let group = RedisGroup::start("g0", &RedisOptions::new(PathBuf::from(EXE)), &work).await;
        test(group.expect("Redis servers")).await;
    });
}

async fn role(connection: &RedisConnection) -> RedisRole {
    connection.info().await.expect("it answers").role
}

/// Waits until a server is this.
async fn becomes(connection: &RedisConnection, wanted: RedisRole) {
    let is_it = async {
        while connection.info().await.ok().map(|info| info.role) != Some(wanted) {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(SOON, is_it).await.unwrap_or_else(|_| panic!("it does not become {wanted:?}"));
}

#[test]
fn a_group_starts_with_a_master_that_the_others_follow_and_each_can_be_made_something_else() {
    on_redis(async |group| {
        let servers = [0, 1, 2].map(|server| group.connection(server));
        assert_eq!(role(&servers[0]).await, RedisRole::Master);
        assert_eq!(role(&servers[1]).await, RedisRole::Replica { of: Some(0) });
        servers[1].promote().await.expect("promoted");
        servers[2].follow(1).await.expect("moved");
        assert_eq!(role(&servers[1]).await, RedisRole::Master);
        assert_eq!(role(&servers[2]).await, RedisRole::Replica { of: Some(1) });
        assert!(matches!(servers[2].follow(7).await, Err(RedisError::Refused(_))));
        group.stop().await.expect("stopped");
    });
}

#[test]
fn a_wait_on_a_server_lasts_its_time_and_ends_at_once_when_the_server_dies() {
    on_redis(async |mut group| {
        let waits = [0, 1].map(|server| group.connection(server));
        let begun = Instant::now();
        waits[1].block(300).await.expect("nothing comes on a replica");
        assert!((300..1_500).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());
        let begun = Instant::now();
        let (lost, killed) = futures::future::join(waits[0].block(20_000), async {
            sleep(Duration::from_millis(200)).await;
            group.kill(0).await
        })
        .await;
        killed.expect("killed");
        assert!(matches!(lost, Err(RedisError::Unknown(_))), "{lost:?}");
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        assert!(matches!(waits[0].info().await, Err(RedisError::Unreachable(_))));
        group.start_again(0).expect("started");
        becomes(&waits[0], RedisRole::Master).await;
    });
}

#[test]
fn a_newer_manager_closes_what_older_ones_opened_and_they_can_promote_nobody() {
    on_redis(async |group| {
        let (old, new) = (group.connection(1), group.connection(1));
        old.close_older(5).await.expect("nobody else is there");
        new.close_older(9).await.expect("the other one is older");
        let promoted = old.promote().await;
        assert!(matches!(promoted, Err(RedisError::Unknown(_))), "{promoted:?}");
        assert_eq!(role(&new).await, RedisRole::Replica { of: Some(0) });
        let again = old.close_older(5).await;
        assert!(matches!(again, Err(RedisError::Refused(_))), "{again:?}");
        new.promote().await.expect("promoted");
        assert_eq!(role(&new).await, RedisRole::Master);
    });
}

#[test]
fn a_manager_that_gave_an_order_up_sends_none_again_before_it_has_named_itself() {
    on_redis(async |mut group| {
        let (old, new) = (group.connection(1), group.connection(1));
        old.close_older(5).await.expect("nobody else is there");
        // Its order waits in the stopped server's socket, and it gives up.
        group.stop_or_go(1, true).await.expect("stopped");
        assert!(timeout(Duration::from_millis(200), old.promote()).await.is_err(), "a stopped server does not answer");
        group.stop_or_go(1, false).await.expect("continued");
        // What was sent may have been carried out by then. Nothing is after this.
        new.close_older(9).await.expect("the other one is older");
        new.follow(0).await.expect("moved");
        sleep(Duration::from_millis(200)).await;
        assert_eq!(role(&new).await, RedisRole::Replica { of: Some(0) });
        let late = old.promote().await;
        assert!(late.is_err(), "its connection is gone: {late:?}");
        assert_eq!(role(&new).await, RedisRole::Replica { of: Some(0) });
    });
}

#[test]
fn servers_that_cannot_start_are_named_with_what_they_lack() {
    on_one_thread(async {
        let root = tempfile::tempdir().expect("a temp dir");
        let work = WorkDir::create_in(root.path(), "redis").expect("a folder");
        let with =
            |program: &str| RedisOptions { program: program.to_owned(), ..RedisOptions::new(PathBuf::from(EXE)) };
        let missing = RedisGroup::start("a", &with("no-such-redis"), &work).await.err().expect("it is not there");
        assert!(missing.to_string().contains("redis-tools"), "{missing}");
        let ends = RedisGroup::start("b", &with("/bin/false"), &work).await.err().expect("it ends at once");
        let text = ends.to_string();
        assert!(text.contains("Redis server 0 does not serve: it ended with"), "{text}");
        work.remove().expect("nothing holds it");
    });
}

/// A manager's slot: its candidate leads or does not, by the group's journal.
struct SlotOfManager {
    candidate: u32,
    shared: Rc<GroupState>,
    orders: mpsc::UnboundedSender<u32>,
    steps: Rc<RefCell<Vec<(u32, ManagerStep)>>>,
}

impl ManagerSlot for SlotOfManager {
    fn token(&self) -> Option<Token> {
        if !self.shared.believers.borrow().contains(&self.candidate) {
            return None;
        }
        let journal = self.shared.journal.borrow();
        journal.iter().rev().find_map(|(candidate, entry)| match entry {
            Entry::Grant(token) if *candidate == self.candidate => Some(*token),
            _ => None,
        })
    }

    async fn token_changed(&self, known: Option<Token>) {
        while self.token() == known {
            sleep(Duration::from_millis(10)).await;
        }
    }

    fn resign(&self) {
        // The receiver lives as long as the test.
        let _ = self.orders.send(self.candidate);
    }

    fn log(&self, step: ManagerStep) {
        self.steps.borrow_mut().push((self.candidate, step));
    }
}

/// A client that writes a new id to the published master again and again.
#[derive(Default)]
struct Client {
    /// The ids that were acknowledged, and when.
    acknowledged: RefCell<Vec<(u64, Instant)>>,
}

impl Client {
    async fn write(&self, session: &ZkSession, servers: &[SocketAddr]) {
        let mut open: Option<(u16, MultiplexedConnection)> = None;
        for id in 0.. {
            sleep(WRITE_EVERY).await;
            let Some(master) = published(session).await.and_then(|nodes| nodes.master) else { continue };
            if open.as_ref().is_none_or(|(of, _)| *of != master) {
                let client = client_of(servers[usize::from(master)]);
                open = client.get_multiplexed_async_connection().await.ok().map(|connection| (master, connection));
            }
            let Some((_, connection)) = &mut open else { continue };
            let mut write = redis::cmd("SADD");
            write.arg("ids").arg(id);
            match timeout(ANSWER_WITHIN, write.query_async::<i64>(connection)).await {
                Ok(Ok(_)) => self.acknowledged.borrow_mut().push((id, Instant::now())),
                Ok(Err(_)) | Err(_) => open = None,
            }
        }
    }

    /// How long it was from the last acknowledgement before `since` to the next one.
    fn outage(&self, since: Instant) -> Option<Duration> {
        let acknowledged = self.acknowledged.borrow();
        let before = acknowledged.iter().rev().find(|(_, at)| *at <= since)?.1;
        // Some are answered at the moment of the fault.
        let gap = acknowledged.windows(2).filter(|pair| pair[1].1 > before).map(|pair| pair[1].1 - pair[0].1).max()?;
        Some(gap)
    }
}

fn client_of(server: SocketAddr) -> redis::Client {
    redis::Client::open(format!("redis://{server}")).expect("an address")
}

async fn published(session: &ZkSession) -> Option<PublishedNodes> {
    let (data, _) = session.get(&format!("{ROOT}/nodes")).await.ok()?;
    serde_json::from_slice(&data).ok()
}

/// Waits until another server than `not` is published as the master.
async fn published_master(session: &ZkSession, not: Option<u16>) -> u16 {
    let is_there = async {
        loop {
            match published(session).await.and_then(|nodes| nodes.master) {
                Some(master) if Some(master) != not => return master,
                _ => sleep(Duration::from_millis(20)).await,
            }
        }
    };
    timeout(SOON, is_there).await.expect("a master is published")
}

/// Acknowledged ids that a server does not have.
async fn lost(client: &Client, server: SocketAddr) -> Vec<u64> {
    let mut connection = client_of(server).get_multiplexed_async_connection().await.expect("it serves");
    let kept: Vec<u64> = redis::cmd("SMEMBERS").arg("ids").query_async(&mut connection).await.expect("the ids");
    client.acknowledged.borrow().iter().map(|(id, _)| *id).filter(|id| !kept.contains(id)).collect()
}

#[test]
fn a_master_that_crashes_or_falls_silent_is_replaced_by_the_elected_manager() {
    on_one_thread(async {
        let stage = <ServerStage>::set_up(TICK_MS).await;
        let root = tempfile::tempdir().expect("a temp dir");
        let work = WorkDir::create_in(root.path(), "redis").expect("a folder");
        let options = RedisOptions::new(PathBuf::from(EXE));
        let mut redis = RedisGroup::start("g0", &options, &work).await.expect("Redis servers");
        let election = Group::of(&stage, RecipeKind::PredecessorWatch, 3).await;
        make_path(&election.outsider, &format!("{ROOT}/manager_node_state")).await;
        let steps = Rc::<RefCell<Vec<(u32, ManagerStep)>>>::default();
        let (orders, mut resigns) = mpsc::unbounded_channel();
        for candidate in 0..3 {
            let (session, shared) = (election.session(candidate), election.shared.clone());
            let nodes: Vec<RedisConnection> = (0..3).map(|server| redis.connection(server)).collect();
            let slot =
                SlotOfManager { candidate, shared: shared.clone(), orders: orders.clone(), steps: steps.clone() };
            tokio::task::spawn_local(async move {
                let (_never, orders) = mpsc::channel::<Order>(1);
                let host = TestHost { candidate, shared, orders: Mutex::new(orders) };
                let (seen, parameters) = (RefCell::<ManagerSnapshot>::default(), quick());
                let (slot, nodes, session) = (&slot, &nodes[..], &*session);
                let (parameters, seen) = (&parameters, &seen);
                Manager { session, host: &host, slot, nodes, parameters, root: ROOT, seen }.run().await;
            });
        }
        assert_eq!(published_master(&election.outsider, None).await, 0);
        let (client, writer) = (Rc::<Client>::default(), stage.direct(Duration::from_secs(10)).await);
        let (own, servers) = (client.clone(), redis.addresses());
        let writing = tokio::task::spawn_local(async move { own.write(&writer, &servers).await });
        sleep(Duration::from_secs(1)).await;

        // A crash: two times 200 ms until the third failure, at most 500 ms until the decision.
        let crashed = Instant::now();
        redis.kill(0).await.expect("killed");
        let second = published_master(&election.outsider, Some(0)).await;
        sleep(Duration::from_secs(1)).await;
        let outage = client.outage(crashed).expect("it wrote before and after");
        println!("a crash: no acknowledged write for {outage:?}");
        assert!((300..6_000).contains(&outage.as_millis()), "{outage:?}\n{:?}", steps.borrow());
        assert!(lost(&client, redis.addresses()[usize::from(second)]).await.len() <= 1, "of one write nobody knows");

        // The crashed one comes back, and is a replica.
        redis.start_again(0).expect("started");
        becomes(&redis.connection(0), RedisRole::Replica { of: Some(second) }).await;
        assert!(redis.is_copied(0).await, "it gets a copy");

        // Silence: three requests of a second without an answer.
        let stopped = Instant::now();
        redis.stop_or_go(second, true).await.expect("stopped");
        let third = published_master(&election.outsider, Some(second)).await;
        sleep(Duration::from_secs(1)).await;
        let outage = client.outage(stopped).expect("it wrote before and after");
        println!("silence: no acknowledged write for {outage:?}");
        assert!((2_500..10_000).contains(&outage.as_millis()), "{outage:?}\n{:?}", steps.borrow());
        redis.stop_or_go(second, false).await.expect("continued");
        becomes(&redis.connection(second), RedisRole::Replica { of: Some(third) }).await;
        assert!(lost(&client, redis.addresses()[usize::from(third)]).await.len() <= 1, "of one write nobody knows");

        writing.abort();
        assert!(resigns.try_recv().is_err(), "nobody gave up: {:?}", steps.borrow());
        let promoted = |step: &ManagerStep| matches!(step, ManagerStep::Promoted { how: Ok(()), .. });
        assert_eq!(steps.borrow().iter().filter(|(_, step)| promoted(step)).count(), 2, "{:?}", steps.borrow());
        drop(election);
        stage.tear_down().await;
    });
}
