//! The meaning of a znode's owner field: a session's id, or a mark that ZooKeeper stores there instead.

use super::op::{SessionId, ZnodeLifetime};

const CONTAINER: i64 = i64::MIN;

/// The owner field of a new znode.
pub(super) fn owner(life: ZnodeLifetime, session: SessionId) -> i64 {
    match life {
        ZnodeLifetime::Persistent => 0,
        ZnodeLifetime::Ephemeral => session,
        ZnodeLifetime::Container => CONTAINER,
    }
}

pub(super) fn is_container(owner: i64) -> bool {
    owner == CONTAINER
}

/// Whether the znode is ephemeral.
pub(super) fn is_session(owner: i64) -> bool {
    owner != 0 && !is_container(owner)
}
