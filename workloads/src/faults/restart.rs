//! `server-restart-all`: all servers are killed, then started one after the other.

use std::fmt;

use hustings_record::words::{numbers, setting_ms};
use serde::{Deserialize, Serialize};

/// How servers come back from a restart of all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Restart {
    /// Ids of all servers in the order in which they are started. The default is ascending; a plan always has it.
    pub order: Vec<u32>,
    /// Interval between two starts, in milliseconds; the default is all at once.
    pub gap_ms: u64,
    /// Whether their data is removed while they are down. Only in cells without candidates.
    pub empty: bool,
    /// Ids of servers that are killed first. The others go on with some writes, so these lag behind.
    pub behind: Vec<u32>,
}

impl Restart {
    /// Fills in the default order for an ensemble of this size.
    pub(super) fn resolve(&mut self, servers: u32) {
        if self.order.is_empty() {
            self.order = (1..=servers).collect();
        }
    }

    /// The least time that the starts take, including a gap after the last one, in milliseconds.
    #[must_use]
    pub fn starts_ms(&self) -> u64 {
        self.order.len() as u64 * self.gap_ms
    }
}

impl fmt::Display for Restart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.behind.is_empty() {
            write!(f, "{} lagging behind, ", numbers(&self.behind))?;
        }
        let data = if self.empty { "emptied" } else { "on their data" };
        write!(f, "started {data} in the order {}", numbers(&self.order))?;
        match self.gap_ms {
            0 => f.write_str(", all at once"),
            gap_ms => write!(f, ", {} apart", setting_ms(gap_ms)),
        }
    }
}
