//! Leaving by order: the belief ends first, then the znode goes, over lost answers too, and all of it in bounded time.

use std::pin::pin;

use futures::future::{Either, select};

use super::candidate::{Answer, Candidate, Flow, Own};
use super::names;
use crate::booth::{Booth, Nanos, RevokeReason};
use crate::coordination::{Refusal, Session};

/// A departure by order takes no longer than this, whatever the ensemble does.
const LEAVE_MAX_MS: u64 = 1_800;

impl<S: Session, B: Booth> Candidate<'_, S, B> {
    /// Gives the lead or the place in the queue back. Tells when the deletion of the znode was first sent and when it was
    /// answered; `None` when there was nothing to delete or no answer came.
    pub(super) async fn leave(mut self) -> Option<(Nanos, Nanos)> {
        self.revoke(RevokeReason::Resigned);
        let booth = self.booth;
        let until = booth.now() + LEAVE_MAX_MS * 1_000_000;
        let left = match select(pin!(self.withdraw()), pin!(booth.sleep_until(until))).await {
            Either::Left((Ok(left), _)) => Some(left),
            Either::Left((Err(_), _)) => Some(None),
            Either::Right(_) => None,
        };
        if left.is_none() {
            self.note(
                "left its znode behind: no answer to its deletion in time; only the end of the session removes it",
            );
        }
        self.rearm(None);
        self.settle();
        left.flatten()
    }

    async fn withdraw(&mut self) -> Flow<Option<(Nanos, Nanos)>> {
        self.delete_breadcrumb().await?;
        self.delete_own().await
    }

    /// Deletes the own znode. The watch on it stays armed until the answer is here: to drop it would be one more request.
    pub(super) async fn delete_own(&mut self) -> Flow<Option<(Nanos, Nanos)>> {
        let (session, booth) = (self.session, self.booth);
        let mut first_sent = None;
        loop {
            let node = match self.own.clone() {
                Own::None => return Ok(first_sent.map(|sent| (sent, booth.now()))),
                Own::Maybe => {
                    self.recover().await?;
                    continue;
                }
                Own::Node(node) => node,
            };
            // A lost deletion of the lock may have taken effect, and the lock may be another's by now.
            if first_sent.is_some() && node.name() == names::LOCK && !self.still_holds_lock(node.czxid).await? {
                self.own = Own::None;
                continue;
            }
            first_sent.get_or_insert_with(|| booth.now());
            match self.ask(session.delete(&node.path, None)).await? {
                Answer::Ok(()) | Answer::Refused(Refusal::NoNode) => {
                    let answered = booth.now();
                    self.own = Own::None;
                    self.drop_own_watch(node.name()).await;
                    return Ok(first_sent.map(|sent| (sent, answered)));
                }
                Answer::Refused(refusal) => return Err(self.stuck("the deletion of its znode was refused", &refusal)),
                Answer::Lost => self.note("the answer to the deletion of its znode was lost: deleting it again"),
            }
        }
    }
}
