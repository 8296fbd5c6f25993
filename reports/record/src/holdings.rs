//! Sessions, ephemeral znodes and watches that servers hold, by the servers' own lists.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What servers hold. Paths are those that the cell's sessions see.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Holdings {
    /// Sessions that have not ended.
    pub sessions: BTreeSet<i64>,
    /// The session that owns an ephemeral znode, by the znode's path.
    pub ephemerals: BTreeMap<String, i64>,
    /// The sessions that watch a znode, or watch for one to come, by its path. Watches for children are on no list.
    pub watches: BTreeMap<String, BTreeSet<i64>>,
}

impl Holdings {
    /// Whether both agree on the state that all servers share. Watches are local to each server.
    #[must_use]
    pub fn agrees_with(&self, other: &Self) -> bool {
        self.sessions == other.sessions && self.ephemerals == other.ephemerals
    }

    /// Adds what another server holds.
    pub fn add(&mut self, other: &Self) {
        self.sessions.extend(&other.sessions);
        self.ephemerals.extend(other.ephemerals.iter().map(|(path, &session)| (path.clone(), session)));
        for (path, sessions) in &other.watches {
            self.watches.entry(path.clone()).or_default().extend(sessions);
        }
    }

    /// The same with paths relative to `chroot`. Paths outside it stay unchanged.
    #[must_use]
    pub fn below(self, chroot: &str) -> Self {
        let cut = |path: String| match path.strip_prefix(chroot) {
            Some(below) if below.starts_with('/') => below.to_owned(),
            _ => path,
        };
        Self {
            sessions: self.sessions,
            ephemerals: self.ephemerals.into_iter().map(|(path, session)| (cut(path), session)).collect(),
            watches: self.watches.into_iter().map(|(path, sessions)| (cut(path), sessions)).collect(),
        }
    }
}
