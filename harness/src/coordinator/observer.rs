//! The observer: a session of its own that writes down which incarnation ZooKeeper says owns the lead of each group. It
//! speaks to the servers directly, never over a link, so that no fault blinds it.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Context as _;
use hustings_reports::record::Event;
use hustings_workloads::recipes::{RecipeKind, names};
use tokio::sync::Notify;
use zookeeper_client as zk;

use crate::clock;
use crate::journal::Journal;

/// A read this often bounds from below when a change can have happened.
const HEARTBEAT: Duration = Duration::from_millis(25);
const SESSION_TIMEOUT: Duration = Duration::from_secs(20);
const ELECTION: &str = "/election";

/// Watches all groups of one cell until it is told to end.
pub(super) struct Observer {
    journal: Journal,
    client: zk::Client,
    recipe: RecipeKind,
    numbers: BTreeMap<String, u32>,
    groups: Vec<Group>,
    deleted: u64,
    /// No change that is still to be told can be older than this: when a read was sent whose answer, and all events
    /// that came before that answer, have been taken.
    known: u64,
    /// When the last answered read was sent; events that came before its answer may still be queued.
    answered: u64,
}

#[derive(Default)]
struct Group {
    /// Name and session of every znode that a lead can rest on, by czxid: the oldest one leads.
    nodes: BTreeMap<i64, (String, i64)>,
    owner: Option<i64>,
}

impl Observer {
    /// Connects and sets its watch. `cluster` carries the cell's chroot.
    pub(super) async fn connect(
        cluster: &str,
        journal: Journal,
        recipe: RecipeKind,
        groups: &[String],
    ) -> anyhow::Result<Self> {
        let connecting = zk::Client::connector().with_session_timeout(SESSION_TIMEOUT).connect(cluster);
        let client = connecting.await.context("the observer got no session")?;
        let numbers = groups.iter().enumerate().map(|(number, name)| (name.clone(), number as u32)).collect();
        let states = (0..groups.len()).map(|_| Group::default()).collect();
        Ok(Self { journal, client, recipe, numbers, groups: states, deleted: 0, known: clock::now(), answered: 0 })
    }

    /// Observes until `stop` is notified, then writes its last count. `ready` is notified when the watch is armed.
    pub(super) async fn run(mut self, ready: Rc<Notify>, stop: Rc<Notify>) {
        let watch = self.client.watch(ELECTION, zk::AddWatchMode::PersistentRecursive).await;
        let mut watcher = match watch {
            Ok(watcher) => watcher,
            Err(error) => {
                self.note(&format!("the observer cannot watch: {error}"));
                self.journal.push(&Event::ObserverState { t: clock::now(), connected: false });
                ready.notify_one();
                stop.notified().await;
                return;
            }
        };
        self.journal.push(&Event::ObserverState { t: clock::now(), connected: true });
        ready.notify_one();
        let mut beat = Box::pin(tokio::time::sleep(HEARTBEAT));
        loop {
            tokio::select! {
                biased;
                () = stop.notified() => break,
                event = watcher.changed() => if !self.take(event).await { break },
                () = &mut beat => {
                    self.heartbeat().await;
                    beat.as_mut().reset(tokio::time::Instant::now() + HEARTBEAT);
                }
            }
        }
        self.journal.push(&Event::ObserverCount { t: clock::now(), deleted: self.deleted });
    }

    /// Comes only when no event is queued, so the answer to the beat before bounds everything that is still to come.
    async fn heartbeat(&mut self) {
        self.known = self.known.max(self.answered);
        let sent = clock::now();
        if self.client.check_stat(ELECTION).await.is_ok() {
            self.answered = sent;
        }
    }

    async fn take(&mut self, event: zk::WatchedEvent) -> bool {
        let t = clock::now();
        match event.event_type {
            zk::EventType::Session => {
                let connected = event.session_state == zk::SessionState::SyncConnected;
                self.journal.push(&Event::ObserverState { t, connected });
                return !event.session_state.is_terminated();
            }
            zk::EventType::NodeCreated => self.created(&event.path, t).await,
            zk::EventType::NodeDeleted => {
                self.deleted += 1;
                self.journal.push(&Event::ObserverCount { t, deleted: self.deleted });
                self.gone(&event.path, t);
            }
            zk::EventType::NodeDataChanged | zk::EventType::NodeChildrenChanged => {}
        }
        true
    }

    async fn created(&mut self, path: &str, t: u64) {
        let Some((number, name)) = self.locate(path) else { return };
        let from = self.known;
        match self.client.check_stat(path).await {
            Ok(Some(stat)) => {
                self.groups[number as usize].nodes.insert(stat.czxid, (name, stat.ephemeral_owner));
                self.owner_may_have_changed(number, from, t);
            }
            // Gone again: its deletion is on its way here.
            Ok(None) => {}
            Err(error) => self.note(&format!("the observer could not read {path}: {error}")),
        }
    }

    fn gone(&mut self, path: &str, t: u64) {
        let Some((number, name)) = self.locate(path) else { return };
        self.groups[number as usize].nodes.retain(|_, (other, _)| *other != name);
        self.owner_may_have_changed(number, self.known, t);
    }

    fn owner_may_have_changed(&mut self, number: u32, from: u64, to: u64) {
        let group = &mut self.groups[number as usize];
        let first = group.nodes.first_key_value();
        let czxid = first.map(|(czxid, _)| *czxid);
        if group.owner == czxid {
            return;
        }
        group.owner = czxid;
        self.journal.push(&Event::Owner {
            from,
            to,
            group: number,
            session: first.map(|(_, (_, session))| *session),
            node: first.map(|(_, (name, _))| name.clone()),
            czxid,
        });
    }

    /// Group and name of a znode that a lead can rest on: `/election/<group>/<name>`, and neither a breadcrumb nor any
    /// other.
    fn locate(&self, path: &str) -> Option<(u32, String)> {
        let (group, name) = path.strip_prefix(ELECTION)?.strip_prefix('/')?.split_once('/')?;
        let leads = if self.recipe.is_lock() { name == names::LOCK } else { names::sequence(name).is_some() };
        leads.then_some(())?;
        Some((*self.numbers.get(group)?, name.to_owned()))
    }

    fn note(&self, text: &str) {
        self.journal.push(&Event::Note { t: clock::now(), cand: None, text: text.to_owned() });
    }
}
