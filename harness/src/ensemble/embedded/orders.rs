//! What the harness tells the process of an embedded ensemble, and what that answers: JSON, one line each.

use serde::{Deserialize, Serialize};

use crate::sidecar;

/// The longest line to the process.
pub const ORDER_BYTES_MAX: u64 = 64 << 10;

/// The longest line from it: a log.
pub(super) const OUTCOME_BYTES_MAX: u64 = 8 << 20;

/// Something to be done to the servers, which are numbered from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ServerOrder {
    Kill {
        server: u32,
    },
    Start {
        server: u32,
        empty: bool,
    },
    Pause {
        server: u32,
    },
    Resume {
        server: u32,
    },
    Cut {
        servers: Vec<u32>,
    },
    Rejoin {
        servers: Vec<u32>,
    },
    /// Tells its log instead of what was seen.
    Log {
        server: u32,
    },
    /// Not to a server: the process that all of them are in writes down its own stalls.
    Record {
        order: sidecar::SidecarOrder,
    },
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OrderOutcome {
    /// It was done, and this was seen.
    Seen(String),
    /// It was not done, and this is why.
    Refused(String),
}
