//! One manager: it watches every server, publishes what it saw, and acts while it leads.

use std::cell::RefCell;
use std::future::pending;

use futures::channel::mpsc;
use futures::future::join_all;
use futures::{FutureExt, StreamExt, select_biased};

use super::node::{RedisError, RedisNode};
use super::parameters::{ManagerFlaw, ManagerParameters};
use super::snapshot::{ManagerSnapshot, NodeSight};
use super::step::{ManagerSlot, ManagerStep};
use crate::coordination::{CreateMode, OpError, Refusal, Session, SessionEnd};
use crate::driver::run_until_cancelled;
use crate::host::Host;

/// The wait before a request to ZooKeeper is repeated.
const AGAIN_MS: u64 = 1_000;

/// One manager under one session. What it saw outlives a session.
pub struct Manager<'a, S, H, R, M> {
    pub session: &'a S,
    pub host: &'a H,
    pub slot: &'a M,
    /// Its connections to the servers, by number.
    pub nodes: &'a [R],
    pub parameters: &'a ManagerParameters,
    /// The znode below which managers publish; its parents exist.
    pub root: &'a str,
    pub seen: &'a RefCell<ManagerSnapshot>,
}

impl<S: Session, H: Host, R: RedisNode, M: ManagerSlot> Manager<'_, S, H, R, M> {
    /// Watches, publishes and acts until the session ends.
    pub async fn run(&self) -> SessionEnd {
        let (changed, changes) = mpsc::unbounded();
        // What an earlier session saw is to be published under this one.
        changed.unbounded_send(()).unwrap_or_default();
        let each = (0..).zip(self.nodes).map(|(number, node)| self.watch(number, node, changed.clone()));
        let watching = async {
            join_all(each).await;
            pending().await
        };
        select_biased! {
            end = self.publish_snapshots(changes).fuse() => end,
            end = self.act().fuse() => end,
            end = watching.fuse() => end,
        }
    }

    pub(super) fn snapshots_path(&self) -> String {
        format!("{}/manager_node_state", self.root)
    }

    pub(super) async fn sleep_ms(&self, ms: u64) {
        self.host.sleep_until(self.host.now() + ms * 1_000_000).await;
    }

    /// The answer of a server within the manager's limit, beyond `more_ms` that it is meant to take.
    pub(super) async fn within<T>(
        &self,
        more_ms: u64,
        request: impl Future<Output = Result<T, RedisError>>,
    ) -> Result<T, RedisError> {
        let limit = self.parameters.request_timeout_ms + more_ms;
        let answer = run_until_cancelled(self.sleep_ms(limit), request).await;
        answer.unwrap_or_else(|| Err(RedisError::Unknown(format!("no answer in {limit} ms"))))
    }

    /// Watches one server, for ever: asks for its state, and waits on it for its loss.
    async fn watch(&self, number: u16, node: &R, changed: mpsc::UnboundedSender<()>) {
        let saw = |sight: NodeSight| {
            if self.seen.borrow_mut().see(number, sight, self.parameters.latency_grown_ms) {
                self.slot.log(ManagerStep::Saw { node: number, sight });
                // The receiver is gone when the session is over.
                changed.unbounded_send(()).unwrap_or_default();
            }
        };
        let mut failures = 0;
        loop {
            self.sleep_ms(self.parameters.check_every_ms).await;
            let asked = self.host.now();
            if self.within(0, node.info()).await.is_ok() {
                failures = 0;
                saw(NodeSight::Available { latency_ms: (self.host.now() - asked) / 1_000_000 });
                let block_ms = self.parameters.block_ms;
                if self.within(block_ms, node.block(block_ms)).await.is_ok() {
                    continue;
                }
            }
            failures += 1;
            if failures >= self.parameters.failures_max {
                failures = 0;
                saw(NodeSight::Unavailable);
            }
        }
    }

    /// Publishes the snapshot after every change.
    async fn publish_snapshots(&self, mut changes: mpsc::UnboundedReceiver<()>) -> SessionEnd {
        let path = format!("{}/{}-{}", self.snapshots_path(), self.host.number(), self.host.candidate());
        while changes.next().await.is_some() {
            // One write publishes all changes so far.
            while changes.try_recv().is_ok() {}
            loop {
                match self.write_snapshot(&path).await {
                    Ok(()) => break,
                    Err(OpError::Ended(end)) => return end,
                    Err(OpError::Refused(_) | OpError::Unknown) => self.sleep_ms(AGAIN_MS).await,
                }
            }
        }
        pending().await
    }

    /// Writes the snapshot into a znode that goes with this session.
    async fn write_snapshot(&self, path: &str) -> Result<(), OpError> {
        let data = serde_json::to_vec(&*self.seen.borrow()).unwrap_or_default();
        match self.session.exists(path).await? {
            Some(stat) if stat.ephemeral_owner == self.session.id() || self.adopts() => {
                self.session.set(path, &data, None).await.map(drop)
            }
            // It goes with an older session, at a time that nobody knows.
            Some(stat) => {
                match self.session.delete(path, Some(stat.version)).await {
                    Ok(()) | Err(OpError::Refused(Refusal::NoNode)) => {}
                    Err(error) => return Err(error),
                }
                self.session.create(path, &data, CreateMode::Ephemeral).await.map(drop)
            }
            None => self.session.create(path, &data, CreateMode::Ephemeral).await.map(drop),
        }
    }

    fn adopts(&self) -> bool {
        self.parameters.has(ManagerFlaw::AdoptsSnapshot)
    }
}
