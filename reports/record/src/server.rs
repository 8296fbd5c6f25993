//! Reports of servers about themselves: their state, their log of the ensemble's elections, their counters.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::session::WatchEvent;

/// What a server says that it is, or that it says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ServerState {
    Leading,
    Following,
    Standalone,
    /// It answers that it does not serve: it looks for a leader, or has found one and is not in step with it yet.
    NotServing,
    /// It takes connections and does not answer in time.
    Silent,
    /// Nobody takes connections there.
    Down,
}

impl ServerState {
    /// Its name in sentences and pictures.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Leading => "leading",
            Self::Following => "following",
            Self::Standalone => "standalone",
            Self::NotServing => "not serving",
            Self::Silent => "silent",
            Self::Down => "down",
        }
    }

    /// Whether clients are served in this state.
    #[must_use]
    pub fn serves(self) -> bool {
        matches!(self, Self::Leading | Self::Following | Self::Standalone)
    }
}

/// What a line of a server's log says about an election.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "says")]
pub enum ServerLine {
    /// It begins to look for a leader.
    Looking,
    /// A looking server's vote for itself, as the server that logs it was told (or told itself): the place of `from` in the
    /// order of votes, which is epoch, then zxid, then id.
    Vote { from: u32, round: i64, epoch: i64, zxid: i64 },
    /// Its election is over, and took so long; `leading` or following.
    Elected { leading: bool, took_ms: u64 },
    /// A majority follows it, and it goes to serve: before it says so, it begins to count every session's time anew.
    Supported,
    /// It serves: its state is *leading* or *following*, in the phase *broadcast*.
    Serving { leading: bool },
    /// It slept for [`PAUSE_SLEEP_MS`] and overslept by so much: for about as long it did not run, somewhere in that time.
    Paused { ms: u64 },
}

/// Servers that the run starts sleep this long repeatedly. They log by how much they overslept if it is
/// [`PAUSE_LOGGED_MS`] or more.
pub const PAUSE_SLEEP_MS: u64 = 50;
/// Shorter pauses are normal scheduling.
pub const PAUSE_LOGGED_MS: u64 = 10;

/// At which end of the measured window the servers' counters were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowEdge {
    Begin,
    End,
}

/// The lines of `mntr` that count the watches that a server has fired, by kind of event.
pub const WATCHES_FIRED: [(WatchEvent, &str); 4] = [
    (WatchEvent::Deleted, "sum_node_deleted_watch_count"),
    (WatchEvent::DataChanged, "sum_node_changed_watch_count"),
    (WatchEvent::ChildrenChanged, "sum_node_children_watch_count"),
    (WatchEvent::Created, "sum_node_created_watch_count"),
];

/// What a server counted while so many znodes were created, changed and deleted: watches fired for deletions, creations and
/// changes of data, before and after.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchCounts {
    pub server: u32,
    pub znodes: u32,
    pub before: [f64; 3],
    pub after: [f64; 3],
}

impl WatchCounts {
    /// How often all servers together counted one deletion, creation and change.
    #[must_use]
    pub fn per_change(all: &[Self]) -> [f64; 3] {
        std::array::from_fn(|kind| {
            all.iter().map(|one| (one.after[kind] - one.before[kind]) / f64::from(one.znodes)).sum()
        })
    }
}

/// Numeric lines of `mntr`, without the `zk_` prefix.
pub type ServerMetrics = BTreeMap<String, f64>;

/// Keys of a JSON object are text, and serde does not convert them to numbers inside a tagged enum.
pub(crate) fn by_server<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<u32, ServerMetrics>, D::Error> {
    let by_text = BTreeMap::<String, ServerMetrics>::deserialize(deserializer)?;
    let number = |text: String| text.parse().map_err(|_| serde::de::Error::custom(format!("server {text:?}")));
    by_text.into_iter().map(|(text, metrics)| Ok((number(text)?, metrics))).collect()
}

/// How loaded a server is, by its own counters, those for clients of others among them. What it does not count is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerLoad {
    /// Open connections (`num_alive_connections`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<f64>,
    /// Requests that it has taken in and not answered (`outstanding_requests`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outstanding: Option<f64>,
    /// Watches that are armed with it (`watch_count`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watches: Option<f64>,
    /// Packets that it was sent by clients since it started (`packets_received`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received: Option<f64>,
}

impl ServerLoad {
    /// The counters that describe its load.
    #[must_use]
    pub fn of(metrics: &ServerMetrics) -> Self {
        let told = |name: &str| metrics.get(name).copied();
        Self {
            connections: told("num_alive_connections"),
            outstanding: told("outstanding_requests"),
            watches: told("watch_count"),
            received: told("packets_received"),
        }
    }

    /// All figures that are present.
    pub fn figures(&self) -> impl Iterator<Item = f64> {
        [self.connections, self.outstanding, self.watches, self.received].into_iter().flatten()
    }
}
