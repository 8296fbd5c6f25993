//! Sets a cell up: its znodes, its links, its segments, its hosts.

use std::cell::{Cell as Slot, RefCell};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Context as _;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use hustings_workloads::scenario::{Cell, SessionUse, placement};
use tokio::sync::{Mutex, Notify, mpsc, watch};
use tokio::task::{JoinHandle, spawn_local};
use zookeeper_client as zk;

use crate::archive::Archive;
use crate::coordinator::admin;
use crate::coordinator::cell::Surroundings;
use crate::coordinator::hosts::{HostFactory, Inbound, Inbox};
use crate::coordinator::observer::Observer;
use crate::coordinator::server_watch::ServerWatch;
use crate::coordinator::stage::{Stage, writer_name};
use crate::journal::{Journal, Owner};
use crate::links::Links;
use crate::protocol::HostSetUp;
use hustings_workloads::leaders::Leaders;
use hustings_workloads::resource::Resource;

/// Creations under way at once while a cell's znodes are laid out.
const CREATES_AT_ONCE: usize = 64;
const OBSERVER_STOPS_AT_MOST: Duration = Duration::from_secs(5);

/// Where a cell runs.
pub(super) struct Ground {
    /// The servers themselves.
    pub(super) servers: Vec<SocketAddr>,
    /// The same, as links reach them.
    pub(super) upstreams: Vec<String>,
    pub(super) links: Option<Rc<Links>>,
    /// Path under which the cell's znodes live.
    pub(super) chroot: String,
    pub(super) seed: u64,
}

/// The observer's task, and how to end it.
pub(super) struct Watching {
    pub(super) stop: Rc<Notify>,
    pub(super) journal: Journal,
    pub(super) task: JoinHandle<()>,
    flushing: JoinHandle<()>,
}

impl Watching {
    /// Has the observer write its last count, in bounded time, and ends its segment.
    ///
    /// # Errors
    /// When the segment is not to be trusted.
    pub(super) async fn end(mut self) -> Result<(), String> {
        self.stop.notify_one();
        // It may hang on a server that is gone; that must not hold the run.
        let _ = tokio::time::timeout(OBSERVER_STOPS_AT_MOST, &mut self.task).await;
        self.journal.end()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.task.abort();
        self.flushing.abort();
    }
}

/// Everything but the hosts, which `start_hosts` starts.
pub(super) fn stage(
    cell: Rc<Cell>,
    around: &Surroundings<'_>,
    journal: Journal,
    factory: Rc<HostFactory>,
    host_links: &BTreeMap<u16, Vec<SocketAddr>>,
    server_watch: Option<Rc<ServerWatch>>,
) -> anyhow::Result<(Rc<Stage>, mpsc::Receiver<Inbound>)> {
    let (ground, archive) = (&around.ground, &around.archive);
    let placed = placement(&cell, ground.seed);
    let Inbox { sender, receiver } = Inbox::new();
    let set_ups = host_set_ups(&cell, ground, &placed, host_links, archive)?;
    let more = archive.clone();
    let stage = Stage {
        journal,
        factory,
        links: ground.links.clone(),
        ensemble: around.ensemble.clone(),
        server_watch,
        chroot: ground.chroot.clone(),
        hosts: RefCell::default(),
        set_ups,
        segments: RefCell::new(Box::new(move |writer: &str| more.borrow_mut().add_segment(writer))),
        lives: RefCell::default(),
        led: RefCell::default(),
        burying: Mutex::default(),
        buried: RefCell::default(),
        leaders: RefCell::new(Leaders::new(cell.groups as usize, placed)),
        resource: RefCell::new(Resource::new(cell.groups as usize)),
        asked: RefCell::default(),
        injured: RefCell::default(),
        injured_servers: RefCell::default(),
        inbox: sender,
        progress: RefCell::default(),
        floor: RefCell::default(),
        faults: Slot::new(0),
        errands: RefCell::default(),
        stopping: Slot::new(false),
        trouble: watch::Sender::new(None),
        changed: watch::Sender::new(0),
        cell,
    };
    Ok((Rc::new(stage), receiver))
}

