//! `server-restart-all`: all servers are killed, then started one after the other.

use serde::{Deserialize, Serialize};

/// How servers come back from a restart of all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Restart {
    /// Ids of all servers in the order in which they are started; ascending without it, and in a plan always told.
    pub order: Vec<u32>,
    /// From one start to the next, in milliseconds; all at once without it.
    pub gap_ms: u64,
    /// Their data is removed while they are down. Only in cells without candidates.
    pub empty: bool,
    /// Ids of servers that are killed first, while the others go on with some writes, and so lag behind.
    pub behind: Vec<u32>,
}

impl Restart {
    /// Puts the servers of an ensemble in the place of an order that is not told.
    pub(super) fn resolve(&mut self, servers: u32) {
        if self.order.is_empty() {
            self.order = (1..=servers).collect();
        }
    }

    /// How long the starts take at least, with a gap after the last one too, in milliseconds.
    #[must_use]
    pub fn starts_ms(&self) -> u64 {
        self.order.len() as u64 * self.gap_ms
    }
}
