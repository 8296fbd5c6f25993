//! The observer: a separate session that records which incarnation owns each group's leadership according to ZooKeeper.
//! It connects to the servers directly, never over a link, so link faults do not blind it. Its own server may be cut
//! off from the quorum without noticing. So only replies of the quorum through that server bound when an ownership can
//! have changed. When its session ends, it opens another one and reads all owners again. The record contains the gaps
//! and every query without a reply.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::LocalBoxFuture;
use futures::stream::FuturesUnordered;
use hustings_record::numbers::to_u32;
use hustings_record::{Event, LeadOwner};
use hustings_workloads::recipes::LeadNode;
use hustings_workloads::scenario::ROOT;
use tokio::sync::Notify;
use zookeeper_client as zk;

use crate::access::Access;
use crate::coordinator::admin;
use crate::coordinator::observed_group::{LeadZnodes, ObservedChange, ObservedGroup, OwnershipInterval};
use crate::process::clock;
use crate::recording::journal::Journal;

/// Interval of quorum queries, which bound from below when a change can have happened.
const HEARTBEAT: Duration = Duration::from_millis(25);
/// Number of groups read concurrently.
const READ_AT_ONCE: usize = 32;
/// Pause between two attempts to get a session.
const AGAIN: Duration = Duration::from_millis(250);

/// The query that the observer sends to the quorum, through its own server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuorumQuestion {
    /// `sync`: the ensemble's leader replies. A leader that is itself cut off does not notice that for `syncLimit`.
    Sync,
    /// A transaction that checks a znode and changes nothing: a majority has acknowledged it.
    Transaction,
}

/// What to observe, and where.
pub struct ObserverConfig<'a> {
    pub question: QuorumQuestion,
    pub access: Access,
    pub servers: Vec<SocketAddr>,
    pub chroot: String,
    pub leads: LeadNode,
    pub groups: &'a [String],
}

/// Watches all groups of one cell until it is stopped.
pub struct Observer {
    journal: Journal,
    client: zk::Client,
    question: QuorumQuestion,
    access: Access,
    servers: Vec<SocketAddr>,
    chroot: String,
    leads: LeadNode,
    names: Vec<String>,
    numbers: BTreeMap<String, u32>,
    groups: Rc<RefCell<Vec<ObservedGroup>>>,
    /// Pending queries for the session of a new znode, one per group.
    asked: FuturesUnordered<LocalBoxFuture<'static, OwnerAnswer>>,
    told: ObserverNotifications,
    /// Lower bound for all changes still to be notified. It is the send time of a quorum query whose reply, and all
    /// events before that reply, have been handled.
    known: u64,
    /// Send time of the last query with a reply; events before its reply may still be queued.
    answered: u64,
    /// No watch is in effect: replies meanwhile prove nothing about missed changes.
    blind: bool,
    /// The last heartbeat got no reply.
    unanswered: bool,
}

/// Counts of received notifications.
#[derive(Default)]
struct ObserverNotifications {
    deleted: u64,
    created: u64,
    changed: u64,
}

/// The consequence of an event.
enum EventEffect {
    Told,
    /// The session has a connection again.
    Back,
    /// The session has ended.
    Over,
}

/// A reply to the query for the session of a new znode.
struct OwnerAnswer {
    group: u32,
    /// The number from the group's query.
    readings: u64,
    path: String,
    stat: Result<Option<zk::Stat>, zk::Error>,
}

impl Observer {
    /// `client`: its first session.
    #[must_use]
    pub fn new(client: zk::Client, journal: Journal, observed: ObserverConfig<'_>) -> Self {
        let ObserverConfig { question, access, servers, chroot, leads, groups } = observed;
        let numbers = groups.iter().cloned().zip(0..).collect();
        Self {
            journal,
            client,
            question,
            access,
            servers,
            chroot,
            leads,
            names: groups.to_vec(),
            numbers,
            groups: Rc::new(RefCell::new((0..groups.len()).map(|_| ObservedGroup::default()).collect())),
            asked: FuturesUnordered::new(),
            told: ObserverNotifications::default(),
            blind: false,
            known: clock::now(),
            answered: 0,
            unanswered: false,
        }
    }

    /// Shared view of each group's state.
    pub(super) fn groups(&self) -> Rc<RefCell<Vec<ObservedGroup>>> {
        self.groups.clone()
    }

    /// Observes until `stop` is notified, then records its last count. `ready` is notified when the watch is armed.
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