fn host_set_ups(
    cell: &Cell,
    ground: &Ground,
    placed: &[(u32, u16)],
    host_links: &BTreeMap<u16, Vec<SocketAddr>>,
    archive: &Rc<RefCell<Archive>>,
) -> anyhow::Result<BTreeMap<u16, HostSetUp>> {
    let mut candidates: BTreeMap<u16, Vec<(u32, u32, String)>> = BTreeMap::new();
    for (cand, &(group, host)) in placed.iter().enumerate() {
        let path = format!("/election/{}", cell.group_names[group as usize]);
        candidates.entry(host).or_default().push((cand as u32, group, path));
    }
    let mut set_ups = BTreeMap::new();
    for (host, candidates) in candidates {
        let servers = host_links.get(&host).unwrap_or(&ground.servers);
        let writer = writer_name(host, 0);
        let set_up = HostSetUp {
            cell: cell.index,
            cluster: connect_string(servers, &ground.chroot),
            recipe: cell.recipe.to_string(),
            step_down: cell.step_down.to_string(),
            timeout_ms: cell.session_timeout_ms,
            poll_interval_ms: cell.poll_interval_ms,
            work_interval_ms: cell.work_interval_ms,
            rejoin_after_ms: cell.rejoin_after_ms,
            connect_concurrency: cell.connect_concurrency,
            session_per_host: cell.sessions == SessionUse::PerHost,
            seed: ground.seed,
            candidates,
            segment: archive.borrow_mut().add_segment(&writer)?,
            writer,
        };
        set_ups.insert(host, set_up);
    }
    Ok(set_ups)
}

/// Starts every host of the cell; they report and wait for their order to enrol.
pub(super) async fn start_hosts(stage: &Rc<Stage>) -> anyhow::Result<()> {
    let wanted = stage.set_ups.iter().map(|(&host, set_up)| (host, 0, set_up.clone())).collect();
    for process in stage.factory.start(wanted, &stage.inbox).await? {
        stage.admit(process);
    }
    Ok(())
}

/// `host:port,host:port/chroot`.
pub(super) fn connect_string(servers: &[SocketAddr], chroot: &str) -> String {
    let servers: Vec<String> = servers.iter().map(ToString::to_string).collect();
    format!("{}{chroot}", servers.join(","))
}

/// Creates the cell's chroot, its election root and every group's znode.
pub(super) async fn lay_out(ground: &Ground, groups: &[String]) -> anyhow::Result<()> {
    let client = admin::connect(&ground.servers, "").await?;
    let options = zk::CreateMode::Persistent.with_acls(zk::Acls::anyone_all());
    let root = format!("{}/election", ground.chroot);
    client.mkdir(&root, &options).await.with_context(|| format!("creating {root}"))?;
    let paths: Vec<String> = groups.iter().map(|group| format!("{root}/{group}")).collect();
    stream::iter(&paths)
        .map(|path| {
            let (client, options) = (&client, &options);
            async move { client.create(path, &[], options).await.with_context(|| format!("creating {path:?}")) }
        })
        .buffer_unordered(CREATES_AT_ONCE)
        .try_for_each(|_| async { Ok(()) })
        .await
}

/// Starts the observer and waits until its watch is armed.
pub(super) async fn observe(cell: &Cell, ground: &Ground, segment: PathBuf) -> anyhow::Result<Watching> {
    let owner = Owner { cell: cell.index, writer: "observer", host: None, life: 0 };
    let journal = Journal::create(&segment, &owner).with_context(|| segment.display().to_string())?;
    let client = admin::connect(&ground.servers, &ground.chroot).await.context("the observer got no session")?;
    let observer = Observer::new(client, journal.clone(), cell.recipe, &cell.group_names);
    let (ready, stop) = (Rc::new(Notify::new()), Rc::new(Notify::new()));
    let task = spawn_local(observer.run(ready.clone(), stop.clone()));
    let flushing = spawn_local(journal.clone().flush_forever());
    let watching = Watching { stop, journal, task, flushing };
    tokio::time::timeout(admin::TIMEOUT, ready.notified()).await.context("the observer's watch was not armed")?;
    Ok(watching)
}
