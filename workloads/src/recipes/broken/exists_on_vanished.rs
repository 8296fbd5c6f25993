//! The predecessor is watched with an exists. If it is gone already, the watch stays at the server for a znode that
//! never returns. The watches accumulate with every change in the queue.

use super::prelude::*;

/// How often the predecessor disappears between list and watch.
const ROUNDS: usize = 10;
const ROUND_MS: u64 = 1_200;
const STEPS: usize = 6;

pub(super) const CASE: Case = Case {
    wrong: "a watch on a predecessor that has gone already is never given back",
    seen_in: "Curator and kazoo",
    schedule: &SCHEDULE,
    caught: &[FindingKind::Watches],
    ..Case::of("exists-on-vanished", RecipeKind::ExistsOnVanished, RecipeKind::PredecessorWatch)
};

/// In each round the two followers enrol again, and the first one's znode goes while the other is about to watch it.
const SCHEDULE: [Step; STEPS * ROUNDS] = {
    let mut steps = [at(0, Action::Disconnect(0)); STEPS * ROUNDS];
    let mut i = 0;
    while i < ROUNDS {
        let (begin, middle) = ((1 + i as u64) * ROUND_MS, (1 + i as u64) * ROUND_MS + ROUND_MS / 2);
        steps[STEPS * i] = at(begin, Action::DeleteNode(1));
        steps[STEPS * i + 1] = at(begin + 20, Action::Disconnect(1));
        steps[STEPS * i + 2] = at(middle, Action::DeleteNode(2));
        steps[STEPS * i + 3] = at(middle + 20, Action::Disconnect(2));
        steps[STEPS * i + 4] = sent_after(middle, 2, ScheduledRequest::Exists, "-n_", Action::DelayRequest(50));
        steps[STEPS * i + 5] = sent_after(middle, 2, ScheduledRequest::Exists, "-n_", Action::DeleteNode(1));
        i += 1;
    }
    steps
};

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for ExistsOnVanished {
    async fn watch(&self, candidate: &mut Candidate<'_, S, H>, name: &str) -> StepResult<bool> {
        let session = candidate.session;
        let path = format!("{}/{name}", candidate.election.path);
        match candidate.ask(session.exists_and_watch(&path)).await? {
            OperationAnswer::Ok((Some(_), watch)) => {
                candidate.rearm(Some(ArmedWatch { name: name.to_owned(), watch }));
                Ok(true)
            }
            OperationAnswer::Ok((None, watch)) => {
                candidate.left_armed.push(watch);
                candidate.rearm(None);
                Ok(false)
            }
            OperationAnswer::Refused(refusal) => Err(candidate.stuck("the watch was refused", &refusal)),
            OperationAnswer::Lost => Ok(false),
        }
    }
}
