//! The observer: a session of its own that writes down which incarnation ZooKeeper says owns the lead of each group. It
//! speaks to the servers directly, never over a link, so that no fault blinds it.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use hustings_record::Event;
use hustings_workloads::recipes::{RecipeKind, names};
use hustings_workloads::scenario::ROOT;
use tokio::sync::Notify;
use zookeeper_client as zk;

use crate::clock;
use crate::journal::Journal;

/// A read this often bounds from below when a change can have happened.
const HEARTBEAT: Duration = Duration::from_millis(25);

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

/// What an event comes to.
enum Taken {
    Told,
    /// The session has a connection again.
    Back,
    /// The session has ended.
    Over,
}

#[derive(Default)]
struct Group {
    /// Name and session of every znode that a lead can rest on, by czxid: the oldest one leads.
    nodes: BTreeMap<i64, (String, i64)>,
    owner: Option<i64>,
}

impl Observer {
    /// Of a cell whose chroot is that of `client`.
    pub(super) fn new(client: zk::Client, journal: Journal, recipe: RecipeKind, groups: &[String]) -> Self {
        let numbers = groups.iter().enumerate().map(|(number, name)| (name.clone(), number as u32)).collect();
        let states = (0..groups.len()).map(|_| Group::default()).collect();
        Self { journal, client, recipe, numbers, groups: states, deleted: 0, known: clock::now(), answered: 0 }
    }

    /// Observes until `stop` is notified, then writes its last count. `ready` is notified when the watch is armed.
    pub(super) async fn run(mut self, ready: Rc<Notify>, stop: Rc<Notify>) {
        let watch = self.client.watch(ROOT, zk::AddWatchMode::PersistentRecursive).await;
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
                event = watcher.changed() => match self.take(event).await {
                    Taken::Told => {}
                    Taken::Back => if let Some(again) = self.watch_again().await { watcher = again },
                    Taken::Over => break,
                },
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
        if self.client.check_stat(ROOT).await.is_ok() {
            self.answered = sent;
        }
    }

    /// Sets the watch anew and reads everything: this client does not bring persistent watches along to another
    /// connection, and no server would make up for what they missed. None: the connection has gone again.
    async fn watch_again(&mut self) -> Option<zk::PersistentWatcher> {
        let from = self.known;
        let watcher = self.client.watch(ROOT, zk::AddWatchMode::PersistentRecursive).await.ok()?;
        let groups: Vec<(String, u32)> = self.numbers.iter().map(|(name, number)| (name.clone(), *number)).collect();
        for (group, number) in groups {
            let nodes = match self.read_group(&group).await {
                Ok(nodes) => nodes,
                Err(error) => {
                    self.note(&format!("the observer could not read {group:?} again: {error}"));
                    return Some(watcher);
                }
            };
            self.groups[number as usize].nodes = nodes;
            self.owner_may_have_changed(number, from, clock::now());
        }
        Some(watcher)
    }

    /// Every znode of a group that a lead can rest on, by czxid, with its name and session.
    async fn read_group(&self, group: &str) -> Result<BTreeMap<i64, (String, i64)>, zk::Error> {
        let path = format!("{ROOT}/{group}");
        let names = match self.client.list_children(&path).await {
            Err(zk::Error::NoNode) => return Ok(BTreeMap::new()),
            names => names?,
        };
        let paths = names.into_iter().map(|name| format!("{path}/{name}"));
        let leads: Vec<_> = paths.filter_map(|path| Some((self.locate(&path)?.1, path))).collect();
        let stats = leads.iter().map(|(_, path)| self.client.check_stat(path));
        let mut nodes = BTreeMap::new();
        for ((name, _), stat) in leads.iter().zip(futures::future::try_join_all(stats).await?) {
            if let Some(stat) = stat {
                nodes.insert(stat.czxid, (name.clone(), stat.ephemeral_owner));
            }
        }
        Ok(nodes)
    }

    async fn take(&mut self, event: zk::WatchedEvent) -> Taken {
        let t = clock::now();
        match event.event_type {
            zk::EventType::Session => {
                let connected = event.session_state == zk::SessionState::SyncConnected;
                self.journal.push(&Event::ObserverState { t, connected });
                return match connected {
                    true => Taken::Back,
                    false if event.session_state.is_terminated() => Taken::Over,
                    false => Taken::Told,
                };
            }
            zk::EventType::NodeCreated => self.created(&event.path, t).await,
            zk::EventType::NodeDeleted => {
                self.deleted += 1;
                self.journal.push(&Event::ObserverCount { t, deleted: self.deleted });
                self.gone(&event.path, t);
            }
            zk::EventType::NodeDataChanged | zk::EventType::NodeChildrenChanged => {}
        }
        Taken::Told
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
        let (group, name) = path.strip_prefix(ROOT)?.strip_prefix('/')?.split_once('/')?;
        let leads = if self.recipe.is_lock() { name == names::LOCK } else { names::sequence(name).is_some() };
        leads.then_some(())?;
        Some((*self.numbers.get(group)?, name.to_owned()))
    }

    fn note(&self, text: &str) {
        self.journal.push(&Event::Note { t: clock::now(), cand: None, text: text.to_owned() });
    }
}
