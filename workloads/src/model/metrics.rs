//! The counters of a server, under the names of ZooKeeper's `mntr`.

use super::ensemble::Ensemble;
use super::interface::Server;
use super::op::{EventKind, Metrics};

impl Ensemble {
    /// Counters of one server. Those that the model has no notion of are missing.
    #[must_use]
    pub fn metrics(&self, server: Server) -> Metrics {
        let member = &self.members[server];
        let (watchers, watched) = member.watches.sizes();
        let mut metrics = Metrics::new();
        let mut put = |name: &str, value: f64| metrics.insert(name.to_owned(), value);
        // ZooKeeper counts the root twice, too.
        put("znode_count", (member.tree.len() + 1) as f64);
        put("ephemerals_count", member.tree.ephemerals_count() as f64);
        put("approximate_data_size", member.tree.data_bytes() as f64);
        put("watch_count", member.watches.count() as f64);
        put("connections_with_watches", watchers as f64);
        put("paths_with_watches", watched as f64);
        put("global_sessions", member.tree.sessions_count() as f64);
        put("num_alive_connections", member.conns.len() as f64);
        put("outstanding_requests", member.tickets.len() as f64);
        put("stale_sessions_expired", member.stale_sessions_expired as f64);
        for (kind, name) in [
            (EventKind::Created, "node_created_watch_count"),
            (EventKind::Deleted, "node_deleted_watch_count"),
            (EventKind::DataChanged, "node_changed_watch_count"),
            (EventKind::ChildrenChanged, "node_children_watch_count"),
        ] {
            let told = member.watches.told(kind);
            put(&format!("sum_{name}"), told.watches as f64);
            put(&format!("cnt_{name}"), told.changes as f64);
            put(&format!("min_{name}"), told.least as f64);
            put(&format!("max_{name}"), told.most as f64);
            let mean = if told.changes == 0 { 0.0 } else { told.watches as f64 / told.changes as f64 };
            put(&format!("avg_{name}"), mean);
        }
        metrics
    }
}
