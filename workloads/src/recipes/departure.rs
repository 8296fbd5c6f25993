//! Leaving by order. The belief ends first, then the znode is deleted, despite lost answers, and all in bounded time.

use std::pin::pin;

use futures::future::{Either, select};

use super::candidate::{Candidate, OperationAnswer, StepResult};
use super::lifecycle::UnconfirmedZnode;
use super::names;
use super::own_znode::OwnZnodeState;
use crate::coordination::{Refusal, Session};
use crate::host::{Host, Nanos};

/// Bound on a departure by order, whatever the ensemble does.
const LEAVE_MAX_MS: u64 = 1_800;

/// When the deletion of the own znode was first sent and when it was answered. `None`: there was nothing to delete, or
/// no answer confirmed this deletion. A missing znode does not confirm it: there may have been another cause.
pub(super) type DeletionTimes = Option<(Nanos, Nanos)>;

/// Releases all that it holds, for good, with this deletion of the own znode. It waits until no write of the term is in
/// flight, because such a write must not arrive during the next leader's term.
pub(super) async fn give_back<S: Session, H: Host>(
    candidate: &mut Candidate<'_, S, H>,
    work_done: impl Future<Output = ()>,
    delete_own: impl AsyncFnOnce(&mut Candidate<'_, S, H>) -> StepResult<DeletionTimes>,
) -> DeletionTimes {
    let host = candidate.host;
    let until = host.now() + LEAVE_MAX_MS * 1_000_000;
    let withdraw = async {
        work_done.await;
        candidate.delete_breadcrumb().await?;
        delete_own(candidate).await
    };
    let left = match select(pin!(withdraw), pin!(host.sleep_until(until))).await {
        Either::Left((Ok(left), _)) => Some(left),
        Either::Left((Err(_), _)) => Some(None),
        Either::Right(_) => None,
    };
    if left.is_none() {
        candidate.note(
            "left its znode behind: no answer to its last write or its deletion in time; it goes before the candidate stands \
             again, or with the session",
        );
    }
    candidate.leave_behind();
    candidate.rearm(None);
    candidate.settle();
    left.flatten()
}

/// Removes the remains of an earlier incarnation under the same session, despite lost answers.
pub(super) async fn clear_up<S: Session, H: Host>(
    candidate: &mut Candidate<'_, S, H>,
    delete_own: impl AsyncFnOnce(&mut Candidate<'_, S, H>) -> StepResult<DeletionTimes>,
) -> StepResult<()> {
    let Some(UnconfirmedZnode { guid, own, .. }) = candidate.lifecycle.behind(candidate.session.id()) else {
        return Ok(());
    };
    candidate.host.work_done().await;
    let fresh = std::mem::replace(&mut candidate.guid, guid);
    candidate.own = own;
    delete_own(candidate).await?;
    (candidate.guid, candidate.own) = (fresh, OwnZnodeState::None);
    candidate.lifecycle.leave_behind(None);
    Ok(())
}

/// Deletes the own znode, despite lost answers. `certain`: the znode is known to be its own still; `recover` finds the
/// own znode. The watch on it stays armed until the answer arrives: to drop it would cost one more request.
pub(super) async fn delete_own<S: Session, H: Host>(
    candidate: &mut Candidate<'_, S, H>,
    mut certain: bool,
    recover: impl AsyncFn(&mut Candidate<'_, S, H>) -> StepResult<()>,
) -> StepResult<DeletionTimes> {
    let (session, host) = (candidate.session, candidate.host);
    let mut first_sent = None;
    loop {
        let node = match candidate.own.clone() {
            OwnZnodeState::None => return Ok(None),
            OwnZnodeState::Maybe => {
                recover(candidate).await?;
                continue;
            }
            OwnZnodeState::Node(node) => node,
        };
        // The lock may have been deleted while disconnected, also by a lost deletion, and may be another's by now.
        if !certain && node.name() == names::LOCK && !still_holds_lock(candidate, node.czxid).await? {
            candidate.own = OwnZnodeState::None;
            continue;
        }
        certain = false;
        first_sent.get_or_insert_with(|| host.now());
        match candidate.ask(session.delete(&node.path, None)).await? {
            answer @ (OperationAnswer::Ok(()) | OperationAnswer::Refused(Refusal::NoNode)) => {
                let answered = host.now();
                candidate.own = OwnZnodeState::None;
                candidate.drop_own_watch(node.name()).await;
                let deleted = matches!(answer, OperationAnswer::Ok(()));
                return Ok(first_sent.filter(|_| deleted).map(|sent| (sent, answered)));
            }
            OperationAnswer::Refused(refusal) => {
                return Err(candidate.stuck("the deletion of its znode was refused", &refusal));
            }
            OperationAnswer::Lost => {
                candidate.note("the answer to the deletion of its znode was lost: deleting it again")
            }
        }
    }
}

/// Whether the lock is still the one that this session created. While this is unknown it asks again, until the session
/// ends.
async fn still_holds_lock<S: Session, H: Host>(candidate: &mut Candidate<'_, S, H>, czxid: i64) -> StepResult<bool> {
    let (session, path) = (candidate.session, names::lock(&candidate.election.path));
    loop {
        let OperationAnswer::Ok(()) = candidate.ask(session.sync(&path)).await? else { continue };
        match candidate.ask(session.exists(&path)).await? {
            OperationAnswer::Ok(Some(stat)) => return Ok(stat.czxid == czxid && stat.ephemeral_owner == session.id()),
            OperationAnswer::Ok(None) | OperationAnswer::Refused(_) => return Ok(false),
            OperationAnswer::Lost => {}
        }
    }
}
