//! The observer outlives its own session: the record contains the gap in its view, and the owners of the lead after it.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use crate::real_support::{ServerStage, TestEnsemble, on_one_thread};
use hustings::access::Access;
use hustings::client::session::ZkSession;
use hustings::client::take_over::take_over_and_close;
use hustings::coordinator::observer::{Observer, ObserverConfig, QuorumQuestion};
use hustings::ensemble::Ensemble as _;
use hustings::ensemble::embedded::EmbeddedEnsemble;
use hustings::ensemble::four_letter::mode;
use hustings::ensemble::local::LocalEnsemble;
use hustings::recording::journal::{Journal, SegmentOwner};
use hustings_record::{Event, read_segment};
use hustings_workloads::coordination::{CreateMode, CreatedZnode, Session as _};
use hustings_workloads::recipes::LeadNode;
use hustings_workloads::scenario::ROOT;
use tokio::sync::Notify;
use tokio::task::spawn_local;
use zookeeper_client as zk;

const TICK_MS: u64 = 500;
const TIMEOUT: Duration = Duration::from_secs(20);
const AT_MOST: Duration = Duration::from_secs(10);
const SOON: Duration = Duration::from_secs(30);

async fn stand(session: &ZkSession, group: &str) -> CreatedZnode {
    let prefix = format!("{ROOT}/{group}/{}-n_", session.id());
    session.create(&prefix, b"", CreateMode::EphemeralSequential).await.expect("created")
}

/// A segment for the observer, with its path and its folder.
fn segment() -> (tempfile::TempDir, PathBuf, Journal) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("observer.jsonl");
    let owner = SegmentOwner { cell: 0, writer: "observer", host: None, generation: 0 };
    let journal = Journal::create(&path, &owner).expect("a segment");
    (folder, path, journal)
}

