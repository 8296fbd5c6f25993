//! What one manager sees of every server, as it publishes it for the acting one.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// What a manager last saw of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeSight {
    /// It answered, after this long.
    Available {
        latency_ms: u64,
    },
    Unavailable,
}

/// What a manager last saw of every server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManagerSnapshot {
    /// How long those that answered took, in milliseconds.
    pub available: BTreeMap<u16, u64>,
    pub unavailable: BTreeSet<u16>,
}

impl ManagerSnapshot {
    /// Takes this in. True: it is worth publishing, because the server was not known, or was lost or found again, or
    /// takes longer than published by more than `grown_ms`.
    pub fn see(&mut self, node: u16, sight: NodeSight, grown_ms: u64) -> bool {
        match sight {
            NodeSight::Unavailable => {
                self.available.remove(&node);
                self.unavailable.insert(node)
            }
            NodeSight::Available { latency_ms } => {
                let was_lost = self.unavailable.remove(&node);
                let published = self.available.get(&node).copied();
                let tells = was_lost || published.is_none_or(|before| latency_ms > before + grown_ms);
                if tells {
                    self.available.insert(node, latency_ms);
                }
                tells
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_sight_loss_return_and_a_much_longer_latency_are_published() {
        let mut snapshot = ManagerSnapshot::default();
        let mut see = |sight| snapshot.see(1, sight, 500);
        let answered = |latency_ms| NodeSight::Available { latency_ms };
        assert!(see(answered(3)), "first sight");
        assert!(!see(answered(503)), "not longer by more");
        assert!(see(answered(504)));
        assert!(!see(answered(900)), "by the published one");
        assert!(!see(answered(1)), "shorter");
        assert!(see(NodeSight::Unavailable));
        assert!(!see(NodeSight::Unavailable), "still");
        assert!(see(answered(7)), "it is back");
        assert_eq!(snapshot.available, BTreeMap::from([(1, 7)]));
        assert!(snapshot.unavailable.is_empty());
    }
}
