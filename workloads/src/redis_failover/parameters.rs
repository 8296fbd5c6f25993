//! How managers watch and decide.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// When a server counts as unavailable, given how many managers reach it and how many do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeStrategy {
    /// More managers do not reach it than do; it stays available in a tie.
    #[default]
    Majority,
    /// No manager reaches it.
    Consensus,
    /// One manager does not reach it.
    Single,
}

impl NodeStrategy {
    /// Whether a server that `down` managers do not reach and `up` managers do is unavailable.
    #[must_use]
    pub fn is_unavailable(self, down: usize, up: usize) -> bool {
        match self {
            Self::Majority => down > up,
            Self::Consensus => down > 0 && up == 0,
            Self::Single => down > 0,
        }
    }
}

/// A known bug of such managers. The default has none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ManagerFlaw {
    /// The lead is looked at once, before the wait of a round; nothing that follows is conditional on it.
    AssertsBeforeWaiting,
    /// The published znode is deleted before a server is chosen.
    DeletesPublished,
    /// A snapshot of an older session is written to, and goes with that session.
    AdoptsSnapshot,
    /// The published znode is written in every round, and wakes every client.
    PublishesAlways,
    /// Replicas are moved one after the other, before the promotion.
    MovesReplicasFirst,
    /// The quickest server is promoted, however much of the master's data it has.
    ChoosesByLatency,
}

impl ManagerFlaw {
    pub const ALL: [Self; 6] = [
        Self::AssertsBeforeWaiting,
        Self::DeletesPublished,
        Self::AdoptsSnapshot,
        Self::PublishesAlways,
        Self::MovesReplicasFirst,
        Self::ChoosesByLatency,
    ];
}

/// What managers do, and how often. The times are those of the `redis_failover` gem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManagerParameters {
    pub strategy: NodeStrategy,
    /// From one look at a server to the next, and how long each waits on the server for its loss.
    pub check_every_ms: u64,
    pub block_ms: u64,
    /// After this long without an answer, a request counts as failed.
    pub request_timeout_ms: u64,
    /// So many failures in a row make a server unavailable to a manager.
    pub failures_max: u32,
    /// A latency that grew by more than this is published.
    pub latency_grown_ms: u64,
    /// From one decision to the next.
    pub decide_every_ms: u64,
    /// No decision about a server of which fewer managers say anything.
    pub managers_required: usize,
    /// The acting manager resigns after so many rounds without a master.
    pub rounds_without_master_max: u32,
    pub flaws: BTreeSet<ManagerFlaw>,
}

impl Default for ManagerParameters {
    fn default() -> Self {
        Self {
            strategy: NodeStrategy::default(),
            check_every_ms: 2_000,
            block_ms: 2_000,
            request_timeout_ms: 5_000,
            failures_max: 3,
            latency_grown_ms: 500,
            decide_every_ms: 5_000,
            managers_required: 1,
            rounds_without_master_max: 3,
            flaws: BTreeSet::new(),
        }
    }
}

impl ManagerParameters {
    pub(super) fn has(&self, flaw: ManagerFlaw) -> bool {
        self.flaws.contains(&flaw)
    }
}

#[cfg(test)]
mod tests {
    use super::NodeStrategy::{Consensus, Majority, Single};

    #[test]
    fn each_strategy_counts_managers_that_do_not_reach_a_server() {
        for (down, up, expected) in [
            (0, 3, [false, false, false]),
            (1, 2, [false, false, true]),
            (1, 1, [false, false, true]),
            (2, 1, [true, false, true]),
            (3, 0, [true, true, true]),
            (0, 0, [false, false, false]),
        ] {
            let found = [Majority, Consensus, Single].map(|strategy| strategy.is_unavailable(down, up));
            assert_eq!(found, expected, "{down} down, {up} up");
        }
    }
}
