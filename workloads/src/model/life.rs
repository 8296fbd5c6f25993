//! What a znode's owner field says about its life: a session's id, or one of the marks that ZooKeeper puts there instead.

use super::op::{Code, Life, SessionId};

const CONTAINER: i64 = i64::MIN;

/// The top byte of marks that are no session's: no server has this id.
const EXTENDED: u64 = 0xff << 56;

const TTL_MAX_MS: i64 = 0xff_ffff_ffff;

/// The owner field of a new znode.
///
/// # Errors
/// `BadArguments` for a TTL that cannot be.
pub(super) fn owner(life: Life, session: SessionId) -> Result<i64, Code> {
    match life {
        Life::Persistent => Ok(0),
        Life::Ephemeral => Ok(session),
        Life::Container => Ok(CONTAINER),
        Life::Ttl { ms } if (1..=TTL_MAX_MS).contains(&ms) => Ok((EXTENDED | ms as u64) as i64),
        Life::Ttl { .. } => Err(Code::BadArguments),
    }
}

pub(super) fn is_container(owner: i64) -> bool {
    owner == CONTAINER
}

/// The TTL in milliseconds, where there is one.
pub(super) fn ttl_ms(owner: i64) -> Option<i64> {
    (owner as u64 & EXTENDED == EXTENDED).then_some(owner & TTL_MAX_MS)
}

/// Whether the znode is ephemeral.
pub(super) fn is_session(owner: i64) -> bool {
    owner != 0 && !is_container(owner) && ttl_ms(owner).is_none()
}
