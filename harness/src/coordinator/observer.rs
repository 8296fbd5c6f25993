//! The observer: a session of its own that writes down which incarnation ZooKeeper says owns the lead of each group. It
//! speaks to the servers directly, never over a link, so that no fault blinds it. When its session ends it opens another one
//! and reads all owners anew; what it did not see meanwhile, and every question that was not answered, is in the record.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use hustings_record::Event;
use hustings_workloads::recipes::{RecipeKind, names};
use hustings_workloads::scenario::ROOT;
use tokio::sync::Notify;
use zookeeper_client as zk;

use crate::clock;
use crate::coordinator::admin;
use crate::journal::Journal;

/// A read this often bounds from below when a change can have happened.
const HEARTBEAT: Duration = Duration::from_millis(25);
/// Between two attempts to get a session.
const AGAIN: Duration = Duration::from_millis(250);

/// Where it looks, and at what.
pub struct Observed<'a> {
    pub servers: Vec<SocketAddr>,
    pub chroot: String,
    pub recipe: RecipeKind,
    pub groups: &'a [String],
}

/// Watches all groups of one cell until it is told to end.
pub struct Observer {
    journal: Journal,
    client: zk::Client,
    servers: Vec<SocketAddr>,
    chroot: String,
    recipe: RecipeKind,
    numbers: BTreeMap<String, u32>,
    groups: Vec<Group>,
    told: Told,
    /// Groups whose znodes have to be read anew, and until when their owner was known.
    unread: BTreeMap<u32, u64>,
    /// No change that is still to be told can be older than this: when a read was sent whose answer, and all events
    /// that came before that answer, have been taken.
    known: u64,
    /// When the last answered read was sent; events that came before its answer may still be queued.
    answered: u64,
    /// Nothing tells it of changes: what is answered meanwhile says nothing of what it was not told.
    blind: bool,
    /// The last heartbeat was not answered.
    unanswered: bool,
}

/// Notifications that it got.
#[derive(Default)]
struct Told {
    deleted: u64,
    created: u64,
    changed: u64,
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
    /// `client`: its first session.
    #[must_use]
    pub fn new(client: zk::Client, journal: Journal, observed: Observed<'_>) -> Self {
        let Observed { servers, chroot, recipe, groups } = observed;
        let numbers = groups.iter().enumerate().map(|(number, name)| (name.clone(), number as u32)).collect();
        Self {
            journal,
            client,
            servers,
            chroot,
            recipe,
            numbers,
            groups: (0..groups.len()).map(|_| Group::default()).collect(),
            told: Told::default(),
            unread: BTreeMap::new(),
            blind: false,
            known: clock::now(),
            answered: 0,
            unanswered: false,
        }
    }

    /// Observes until `stop` is notified, then writes its last count. `ready` is notified when the watch is armed.
    pub async fn run(mut self, ready: Rc<Notify>, stop: Rc<Notify>) {
        let stopped = stop.notified();
        tokio::pin!(stopped);
        let mut first = true;
        loop {
            tokio::select! {
                biased;
                () = &mut stopped => break,
                () = self.observe(first.then_some(&*ready)) => {}
            }
            first = false;
            tokio::select! {
                biased;
                () = &mut stopped => break,
                () = self.open_again() => {}
            }
        }
        self.count(clock::now());
    }

    /// Until its session ends.
    async fn observe(&mut self, ready: Option<&Notify>) {
        let watcher = self.client.watch(ROOT, zk::AddWatchMode::PersistentRecursive).await;
        let mut watcher = match watcher {
            Ok(watcher) => watcher,
            Err(error) => {
                self.missed(None, format!("the observer cannot watch: {error}"));
                self.blinded(clock::now());
                ready.into_iter().for_each(Notify::notify_one);
                return;
            }
        };
        if ready.is_none() {
            self.read_all().await;
        }
        self.sees();
        ready.into_iter().for_each(Notify::notify_one);
        let mut beat = Box::pin(tokio::time::sleep(HEARTBEAT));
        loop {
            tokio::select! {
                biased;
                event = watcher.changed() => match self.take(event).await {
                    Taken::Told => {}
                    Taken::Back => if let Some(again) = self.watch_again().await { watcher = again },
                    Taken::Over => return,
                },
                () = &mut beat => {
                    if self.heartbeat().await && self.blind && let Some(again) = self.watch_again().await {
                        watcher = again;
                    }
                    beat.as_mut().reset(tokio::time::Instant::now() + HEARTBEAT);
                }
            }
        }
    }

