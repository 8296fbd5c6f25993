//! What the acting manager publishes, and clients follow.

use serde::{Deserialize, Serialize};

/// The servers of a group by what they are for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedNodes {
    /// Where clients write to.
    pub master: Option<u16>,
    /// It is about to become the master: a manager that takes over goes on with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promoting: Option<u16>,
    pub replicas: Vec<u16>,
    pub unavailable: Vec<u16>,
    /// The number in the token of the manager that wrote this.
    pub token: i64,
}

impl PublishedNodes {
    /// Whether clients and other managers would do the same on both: whoever wrote them.
    #[must_use]
    pub fn says_the_same(&self, other: &Self) -> bool {
        let parts = |nodes: &Self| (nodes.master, nodes.promoting, nodes.replicas.clone(), nodes.unavailable.clone());
        parts(self) == parts(other)
    }
}
