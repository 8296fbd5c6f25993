//! A candidate's knowledge of its own znode.

use super::names;

/// The candidate's own znode, or the lock while it holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OwnZnodeState {
    None,
    /// A create is in flight, or its answer was lost.
    Maybe,
    Node(OwnNode),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OwnNode {
    pub(super) path: String,
    pub(super) czxid: i64,
}

impl OwnNode {
    pub(super) fn name(&self) -> &str {
        names::name_of(&self.path)
    }
}
