//! The one znode that the lock recipes compete for: taking it, and checking whether it is the own one.

use super::candidate::{Candidate, OperationAnswer, StepResult};
use super::names;
use super::own_znode::{OwnNode, OwnZnodeState};
use crate::coordination::{CreateMode, Refusal, Session, Stat};
use crate::host::Host;

/// The result of an attempt to take the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attempt {
    Holds,
    Taken,
    /// Unknown so far.
    Again,
}

/// Tries to create the lock. After a lost answer the znode's content and owner decide.
pub(super) async fn attempt<S: Session, H: Host>(
    candidate: &mut Candidate<'_, S, H>,
    recover: impl AsyncFn(&mut Candidate<'_, S, H>) -> StepResult<()>,
) -> StepResult<Attempt> {
    let (session, path) = (candidate.session, names::lock(&candidate.election.path));
    match candidate.own {
        OwnZnodeState::Node(_) => return Ok(joined(candidate, Attempt::Holds)),
        OwnZnodeState::Maybe => {
            recover(candidate).await?;
            return Ok(if candidate.own == OwnZnodeState::Maybe { Attempt::Again } else { after_recovery(candidate) });
        }
        OwnZnodeState::None => {}
    }
    candidate.own = OwnZnodeState::Maybe;
    let data = candidate.identity();
    match candidate.ask(session.create(&path, data.as_bytes(), CreateMode::Ephemeral)).await? {
        OperationAnswer::Ok(created) => {
            candidate.election_seen = true;
            candidate.own = OwnZnodeState::Node(OwnNode { path: created.path, czxid: created.czxid });
            Ok(joined(candidate, Attempt::Holds))
        }
        OperationAnswer::Refused(Refusal::NodeExists) => {
            candidate.election_seen = true;
            candidate.own = OwnZnodeState::None;
            Ok(joined(candidate, Attempt::Taken))
        }
        OperationAnswer::Refused(Refusal::NoNode) => {
            candidate.own = OwnZnodeState::None;
            candidate.election_missing().await?;
            Ok(Attempt::Again)
        }
        OperationAnswer::Refused(refusal) => {
            candidate.own = OwnZnodeState::None;
            Err(candidate.stuck("the lock could not be created", &refusal))
        }
        OperationAnswer::Lost => {
            candidate.note("the answer to its create was lost: looking at the lock's owner");
            Ok(Attempt::Again)
        }
    }
}

fn after_recovery<S: Session, H: Host>(candidate: &mut Candidate<'_, S, H>) -> Attempt {
    let holds = matches!(candidate.own, OwnZnodeState::Node(_));
    if holds { joined(candidate, Attempt::Holds) } else { Attempt::Again }
}

fn joined<S: Session, H: Host>(candidate: &mut Candidate<'_, S, H>, attempt: Attempt) -> Attempt {
    candidate.join(None);
    attempt
}

/// Whether a lock that was read is this candidate's. Candidates of one group may share a session, so the owner alone is
/// not enough.
pub(super) fn is_own<S: Session, H: Host>(candidate: &Candidate<'_, S, H>, data: &[u8], stat: Stat) -> bool {
    stat.ephemeral_owner == candidate.session.id() && data == candidate.identity().as_bytes()
}

/// Finds out whether a create with a lost answer created the lock.
pub(super) async fn recover<S: Session, H: Host>(
    candidate: &mut Candidate<'_, S, H>,
    holds: impl Fn(&Candidate<'_, S, H>, &[u8], Stat) -> bool,
) -> StepResult<()> {
    let (session, path) = (candidate.session, names::lock(&candidate.election.path));
    // The server may lag behind the one that executed the create.
    let OperationAnswer::Ok(()) = candidate.ask(session.sync(&path)).await? else { return Ok(()) };
    candidate.own = match candidate.ask(session.get(&path)).await? {
        OperationAnswer::Ok((data, stat)) if holds(candidate, &data, stat) => {
            OwnZnodeState::Node(OwnNode { path, czxid: stat.czxid })
        }
        OperationAnswer::Ok(_) | OperationAnswer::Refused(Refusal::NoNode) => OwnZnodeState::None,
        OperationAnswer::Refused(refusal) => return Err(candidate.stuck("the lock could not be read", &refusal)),
        OperationAnswer::Lost => OwnZnodeState::Maybe,
    };
    Ok(())
}
