//! A cell's running observer, and its segment.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Context as _;
use hustings_workloads::scenario::Cell;
use tokio::sync::Notify;
use tokio::task::{JoinHandle, spawn_local};

use crate::coordinator::admin;
use crate::coordinator::environment::Environment;
use crate::coordinator::observed_group::ObservedGroup;
use crate::coordinator::observer::{Observer, ObserverConfig, QuorumQuestion};
use crate::coordinator::retry::retry_until_success;
use crate::recording::journal::{Journal, SegmentOwner};

const STOPS_AT_MOST: Duration = Duration::from_secs(5);

/// The observer's task, and how to end it.
pub(super) struct ObserverTask {
    pub(super) stop: Rc<Notify>,
    pub(super) journal: Journal,
    pub(super) task: JoinHandle<()>,
    /// The observer's state of each group.
    pub(super) groups: Rc<RefCell<Vec<ObservedGroup>>>,
    flushing: JoinHandle<()>,
}

impl ObserverTask {
    /// Starts the observer and waits until its watch is armed.
    pub(super) async fn begin(cell: &Cell, environment: &Environment, segment: &Path) -> anyhow::Result<Self> {
        let owner = SegmentOwner { cell: cell.index, writer: "observer", host: None, generation: 0 };
        let journal = Journal::create(segment, &owner)?;
        let Environment { access, servers, chroot, .. } = environment;
        let connect = async |_| admin::connect(access, servers, chroot).await;
        let client = retry_until_success(connect).await.context("the observer got no session")?;
        // Only server faults cut a server off; without them, the observer adds no transactions to the servers' load.
        let question = if cell.watch_ms.is_some() { QuorumQuestion::Transaction } else { QuorumQuestion::Sync };
        let observed = ObserverConfig {
            question,
            access: access.clone(),
            servers: servers.clone(),
            chroot: chroot.clone(),
            leads: cell.lead_node(),
            groups: &cell.group_names,
        };
        let observer = Observer::new(client, journal.clone(), observed);
        let groups = observer.groups();
        let (ready, stop) = (Rc::new(Notify::new()), Rc::new(Notify::new()));
        let task = spawn_local(observer.run(ready.clone(), stop.clone()));
        let flushing = spawn_local(journal.clone().flush_forever());
        let watching = Self { stop, journal, task, groups, flushing };
        tokio::time::timeout(admin::TIMEOUT, ready.notified()).await.context("the observer's watch was not armed")?;
        Ok(watching)
    }

    /// Makes the observer record its last count, in bounded time, and ends its segment.
    ///
    /// # Errors
    /// The segment is not trustworthy.
    pub(super) async fn end(mut self) -> Result<(), String> {
        self.stop.notify_one();
        // The observer may hang on a server that is gone; that must not block the run.
        let _ = tokio::time::timeout(STOPS_AT_MOST, &mut self.task).await;
        self.journal.end()
    }
}

impl Drop for ObserverTask {
    fn drop(&mut self) {
        self.task.abort();
        self.flushing.abort();
    }
}
