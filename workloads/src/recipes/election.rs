//! An election, and requests about it that need no candidate.

use hustings_record::StepDown;

use super::kind::RecipeKind;
use super::{names, order};
use crate::coordination::{Op, OpError, Refusal, Session};

/// The election of a candidate, and its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Election {
    /// Path of the election, `/election/<group>`.
    pub path: String,
    pub recipe: RecipeKind,
    pub step_down: StepDown,
    /// Interval of `poll-race`, in milliseconds.
    pub poll_interval_ms: u64,
    /// Create the election's path (persistent) when it is missing at first. Without this flag, and once the path was
    /// seen, its absence means that the election was deleted.
    pub create_missing: bool,
}

/// Rounds of listing and deleting while candidates keep enrolling, before [`delete_election`] gives up.
const DELETE_ROUNDS_MAX: u32 = 100;

/// Children deleted in one transaction, well below what fits into one request.
const DELETE_AT_ONCE_MAX: usize = 1_000;

/// The leader of an election, according to ZooKeeper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lead {
    /// Name of the znode that the lead rests on.
    pub node: String,
    pub czxid: i64,
    /// The session that owns it.
    pub session: i64,
    /// Host and candidate, as written in the znode; `None` when no recipe of this package created it.
    pub who: Option<(u16, u32)>,
}

/// Asks for the leader. `None`: there is no leader, or no such election.
pub async fn leader<S: Session>(session: &S, path: &str, recipe: RecipeKind) -> Result<Option<Lead>, OpError> {
    let node = if recipe.is_lock() {
        names::LOCK.to_owned()
    } else {
        let names = match session.children(path).await {
            Ok(names) => names,
            Err(OpError::Refused(Refusal::NoNode)) => return Ok(None),
            Err(error) => return Err(error),
        };
        match order::first_come_first(session, path, names).await?.into_iter().next() {
            Some(first) => first,
            None => return Ok(None),
        }
    };
    match session.get(&format!("{path}/{node}")).await {
        Ok((data, stat)) => {
            let who = identity_of(&data);
            Ok(Some(Lead { node, czxid: stat.czxid, session: stat.ephemeral_owner, who }))
        }
        Err(OpError::Refused(Refusal::NoNode)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn identity_of(data: &[u8]) -> Option<(u16, u32)> {
    let mut words = std::str::from_utf8(data).ok()?.split(' ').skip(1);
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

/// Deletes an election with all its znodes; a missing one is no error. The last candidates' znodes are deleted together
/// with the election, so that candidates that are still joining find it gone.
///
/// # Errors
/// The ensemble's refusal; [`OpError::Unknown`] when the connection was lost, and then it may be called again.
pub async fn delete_election<S: Session>(session: &S, path: &str) -> Result<(), OpError> {
    let mut refused = Refusal::NotEmpty;
    for _ in 0..DELETE_ROUNDS_MAX {
        let names = match session.children(path).await {
            Ok(names) => names,
            Err(OpError::Refused(Refusal::NoNode)) => return Ok(()),
            Err(error) => return Err(error),
        };
        let last = names.len() <= DELETE_AT_ONCE_MAX;
        let delete = |name: &String| Op::Delete { path: format!("{path}/{name}"), version: None };
        let mut ops: Vec<Op> = names.iter().take(DELETE_AT_ONCE_MAX).map(delete).collect();
        if last {
            ops.push(Op::Delete { path: path.to_owned(), version: None });
        }
        match session.multi(ops).await {
            Ok(()) if last => return Ok(()),
            Ok(()) => {}
            Err(OpError::Refused(refusal)) => refused = refusal,
            Err(error) => return Err(error),
        }
    }
    Err(OpError::Refused(refused))
}