/// Waits until the observer has written the wanted events; returns all that it has written.
async fn until(journal: &Journal, path: &Path, what: &str, wanted: impl Fn(&[Event]) -> bool) -> Vec<Event> {
    let wait = async {
        loop {
            journal.flush();
            let (events, _) = read_segment(path).expect("whole blocks");
            if wanted(&events) {
                return events;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(SOON, wait).await.unwrap_or_else(|_| panic!("{what}: not within {} s", SOON.as_secs()))
}

/// The czxid of the last reported owner of a group.
fn owner(events: &[Event], wanted: u32) -> Option<i64> {
    let told = events.iter().rev().find_map(|event| match event {
        Event::Owner(owner) if owner.group == wanted => Some(owner.czxid),
        _ => None,
    });
    told.flatten()
}

fn states(events: &[Event]) -> Vec<bool> {
    let state =
        |event: &Event| if let Event::ObserverState { connected, .. } = event { Some(*connected) } else { None };
    events.iter().filter_map(state).collect()
}

fn outlives_its_session<E: TestEnsemble>() {
    on_one_thread(async {
        let stage = ServerStage::<E>::set_up(TICK_MS).await;
        let (first, second) = (stage.direct(TIMEOUT).await, stage.direct(TIMEOUT).await);
        first.create(ROOT, b"", CreateMode::Persistent).await.expect("created");
        for group in ["a", "b"] {
            first.create(&format!("{ROOT}/{group}"), b"", CreateMode::Persistent).await.expect("created");
        }
        let client =
            zk::Client::connector().with_session_timeout(TIMEOUT).connect(&stage.cluster).await.expect("a session");
        let info = client.session().clone();
        let (_folder, path, journal) = segment();
        let groups = ["a".to_owned(), "b".to_owned()];
        let (servers, chroot, leads) = (stage.ensemble.servers(), String::new(), LeadNode::Queue);
        let (question, access) = (QuorumQuestion::Sync, Access::default());
        let observed = ObserverConfig { question, access, servers, chroot, leads, groups: &groups };
        let (ready, stop) = (Rc::new(Notify::new()), Rc::new(Notify::new()));
        let observer = Observer::new(client, journal.clone(), observed);
        let task = spawn_local(observer.run(ready.clone(), stop.clone()));
        ready.notified().await;

        let (kept, lost) = (stand(&first, "a").await, stand(&first, "b").await);
        let heir = stand(&second, "b").await;
        let both = |events: &[Event]| owner(events, 0) == Some(kept.czxid) && owner(events, 1) == Some(lost.czxid);
        until(&journal, &path, "both owners", both).await;

        take_over_and_close(&Access::default(), &stage.cluster, info, AT_MOST).await.expect("expired");
        first.delete(&lost.path, None).await.expect("deleted");
        // The server that it is connected to by now may not have applied the deletion yet.
        let anew = |events: &[Event]| {
            states(events).ends_with(&[false, true])
                && (owner(events, 0), owner(events, 1)) == (Some(kept.czxid), Some(heir.czxid))
        };
        let events = until(&journal, &path, "sight again", anew).await;
        assert!(states(&events).starts_with(&[true, false]), "{:?}", states(&events));
        // Each owner is reported again, before the observer reports that it is connected.
        let gap =
            events.iter().rposition(|e| matches!(e, Event::ObserverState { connected: false, .. })).expect("a gap");
        let told = events[gap..].iter().take_while(|e| !matches!(e, Event::ObserverState { connected: true, .. }));
        let told = told.filter(|e| matches!(e, Event::Owner(_))).count();
        assert_eq!(told, 2, "{:#?}", &events[gap..]);

        second.delete(&heir.path, None).await.expect("deleted");
        let nobody = |events: &[Event]| owner(events, 1).is_none() && states(events).last() == Some(&true);
        let events = until(&journal, &path, "a change after it", nobody).await;
        let deleted = events.iter().rev().find_map(|event| match event {
            Event::ObserverCount { deleted, created, .. } => Some((*deleted, *created)),
            _ => None,
        });
        // The observer may or may not have been notified of the deletion in the gap.
        assert!(matches!(deleted, Some((1 | 2, Some(3)))), "{deleted:?}");
        stop.notify_one();
        task.await.expect("it ends");
        stage.tear_down().await;
    });
}

#[test]
fn it_outlives_its_session_on_embedded_servers() {
    outlives_its_session::<EmbeddedEnsemble>();
}

#[test]
fn it_outlives_its_session_on_real_servers() {
    outlives_its_session::<LocalEnsemble>();
}

/// The owner of a lead changes while the observer's server, follower or leader of the ensemble, is cut off.
fn knows_no_owner_while_cut_off(leader: bool) {
    on_one_thread(async {
        let stage = ServerStage::<EmbeddedEnsemble>::set_up(TICK_MS).await;
        let setting_up = stage.direct(TIMEOUT).await;
        for path in [ROOT.to_owned(), format!("{ROOT}/a")] {
            setting_up.create(&path, b"", CreateMode::Persistent).await.expect("created");
        }
        let servers = stage.ensemble.servers();
        let mut own = None;
        for server in 1..=3 {
            let text = stage.ensemble.ask(server, "srvr").await.expect("it answers");
            own = own.or((mode(&text) == Some(if leader { "leader" } else { "follower" })).then_some(server));
        }
        let own = own.expect("the ensemble serves");
        let at = |server: u32| servers[server as usize - 1].to_string();
        let others: Vec<String> = (1..=3).filter(|server| *server != own).map(at).collect();
        let candidate = async || ZkSession::connect(&others.join(","), TIMEOUT).await.expect("a session");
        let (first, second) = (candidate().await, candidate().await);

        let client = zk::Client::connector().with_session_timeout(TIMEOUT).connect(&at(own)).await.expect("a session");
        let (_folder, path, journal) = segment();
        let groups = ["a".to_owned()];
        let observed = ObserverConfig {
            question: QuorumQuestion::Transaction,
            access: Access::default(),
            servers: vec![servers[own as usize - 1]],
            chroot: String::new(),
            leads: LeadNode::Queue,
            groups: &groups,
        };
        let (ready, stop) = (Rc::new(Notify::new()), Rc::new(Notify::new()));
        let task = spawn_local(Observer::new(client, journal.clone(), observed).run(ready.clone(), stop.clone()));
        ready.notified().await;
        let (lost, heir) = (stand(&first, "a").await, stand(&second, "a").await);
        until(&journal, &path, "the first owner", |events| owner(events, 0) == Some(lost.czxid)).await;
        // Requests from before the cut are answered.
        tokio::time::sleep(SETTLED).await;

        let control = stage.ensemble.control().expect("its servers are our own");
        let before = now();
        control.cut(&[own]).await.expect("cut off");
        tokio::time::sleep(SETTLED).await;
        // The others first notice the lost leader, and then elect another one.
        let deleted = async {
            while !matches!(first.exists(&lost.path).await, Ok(None)) {
                let _ = first.delete(&lost.path, None).await;
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(SOON, deleted).await.expect("deleted");
        let gone = now();
        tokio::time::sleep(Duration::from_millis(700)).await;
        control.rejoin(&[own]).await.expect("rejoined");
        let rejoined = now();

        let events = until(&journal, &path, "the heir", |events| owner(events, 0) == Some(heir.czxid)).await;
        let heir_of = |event: &Event| match event {
            Event::Owner(owner) if owner.czxid == Some(heir.czxid) => Some((owner.from, owner.to)),
            _ => None,
        };
        let (from, to) = events.iter().find_map(heir_of).expect("the heir");
        assert!(from <= gone, "the old owner is named for {} ms after its znode had gone", (from - gone) / 1_000_000);
        let slack = 10 * SETTLED.as_nanos() as u64;
        assert!(
            from + slack >= before,
            "it is known until just before the cut, and not {} ms earlier",
            (before - from) / 1_000_000
        );
        assert!(to <= rejoined + SOON.as_nanos() as u64 && from < to);
        stop.notify_one();
        task.await.expect("it ends");
        stage.tear_down().await;
    });
}

const SETTLED: Duration = Duration::from_millis(150);

fn now() -> u64 {
    hustings::process::clock::now()
}

#[test]
fn it_knows_no_owner_while_the_follower_that_it_reads_from_is_cut_off() {
    knows_no_owner_while_cut_off(false);
}

#[test]
fn it_knows_no_owner_while_the_leader_that_it_reads_from_is_cut_off() {
    knows_no_owner_while_cut_off(true);
}
