//! Sessions and watches, as a client sees them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a session came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SessionEnd {
    /// The ensemble expired it, or the client gave it up for expired.
    Expired,
    /// The client closed it.
    Closed,
    /// The ensemble refused its credentials.
    AuthFailed,
}

/// The connection state of a session, as its client believes it. Written as one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SessionState {
    Connected,
    Disconnected,
    #[serde(untagged)]
    Ended(SessionEnd),
}

/// What a one-shot watch reported. Written as one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WatchEvent {
    Created,
    Deleted,
    #[serde(rename = "changed")]
    DataChanged,
    #[serde(rename = "children")]
    ChildrenChanged,
    /// The session ended: the watch will never fire.
    #[serde(untagged)]
    Ended(SessionEnd),
}