    /// Another session, however long that takes.
    async fn open_again(&mut self) {
        loop {
            match admin::connect(&self.servers, &self.chroot).await {
                Ok(client) => {
                    self.client = client;
                    return self.note("the observer's session had ended: it has another one");
                }
                Err(error) => self.missed(None, format!("the observer got no session: {error:#}")),
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Comes only when no event is queued, so the answer to the beat before bounds everything that is still to come. False: it was
    /// not answered.
    async fn heartbeat(&mut self) -> bool {
        if !self.blind {
            self.known = self.known.max(self.answered);
        }
        let sent = clock::now();
        if let Err(error) = self.client.check_stat(ROOT).await {
            if !std::mem::replace(&mut self.unanswered, true) {
                self.missed(None, error.to_string());
            }
            return false;
        }
        self.unanswered = false;
        if !self.blind {
            self.answered = sent;
            for (number, from) in self.unread.clone() {
                self.read_anew(number, from).await;
            }
        }
        true
    }

    /// Sets the watch anew and reads everything: this client does not bring persistent watches along to another
    /// connection, and no server would make up for what they missed. None: the connection has gone again.
    async fn watch_again(&mut self) -> Option<zk::PersistentWatcher> {
        let watcher = match self.client.watch(ROOT, zk::AddWatchMode::PersistentRecursive).await {
            Ok(watcher) => watcher,
            Err(error) => {
                self.missed(None, format!("the observer cannot watch again: {error}"));
                return None;
            }
        };
        self.read_all().await;
        self.sees();
        Some(watcher)
    }

    fn blinded(&mut self, t: u64) {
        self.blind = true;
        self.journal.push(&Event::ObserverState { t, connected: false });
    }

    fn sees(&mut self) {
        self.blind = false;
        self.journal.push(&Event::ObserverState { t: clock::now(), connected: true });
    }

    /// Reads every group, and says who owns each lead now.
    async fn read_all(&mut self) {
        let known = self.known;
        for number in 0..self.groups.len() as u32 {
            let from = self.unread.get(&number).map_or(known, |&from| from.min(known));
            self.read_anew(number, from).await;
        }
    }

    /// Reads a group and says who owns its lead, even if that is who owned it when it was known last. One that cannot be read is
    /// read again with the next heartbeat.
    async fn read_anew(&mut self, number: u32, from: u64) {
        let Some(group) = self.numbers.iter().find(|(_, other)| **other == number).map(|(name, _)| name.clone()) else {
            return;
        };
        match self.read_group(&group).await {
            Ok(nodes) => {
                self.unread.remove(&number);
                self.groups[number as usize].nodes = nodes;
                self.say_owner(number, from, clock::now());
            }
            Err(error) => {
                self.missed(Some(number), format!("{group:?} could not be read: {error}"));
                self.unread.entry(number).or_insert(from);
            }
        }
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
                // It sees again once it has read all owners anew, and not before.
                if event.session_state == zk::SessionState::SyncConnected {
                    return Taken::Back;
                }
                self.blinded(t);
                return if event.session_state.is_terminated() { Taken::Over } else { Taken::Told };
            }
            zk::EventType::NodeCreated => {
                self.told.created += 1;
                self.count(t);
                self.created(&event.path, t).await;
            }
            zk::EventType::NodeDeleted => {
                self.told.deleted += 1;
                self.count(t);
                self.gone(&event.path, t);
            }
            zk::EventType::NodeDataChanged => {
                self.told.changed += 1;
                self.count(t);
            }
            zk::EventType::NodeChildrenChanged => {}
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
            Err(error) => {
                self.missed(Some(number), format!("{path} could not be read: {error}"));
                self.unread.entry(number).or_insert(from);
            }
        }
    }

    fn gone(&mut self, path: &str, t: u64) {
        let Some((number, name)) = self.locate(path) else { return };
        self.groups[number as usize].nodes.retain(|_, (other, _)| *other != name);
        self.owner_may_have_changed(number, self.known, t);
    }

    fn owner_may_have_changed(&mut self, number: u32, from: u64, to: u64) {
        let group = &self.groups[number as usize];
        // While it is not known who else is there, nobody is known to be the first.
        if group.owner != group.nodes.keys().next().copied() && !self.unread.contains_key(&number) {
            self.say_owner(number, from, to);
        }
    }

    fn say_owner(&mut self, number: u32, from: u64, to: u64) {
        let group = &mut self.groups[number as usize];
        let first = group.nodes.first_key_value();
        let czxid = first.map(|(czxid, _)| *czxid);
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

    fn count(&self, t: u64) {
        let Told { deleted, created, changed } = self.told;
        let (created, changed) = (Some(created), Some(changed));
        self.journal.push(&Event::ObserverCount { t, deleted, created, changed });
    }

    /// A question that was not answered: about a group, or about no group in particular.
    fn missed(&self, group: Option<u32>, why: String) {
        self.journal.push(&Event::ObserverMissed { t: clock::now(), group, why });
    }

    fn note(&self, text: &str) {
        self.journal.push(&Event::Note { t: clock::now(), cand: None, text: text.to_owned() });
    }
}
