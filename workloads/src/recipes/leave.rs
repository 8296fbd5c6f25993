//! Leaving by order: the belief ends first, then the znode goes, over lost answers too, and all of it in bounded time.

use std::pin::pin;

use futures::future::{Either, select};

use super::candidate::{Answer, Candidate, Flow, Own};
use super::career::Behind;
use super::names;
use super::recipe::{Left, Recipe};
use crate::booth::Booth;
use crate::coordination::{Refusal, Session};

/// A departure by order takes no longer than this, whatever the ensemble does.
const LEAVE_MAX_MS: u64 = 1_800;

/// Gives back what it has, for good. Tells when the deletion of the znode was first sent and when it was answered; `None` when
/// there was nothing to delete or no answer came. `certain`: what it has is known to be its own still.
pub(super) async fn give_back<R: Recipe, S: Session, B: Booth>(
    candidate: &mut Candidate<'_, S, B>,
    certain: bool,
) -> Left {
    let booth = candidate.booth;
    let until = booth.now() + LEAVE_MAX_MS * 1_000_000;
    let left = match select(pin!(withdraw::<R, S, B>(candidate, certain)), pin!(booth.sleep_until(until))).await {
        Either::Left((Ok(left), _)) => Some(left),
        Either::Left((Err(_), _)) => Some(None),
        Either::Right(_) => None,
    };
    if left.is_none() {
        candidate.note(
            "left its znode behind: no answer to its deletion in time; it goes before the candidate stands again, or with \
             the session",
        );
    }
    candidate.leave_behind();
    candidate.rearm(None);
    candidate.settle();
    left.flatten()
}

/// Removes what an incarnation before this one left behind under the same session, over lost answers too.
pub(super) async fn clear_up<R: Recipe, S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<()> {
    let Some(Behind { guid, own, .. }) = candidate.career.behind(candidate.session.id()) else { return Ok(()) };
    let fresh = std::mem::replace(&mut candidate.guid, guid);
    candidate.own = own;
    R::delete_own(candidate, false).await?;
    (candidate.guid, candidate.own) = (fresh, Own::None);
    candidate.career.leave_behind(None);
    Ok(())
}

async fn withdraw<R: Recipe, S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>, certain: bool) -> Flow<Left> {
    candidate.delete_breadcrumb().await?;
    R::delete_own(candidate, certain).await
}

/// Deletes the own znode. The watch on it stays armed until the answer is here: to drop it would be one more request.
pub(super) async fn delete_own<R: Recipe, S: Session, B: Booth>(
    candidate: &mut Candidate<'_, S, B>,
    mut certain: bool,
) -> Flow<Left> {
    let (session, booth) = (candidate.session, candidate.booth);
    let mut first_sent = None;
    loop {
        let node = match candidate.own.clone() {
            Own::None => return Ok(first_sent.map(|sent| (sent, booth.now()))),
            Own::Maybe => {
                R::recover(candidate).await?;
                continue;
            }
            Own::Node(node) => node,
        };
        // The lock may have gone while the connection was, by a lost deletion too, and may be another's by now.
        if !certain && node.name() == names::LOCK && !candidate.still_holds_lock(node.czxid).await? {
            candidate.own = Own::None;
            continue;
        }
        certain = false;
        first_sent.get_or_insert_with(|| booth.now());
        match candidate.ask(session.delete(&node.path, None)).await? {
            Answer::Ok(()) | Answer::Refused(Refusal::NoNode) => {
                let answered = booth.now();
                candidate.own = Own::None;
                candidate.drop_own_watch(node.name()).await;
                return Ok(first_sent.map(|sent| (sent, answered)));
            }
            Answer::Refused(refusal) => return Err(candidate.stuck("the deletion of its znode was refused", &refusal)),
            Answer::Lost => candidate.note("the answer to the deletion of its znode was lost: deleting it again"),
        }
    }
}