    /// Observes until its session ends.
    async fn observe(&mut self, ready: Option<&Notify>) {
        // Queries of an earlier session get no reply any more.
        self.asked.clear();
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
        if ready.is_none() && !self.read_all().await {
            self.blinded(clock::now());
            return;
        }
        self.sees();
        ready.into_iter().for_each(Notify::notify_one);
        let mut beat = self.beat();
        loop {
            tokio::select! {
                biased;
                event = watcher.changed() => match self.take(event) {
                    EventEffect::Told => {}
                    EventEffect::Back => if let Some(again) = self.watch_again().await { watcher = again },
                    EventEffect::Over => return,
                },
                Some(answer) = self.asked.next() => self.answered(answer),
                (sent, answer) = &mut beat => {
                    if self.heard(sent, answer).await && self.blind && let Some(again) = self.watch_again().await {
                        watcher = again;
                    }
                    beat = self.beat();
                }
            }
        }
    }

    /// Opens another session, without a time limit.
    async fn open_again(&mut self) {
        loop {
            match admin::connect(&self.access, &self.servers, &self.chroot).await {
                Ok(client) => {
                    self.client = client;
                    return self.note("the observer's session had ended: it has another one");
                }
                Err(error) => self.missed(None, format!("the observer got no session: {error:#}")),
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// The next quorum query: when it was sent, and its result.
    fn beat(&self) -> LocalBoxFuture<'static, (u64, Result<(), zk::Error>)> {
        let (client, question) = (self.client.clone(), self.question);
        Box::pin(async move {
            tokio::time::sleep(HEARTBEAT).await;
            (clock::now(), ask_quorum(&client, question).await)
        })
    }

    /// Runs only when no event is queued, so the previous beat's reply is a lower bound for all later events. False:
    /// the query got no reply.
    async fn heard(&mut self, sent: u64, answer: Result<(), zk::Error>) -> bool {
        if !self.blind {
            self.known = self.known.max(self.answered);
        }
        if let Err(error) = answer {
            if !std::mem::replace(&mut self.unanswered, true) {
                self.missed(None, error.to_string());
            }
            return false;
        }
        self.unanswered = false;
        if !self.blind {
            self.answered = sent;
            let unread = |number: &u32| self.groups.borrow()[*number as usize].is_unread();
            let unread = (0..to_u32(self.names.len())).filter(unread).collect();
            self.read_anew(unread).await;
        }
        true
    }

    /// Sets the watch again and reads everything. This client does not carry persistent watches over to another
    /// connection, and no server would resend missed events. None: the connection is lost again.
    async fn watch_again(&mut self) -> Option<zk::PersistentWatcher> {
        let watcher = match self.client.watch(ROOT, zk::AddWatchMode::PersistentRecursive).await {
            Ok(watcher) => watcher,
            Err(error) => {
                self.missed(None, format!("the observer cannot watch again: {error}"));
                return None;
            }
        };
        if !self.read_all().await {
            return None;
        }
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

    /// Reads every group and records each owner, once the server has everything that the quorum had at the query.
    /// False: the quorum did not reply.
    async fn read_all(&self) -> bool {
        if let Err(error) = ask_quorum(&self.client, self.question).await {
            self.missed(None, format!("the observer's server is out of touch with the quorum: {error}"));
            return false;
        }
        self.read_anew((0..to_u32(self.names.len())).collect()).await;
        true
    }

    /// Reads groups and records each owner, even an unchanged one. A group that cannot be read is read again with the
    /// next heartbeat.
    async fn read_anew(&self, groups: Vec<u32>) {
        let from = self.known;
        let readings = futures::stream::iter(groups).map(async |number| {
            let nodes = self.read_group(&self.names[number as usize]).await;
            (number, nodes, clock::now())
        });
        let read: Vec<_> = readings.buffer_unordered(READ_AT_ONCE).collect().await;
        for (number, nodes, to) in read {
            let mut groups = self.groups.borrow_mut();
            let group = &mut groups[number as usize];
            match nodes {
                Ok(nodes) => {
                    let interval = group.read(nodes, from, to);
                    self.say(number, [interval]);
                }
                Err(error) => {
                    group.lose(from);
                    self.missed(Some(number), format!("{:?} could not be read: {error}", self.names[number as usize]));
                }
            }
        }
    }

    /// Every znode of a group that leadership can rest on, by czxid, with its name and session.
    async fn read_group(&self, group: &str) -> Result<LeadZnodes, zk::Error> {
        let path = format!("{ROOT}/{group}");
        let names = match self.client.list_children(&path).await {
            Err(zk::Error::NoNode) => return Ok(LeadZnodes::new()),
            names => names?,
        };
        let paths = names.into_iter().map(|name| format!("{path}/{name}"));
        let leads: Vec<_> = paths.filter_map(|path| Some((self.locate(&path)?.1, path))).collect();
        let stats = leads.iter().map(|(_, path)| self.client.check_stat(path));
        let mut nodes = LeadZnodes::new();
        for ((name, _), stat) in leads.iter().zip(futures::future::try_join_all(stats).await?) {
            if let Some(stat) = stat {
                nodes.insert(stat.czxid, (name.clone(), stat.ephemeral_owner));
            }
        }
        Ok(nodes)
    }

    fn take(&mut self, event: zk::WatchedEvent) -> EventEffect {
        let t = clock::now();
        match event.event_type {
            zk::EventType::Session => {
                // The observer counts as connected only after it has read all owners again.
                if event.session_state == zk::SessionState::SyncConnected {
                    return EventEffect::Back;
                }
                self.blinded(t);
                return if event.session_state.is_terminated() { EventEffect::Over } else { EventEffect::Told };
            }
            zk::EventType::NodeCreated => {
                self.told.created += 1;
                self.count(t);
                self.changed(&event.path, true, t);
            }
            zk::EventType::NodeDeleted => {
                self.told.deleted += 1;
                self.count(t);
                self.changed(&event.path, false, t);
            }
            zk::EventType::NodeDataChanged => {
                self.told.changed += 1;
                self.count(t);
            }
            zk::EventType::NodeChildrenChanged => {}
        }
        EventEffect::Told
    }

    /// A znode was created or deleted.
    fn changed(&self, path: &str, created: bool, t: u64) {
        let Some((number, name)) = self.locate(path) else { return };
        let (asked, intervals) = {
            let group = &mut self.groups.borrow_mut()[number as usize];
            (group.question().is_some(), group.take(ObservedChange { name, created, from: self.known, to: t }))
        };
        self.say(number, intervals);
        if !asked {
            self.ask(number);
        }
    }

    /// Queries the session of the znode that the group waits for, if any.
    fn ask(&self, group: u32) {
        let groups = self.groups.borrow();
        let Some((name, readings)) = groups[group as usize].question() else { return };
        let (client, path) = (self.client.clone(), format!("{ROOT}/{}/{name}", self.names[group as usize]));
        self.asked.push(Box::pin(async move {
            let stat = client.check_stat(&path).await;
            OwnerAnswer { group, readings, path, stat }
        }));
    }

    fn answered(&self, answer: OwnerAnswer) {
        let OwnerAnswer { group: number, readings, path, stat } = answer;
        let mut groups = self.groups.borrow_mut();
        let group = &mut groups[number as usize];
        if !group.waits_for(readings) {
            return;
        }
        match stat {
            Ok(stat) => {
                // None: deleted meanwhile; the notification is on its way.
                let intervals = group.answered(stat.map(|stat| (stat.czxid, stat.ephemeral_owner)));
                drop(groups);
                self.say(number, intervals);
                self.ask(number);
            }
            Err(error) => {
                group.lose(self.known);
                self.missed(Some(number), format!("{path} could not be read: {error}"));
            }
        }
    }

    fn say(&self, group: u32, intervals: impl IntoIterator<Item = OwnershipInterval>) {
        for OwnershipInterval { from, to, owner } in intervals {
            let (czxid, node, session) = match owner {
                Some((czxid, name, session)) => (Some(czxid), Some(name), Some(session)),
                None => (None, None, None),
            };
            self.journal.push(&Event::Owner(Box::new(LeadOwner { from, to, group, session, node, czxid })));
        }
    }

    /// Group and name of a znode that leadership can rest on: `/election/<group>/<name>`. None for breadcrumbs and all
    /// others.
    fn locate(&self, path: &str) -> Option<(u32, String)> {
        let (group, name) = path.strip_prefix(ROOT)?.strip_prefix('/')?.split_once('/')?;
        self.leads.takes(name).then_some(())?;
        Some((*self.numbers.get(group)?, name.to_owned()))
    }

    fn count(&self, t: u64) {
        let ObserverNotifications { deleted, created, changed } = self.told;
        let (created, changed) = (Some(created), Some(changed));
        self.journal.push(&Event::ObserverCount { t, deleted, created, changed });
    }

    /// Records a query without a reply: about a group, or about no group in particular.
    fn missed(&self, group: Option<u32>, why: String) {
        self.journal.push(&Event::ObserverMissed { t: clock::now(), group, why });
    }

    fn note(&self, text: &str) {
        self.journal.push(&Event::Note { t: clock::now(), cand: None, text: text.to_owned() });
    }
}

/// Returns once the quorum has replied through the client's server, which has then applied all earlier changes.
async fn ask_quorum(client: &zk::Client, question: QuorumQuestion) -> Result<(), zk::Error> {
    match question {
        QuorumQuestion::Sync => client.sync(ROOT).await,
        QuorumQuestion::Transaction => {
            let mut transaction = client.new_multi_writer();
            transaction.add_check_version(ROOT, -1)?;
            transaction.commit().await.map(drop).map_err(zk::Error::from)
        }
    }
}
