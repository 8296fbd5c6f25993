//! Leaving by order: the belief ends first, then the znode goes, over lost answers too, and all of it in bounded time.

use std::pin::pin;

use futures::future::{Either, select};

use super::candidate::{Candidate, Flow, OperationAnswer};
use super::lifecycle::Behind;
use super::names;
use super::own::Own;
use crate::coordination::{Refusal, Session};
use crate::host::{Host, Nanos};

/// A departure by order takes no longer than this, whatever the ensemble does.
const LEAVE_MAX_MS: u64 = 1_800;

/// When the deletion of the own znode was first sent and when it was answered; `None`: there was nothing to delete, or no
/// answer came that says that this deletion did it. That the znode is not there is no such answer: it may have gone otherwise.
pub(super) type Left = Option<(Nanos, Nanos)>;

/// Gives back what it has, for good, by this way of deleting the own znode: once nothing of the term is under way any more, for
/// whoever leads next must not be overtaken by it.
pub(super) async fn give_back<S: Session, H: Host>(
    candidate: &mut Candidate<'_, S, H>,
    work_done: impl Future<Output = ()>,
    delete_own: impl AsyncFnOnce(&mut Candidate<'_, S, H>) -> Flow<Left>,
) -> Left {
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

/// Removes what an incarnation before this one left behind under the same session, over lost answers too.
pub(super) async fn clear_up<S: Session, H: Host>(
    candidate: &mut Candidate<'_, S, H>,
    delete_own: impl AsyncFnOnce(&mut Candidate<'_, S, H>) -> Flow<Left>,
) -> Flow<()> {
    let Some(Behind { guid, own, .. }) = candidate.lifecycle.behind(candidate.session.id()) else { return Ok(()) };
    candidate.host.work_done().await;
    let fresh = std::mem::replace(&mut candidate.guid, guid);
    candidate.own = own;
    delete_own(candidate).await?;
    (candidate.guid, candidate.own) = (fresh, Own::None);
    candidate.lifecycle.leave_behind(None);
    Ok(())
}

/// Deletes the own znode, over lost answers too. `certain`: what it has is known to be its own still; `recover` finds out what
/// it has. The watch on it stays armed until the answer is here: to drop it would be one more request.
pub(super) async fn delete_own<S: Session, H: Host>(
    candidate: &mut Candidate<'_, S, H>,
    mut certain: bool,
    recover: impl AsyncFn(&mut Candidate<'_, S, H>) -> Flow<()>,
) -> Flow<Left> {
    let (session, host) = (candidate.session, candidate.host);
    let mut first_sent = None;
    loop {
        let node = match candidate.own.clone() {
            Own::None => return Ok(None),
            Own::Maybe => {
                recover(candidate).await?;
                continue;
            }
            Own::Node(node) => node,
        };
        // The lock may have gone while the connection was, by a lost deletion too, and may be another's by now.
        if !certain && node.name() == names::LOCK && !still_holds_lock(candidate, node.czxid).await? {
            candidate.own = Own::None;
            continue;
        }
        certain = false;
        first_sent.get_or_insert_with(|| host.now());
        match candidate.ask(session.delete(&node.path, None)).await? {
            answer @ (OperationAnswer::Ok(()) | OperationAnswer::Refused(Refusal::NoNode)) => {
                let answered = host.now();
                candidate.own = Own::None;
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

/// Whether the lock is still the very one that this session created. What it cannot find out it takes for a no only when the
/// session has ended.
async fn still_holds_lock<S: Session, H: Host>(candidate: &mut Candidate<'_, S, H>, czxid: i64) -> Flow<bool> {
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
