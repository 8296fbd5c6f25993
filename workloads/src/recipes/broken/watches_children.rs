//! Every candidate watches the election's children instead of its predecessor alone. Every change wakes all others,
//! whether it concerns them or not.

use super::prelude::*;
use crate::coordination::Refusal;

pub(super) const CASE: Case = Case {
    wrong: "whoever joins or goes wakes all others where the next in line was promised",
    seen_in: "recipes that list the election with a watch",
    schedule: &[at(1_000, Action::Resign(0)), at(3_000, Action::Resign(1)), at(5_000, Action::Resign(2))],
    caught: &[FindingKind::FanOut],
    ..Case::of("watches-children", RecipeKind::WatchesChildren, RecipeKind::PredecessorWatch)
};

#[async_trait(?Send)]
impl<S: Session, H: Host> Steps<S, H> for WatchesChildren {
    async fn watch(&self, candidate: &mut Candidate<'_, S, H>, name: &str) -> StepResult<bool> {
        let (session, path) = (candidate.session, candidate.election.path.as_str());
        match candidate.ask(session.children_and_watch(path)).await? {
            // The predecessor is gone since the list.
            OperationAnswer::Ok((names, _)) if !names.iter().any(|other| other == name) => Ok(false),
            OperationAnswer::Ok((_, watch)) => {
                candidate.rearm(Some(ArmedWatch { name: names::name_of(path).to_owned(), watch }));
                Ok(true)
            }
            OperationAnswer::Refused(Refusal::NoNode) | OperationAnswer::Lost => Ok(false),
            OperationAnswer::Refused(refusal) => Err(candidate.stuck("the watch was refused", &refusal)),
        }
    }
}
