//! Handling of a vanished znode: the own one, or the whole election. An election's path exists before its first
//! candidate, and its deletion ends all candidates.

use super::candidate::{Candidate, OperationAnswer, StepResult};
use super::own_znode::{OwnNode, OwnZnodeState};
use crate::coordination::{CreateMode, Refusal, Session};
use crate::host::{Departure, Host};
use hustings_record::ENROLS_AGAIN_AFTER_MS;

impl<S: Session, H: Host> Candidate<'_, S, H> {
    /// The own znode is gone although this candidate did not delete it. Ends if the election was deleted, else lets the
    /// recipe enrol again.
    pub(super) async fn deposed(&mut self, node: &OwnNode) -> StepResult<()> {
        // The consequences of earlier notifications end here.
        self.settle();
        self.drop_own_watch(node.name()).await;
        self.vanished().await
    }

    /// The steps after that notification was taken in. It is not settled before the candidate is enrolled again: until
    /// then none of its watches is armed.
    pub(super) async fn vanished(&mut self) -> StepResult<()> {
        // Without an own znode it has no predecessor: an event of the old watch would be about another queue.
        self.rearm(None);
        self.own = OwnZnodeState::None;
        self.breadcrumb = None;
        self.check_election().await?;
        self.pause(ENROLS_AGAIN_AFTER_MS).await
    }

    /// The ensemble answered that there is no election: creates its path if that is still due, else ends.
    pub(super) async fn election_missing(&mut self) -> StepResult<()> {
        if self.election_seen || !self.election.create_missing {
            return Err(Departure::ElectionDeleted);
        }
        let (session, path) = (self.session, self.election.path.as_str());
        let ends = path.match_indices('/').map(|(at, _)| at).skip(1).chain([path.len()]);
        for end in ends {
            loop {
                match self.ask(session.create(&path[..end], &[], CreateMode::Persistent)).await? {
                    OperationAnswer::Ok(_) | OperationAnswer::Refused(Refusal::NodeExists) => break,
                    OperationAnswer::Refused(refusal) => {
                        return Err(self.stuck("the election could not be created", &refusal));
                    }
                    OperationAnswer::Lost => {}
                }
            }
        }
        self.election_seen = true;
        Ok(())
    }

    /// Ends if the election was deleted.
    pub(super) async fn check_election(&mut self) -> StepResult<()> {
        let (session, path) = (self.session, self.election.path.as_str());
        loop {
            match self.ask(session.exists(path)).await? {
                OperationAnswer::Ok(Some(_)) => {
                    self.election_seen = true;
                    return Ok(());
                }
                OperationAnswer::Ok(None) | OperationAnswer::Refused(Refusal::NoNode) => {
                    return Err(Departure::ElectionDeleted);
                }
                OperationAnswer::Refused(refusal) => {
                    return Err(self.stuck("the election could not be looked at", &refusal));
                }
                OperationAnswer::Lost => {}
            }
        }
    }
}
