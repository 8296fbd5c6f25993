//! What a manager does while it leads: it decides, promotes, and publishes.

use std::collections::BTreeSet;

use futures::future::{join, join_all};

use super::decision::{Decision, decide};
use super::manager::Manager;
use super::node::{RedisError, RedisInfo, RedisNode, RedisRole};
use super::parameters::ManagerFlaw;
use super::published::PublishedNodes;
use super::snapshot::ManagerSnapshot;
use super::step::{ManagerSlot, ManagerStep};
use crate::coordination::{CreateMode, Op, OpError, Refusal, Session, SessionEnd};
use crate::driver::run_until_cancelled;
use crate::host::{Host, Token};

/// What a round came to.
enum Round {
    /// There is a master: the servers by what they are for, as published.
    Kept(Reading),
    /// Nothing could be decided.
    Undecided,
    /// There is no master.
    WithoutMaster,
    /// Another manager acts.
    Superseded,
}

/// The published servers, and the version of their znode.
struct Reading {
    nodes: PublishedNodes,
    version: i32,
}

impl<S: Session, H: Host, R: RedisNode, M: ManagerSlot> Manager<'_, S, H, R, M> {
    /// Acts whenever it leads, until the session ends.
    pub(super) async fn act(&self) -> SessionEnd {
        loop {
            match self.slot.token() {
                None => self.slot.token_changed(None).await,
                Some(token) => {
                    if let Err(end) = self.lead(token).await {
                        return end;
                    }
                    // Whoever gave up, or was superseded, waits for its next lead.
                    self.slot.token_changed(Some(token)).await;
                }
            }
        }
    }

    /// Acts under one lead, until that is over.
    async fn lead(&self, token: Token) -> Result<(), SessionEnd> {
        let mut without_master = 0;
        let mut is_claimed = self.parameters.has(ManagerFlaw::AssertsBeforeWaiting);
        let mut kept: Option<Reading> = None;
        while self.slot.token() == Some(token) {
            if !is_claimed {
                match self.claim(token).await {
                    Ok(true) => is_claimed = true,
                    Ok(false) => return Ok(()),
                    Err(OpError::Ended(end)) => return Err(end),
                    Err(error @ (OpError::Refused(_) | OpError::Unknown)) => self.gave_up(error),
                }
            }
            let wait = || self.sleep_ms(self.parameters.decide_every_ms);
            match kept.take() {
                // A server that does not answer must not keep the next decision waiting.
                Some(kept) => _ = join(wait(), run_until_cancelled(wait(), self.keep_roles(token, &kept))).await,
                None => wait().await,
            }
            if !is_claimed || !self.holds(token) {
                continue;
            }
            match self.round(token).await {
                Ok(Round::Kept(reading)) => {
                    kept = Some(reading);
                    without_master = 0;
                }
                Ok(Round::Undecided) => {}
                Ok(Round::WithoutMaster) => without_master += 1,
                // The claim tells whether it was a newer one.
                Ok(Round::Superseded) => is_claimed = self.parameters.has(ManagerFlaw::AssertsBeforeWaiting),
                Err(OpError::Ended(end)) => return Err(end),
                Err(error @ (OpError::Refused(_) | OpError::Unknown)) => self.gave_up(error),
            }
            if without_master > self.parameters.rounds_without_master_max {
                self.slot.resign();
                return Ok(());
            }
        }
        Ok(())
    }

    /// Whether it may act under this lead, as far as it knows.
    fn holds(&self, token: Token) -> bool {
        self.parameters.has(ManagerFlaw::AssertsBeforeWaiting) || self.slot.token() == Some(token)
    }

    fn gave_up(&self, why: impl std::fmt::Display) {
        self.slot.log(ManagerStep::GaveUp { why: why.to_string() });
    }

    /// Writes the published znode once under a new lead: from then on, what an older manager writes is refused. False: a
    /// newer manager has.
    async fn claim(&self, token: Token) -> Result<bool, OpError> {
        // An older one may write in between, but not again and again.
        loop {
            let Some(Reading { nodes, version }) = self.reading().await? else { return Ok(true) };
            if nodes.token > token.czxid {
                return Ok(false);
            }
            let nodes = PublishedNodes { token: token.czxid, ..nodes };
            if self.publish(&nodes, Some(version)).await?.is_some() {
                return Ok(true);
            }
        }
    }

    async fn round(&self, token: Token) -> Result<Round, OpError> {
        let snapshots = self.snapshots().await?;
        let Some(Reading { nodes: published, version }) = self.reading().await? else {
            return self.discover(token).await;
        };
        if self.guarded(version).is_some() && published.token != token.czxid {
            return Ok(Round::Superseded);
        }
        let count = u16::try_from(self.nodes.len()).unwrap_or(u16::MAX);
        let own = self.seen.borrow().clone();
        match decide(count, &snapshots, &own, &published, self.parameters) {
            Decision::Wait { node, seen_by } => {
                self.gave_up(format!("server {node} is seen by {seen_by} managers"));
                Ok(Round::Undecided)
            }
            Decision::Keep(nodes) => {
                if nodes.says_the_same(&published) && !self.parameters.has(ManagerFlaw::PublishesAlways) {
                    return Ok(Round::Kept(Reading { nodes, version }));
                }
                let nodes = PublishedNodes { token: token.czxid, ..nodes };
                let found = self.publish(&nodes, self.guarded(version)).await?;
                Ok(found.map_or(Round::Superseded, |version| Round::Kept(Reading { nodes, version })))
            }
            Decision::Finish(node) => self.fail_over(token, node, &published, Some(version)).await,
            Decision::Promote(fit) => {
                let Some(node) = self.fullest(&fit, published.master).await else {
                    self.gave_up("no server that it could promote has a copy of the master");
                    return Ok(Round::WithoutMaster);
                };
                if self.parameters.has(ManagerFlaw::DeletesPublished) {
                    self.delete_published().await?;
                    return self.fail_over(token, node, &published, None).await;
                }
                self.fail_over(token, node, &published, Some(version)).await
            }
            Decision::NoCandidate => {
                self.slot.log(ManagerStep::FoundNoCandidate);
                if self.parameters.has(ManagerFlaw::DeletesPublished) {
                    self.delete_published().await?;
                }
                Ok(Round::WithoutMaster)
            }
        }
    }

    /// The version that a write must find; None: any.
    fn guarded(&self, version: i32) -> Option<i32> {
        Some(version).filter(|_| !self.parameters.has(ManagerFlaw::AssertsBeforeWaiting))
    }

    /// The one of these servers that has most of the master's data, and the first of equals. What is no replica of `old` may
    /// lack all of it: it was a master itself, or has its copy still to make.
    async fn fullest(&self, fit: &[u16], old: Option<u16>) -> Option<u16> {
        if self.parameters.has(ManagerFlaw::ChoosesByLatency) {
            return fit.first().copied();
        }
        let ask = async |&node: &u16| (node, self.within(0, self.nodes[usize::from(node)].info()).await);
        let asked = join_all(fit.iter().map(ask)).await;
        let copies = asked.into_iter().filter_map(|(node, info)| match info {
            Ok(RedisInfo { role: RedisRole::Replica { of }, offset }) if old.is_none() || of == old => {
                Some((offset, node))
            }
            Ok(_) | Err(_) => None,
        });
        let copies: Vec<(u64, u16)> = copies.collect();
        // Of equals, `max_by_key` gives the last one.
        copies.into_iter().rev().max_by_key(|(offset, _)| *offset).map(|(_, node)| node)
    }

    /// Promotes a server in place of the published master. `version` is that of the published znode, None where there is
    /// none any more.
    async fn fail_over(
        &self,
        token: Token,
        to: u16,
        published: &PublishedNodes,
        version: Option<i32>,
    ) -> Result<Round, OpError> {
        self.slot.log(ManagerStep::Decided { promote: to, from: published.master });
        let mut nodes = PublishedNodes {
            master: None,
            promoting: Some(to),
            replicas: published.replicas.iter().copied().filter(|node| *node != to).collect(),
            unavailable: lost(published, to),
            token: token.czxid,
        };
        // Whoever becomes the newer one finds this connection named, or is found out by the write after it.
        if !self.parameters.has(ManagerFlaw::MovesReplicasFirst) && !self.fence_older(token, to).await {
            return Ok(Round::WithoutMaster);
        }
        let mut version = version;
        if let Some(found) = version {
            // From here on no client writes to the old master that sees this, and no older manager can publish.
            let Some(next) = self.publish(&nodes, self.guarded(found)).await? else { return Ok(Round::Superseded) };
            version = Some(next);
        }
        if self.parameters.has(ManagerFlaw::MovesReplicasFirst) {
            for node in &nodes.replicas {
                self.move_to(*node, to).await;
            }
        }
        if !self.holds(token) {
            return Ok(Round::Superseded);
        }
        if !self.promote(to).await {
            return Ok(Round::WithoutMaster);
        }
        (nodes.master, nodes.promoting) = (Some(to), None);
        let found = match version {
            Some(version) => self.publish(&nodes, self.guarded(version)).await?,
            None => self.create_published(&nodes).await?.then_some(0),
        };
        // Its replicas are moved as any others that are not what they are published as.
        Ok(found.map_or(Round::Superseded, |version| Round::Kept(Reading { nodes, version })))
    }

    /// Ends the connections of older managers to a server. True: it is certain.
    async fn fence_older(&self, token: Token, node: u16) -> bool {
        match self.within(0, self.nodes[usize::from(node)].close_older(token.czxid)).await {
            Ok(()) => true,
            Err(error) => {
                self.gave_up(format!("older managers may still reach server {node}: {error}"));
                false
            }
        }
    }

    /// Whether no manager has written since this version. Asked after a server was fenced: whoever is newer and has not
    /// written yet closes this manager's connection before it acts there.
    async fn is_newest(&self, version: i32) -> bool {
        if self.parameters.has(ManagerFlaw::AssertsBeforeWaiting) {
            return true;
        }
        let check = Op::Check { path: self.published_path(), version };
        self.session.multi(vec![check]).await.map_err(|error| self.gave_up(error)).is_ok()
    }

    async fn promote(&self, node: u16) -> bool {
        self.slot.log(ManagerStep::Promotes { node });
        let how = self.within(0, self.nodes[usize::from(node)].promote()).await;
        let is_done = how.is_ok();
        self.slot.log(ManagerStep::Promoted { node, how: how.map_err(|error| error.to_string()) });
        is_done
    }

    async fn move_to(&self, node: u16, master: u16) {
        let how = self.within(0, self.nodes[usize::from(node)].follow(master)).await;
        self.slot.log(ManagerStep::Moved { node, master, how: how.map_err(|error| error.to_string()) });
    }

    /// Sees to it that the servers are what they are published as: a master that is back from an outage, or a promotion
    /// that nobody finished, is not.
    async fn keep_roles(&self, token: Token, kept: &Reading) {
        let Reading { nodes, version } = kept;
        let Some(master) = nodes.master else { return };
        // A server that has started again knows of no manager: an older one must not be the first that it hears of.
        let fence = async |node: u16| {
            self.parameters.has(ManagerFlaw::AssertsBeforeWaiting) || self.fence_older(token, node).await
        };
        let role = async |node: u16| self.within(0, self.nodes[usize::from(node)].info()).await.map(|info| info.role);
        let is_promoted = async {
            if fence(master).await
                && matches!(role(master).await, Ok(RedisRole::Replica { .. }))
                && self.is_newest(*version).await
            {
                self.promote(master).await;
            }
        };
        let are_moved = join_all(nodes.replicas.iter().map(async |&node| {
            if !fence(node).await {
                return;
            }
            match role(node).await {
                Ok(RedisRole::Replica { of }) if of == Some(master) => {}
                Ok(RedisRole::Replica { .. } | RedisRole::Master) => {
                    if self.is_newest(*version).await {
                        self.move_to(node, master).await;
                    }
                }
                // Its watcher says so.
                Err(RedisError::Unreachable(_) | RedisError::Unknown(_) | RedisError::Refused(_)) => {}
            }
        }));
        join(is_promoted, are_moved).await;
    }

    /// Nothing is published: all servers are reached and one of them is a master, or the group waits.
    async fn discover(&self, token: Token) -> Result<Round, OpError> {
        let all = join_all(self.nodes.iter().map(|node| self.within(0, node.info()))).await;
        let mut masters = Vec::new();
        for (node, info) in (0..).zip(&all) {
            match info {
                Ok(info) if info.role == RedisRole::Master => masters.push(node),
                Ok(_) => {}
                Err(error) => {
                    self.gave_up(format!("nothing is published, and server {node} may be the master: {error}"));
                    return Ok(Round::WithoutMaster);
                }
            }
        }
        let [master] = masters[..] else {
            self.gave_up(format!("nothing is published, and {} servers are masters", masters.len()));
            return Ok(Round::WithoutMaster);
        };
        // What follows another server may have other data.
        let follows = |info: &RedisInfo| info.role == RedisRole::Replica { of: Some(master) };
        if !(0..).zip(&all).all(|(node, info)| node == master || info.as_ref().is_ok_and(follows)) {
            self.gave_up(format!("nothing is published, and not all others follow server {master}"));
            return Ok(Round::WithoutMaster);
        }
        let nodes = PublishedNodes {
            master: Some(master),
            promoting: None,
            replicas: (0..).zip(&all).map(|(node, _)| node).filter(|node| *node != master).collect(),
            unavailable: Vec::new(),
            token: token.czxid,
        };
        let is_published = self.create_published(&nodes).await?;
        Ok(if is_published { Round::Kept(Reading { nodes, version: 0 }) } else { Round::Superseded })
    }

    // ---- the znodes

    pub(super) fn published_path(&self) -> String {
        format!("{}/nodes", self.root)
    }

    async fn reading(&self) -> Result<Option<Reading>, OpError> {
        match self.session.get(&self.published_path()).await {
            Ok((data, stat)) => match serde_json::from_slice(&data) {
                Ok(nodes) => Ok(Some(Reading { nodes, version: stat.version })),
                Err(error) => Err(OpError::Refused(Refusal::Other(format!("the published znode: {error}")))),
            },
            Err(OpError::Refused(Refusal::NoNode)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The new version. None: another manager has written since this one read.
    async fn publish(&self, nodes: &PublishedNodes, version: Option<i32>) -> Result<Option<i32>, OpError> {
        let data = serde_json::to_vec(nodes).unwrap_or_default();
        match self.session.set(&self.published_path(), &data, version).await {
            Ok(stat) => {
                self.slot.log(ManagerStep::Published { master: nodes.master });
                Ok(Some(stat.version))
            }
            Err(OpError::Refused(Refusal::BadVersion)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// False: another manager has.
    async fn create_published(&self, nodes: &PublishedNodes) -> Result<bool, OpError> {
        let data = serde_json::to_vec(nodes).unwrap_or_default();
        match self.session.create(&self.published_path(), &data, CreateMode::Persistent).await {
            Ok(_) => {
                self.slot.log(ManagerStep::Published { master: nodes.master });
                Ok(true)
            }
            Err(OpError::Refused(Refusal::NodeExists)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn delete_published(&self) -> Result<(), OpError> {
        match self.session.delete(&self.published_path(), None).await {
            Ok(()) | Err(OpError::Refused(Refusal::NoNode)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn snapshots(&self) -> Result<Vec<ManagerSnapshot>, OpError> {
        let parent = self.snapshots_path();
        let mut snapshots = Vec::new();
        for name in self.session.children(&parent).await? {
            match self.session.get(&format!("{parent}/{name}")).await {
                Ok((data, _)) => snapshots.extend(serde_json::from_slice::<ManagerSnapshot>(&data)),
                Err(OpError::Refused(Refusal::NoNode)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(snapshots)
    }
}

/// The servers that a failover to this one leaves out: what was lost, the master, and one whose promotion was given up.
fn lost(published: &PublishedNodes, to: u16) -> Vec<u16> {
    let gone = published.unavailable.iter().copied().chain(published.master).chain(published.promoting);
    let gone: BTreeSet<u16> = gone.filter(|node| *node != to).collect();
    gone.into_iter().collect()
}
