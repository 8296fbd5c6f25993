//! What was there and is gone: the own znode, or the whole election. An election's path comes before its first candidate, and
//! its deletion ends all of them.

use super::candidate::{Candidate, Flow, OperationAnswer};
use super::own::{Own, OwnNode};
use crate::coordination::{CreateMode, Refusal, Session};
use crate::host::{Departure, Host};
use hustings_record::STANDS_ANEW_AFTER_MS;

impl<S: Session, H: Host> Candidate<'_, S, H> {
    /// The own znode is gone though nobody here deleted it: ends with the election if that was deleted, else lets the recipe
    /// stand anew.
    pub(super) async fn deposed(&mut self, node: &OwnNode) -> Flow<()> {
        // What it was told before has led to this and no further.
        self.settle();
        self.drop_own_watch(node.name()).await;
        self.vanished().await
    }

    /// What is to be done once the notification of that was taken in, which is not settled before the candidate stands again:
    /// until then no watch of its is armed.
    pub(super) async fn vanished(&mut self) -> Flow<()> {
        // Whoever does not stand waits for nobody: what the watch on the one before it would tell now is of another queue.
        self.rearm(None);
        self.own = Own::None;
        self.breadcrumb = None;
        self.check_election().await?;
        self.pause(STANDS_ANEW_AFTER_MS).await
    }

    /// The ensemble said that there is no election: creates its path if that is still to be done, else ends.
    pub(super) async fn election_missing(&mut self) -> Flow<()> {
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
    pub(super) async fn check_election(&mut self) -> Flow<()> {
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
