//! The queue: one ephemeral-sequential znode per candidate, and their order.

use super::candidate::{ArmedWatch, Candidate, OperationAnswer, StepResult};
use super::own_znode::{OwnNode, OwnZnodeState};
use super::{names, order};
use crate::coordination::{CreateMode, CreatedZnode, Refusal, Session, Stat};
use crate::host::Host;

/// Makes sure that the candidate has its own znode in the queue.
pub(super) async fn enrol<S: Session, H: Host>(
    candidate: &mut Candidate<'_, S, H>,
    create: impl AsyncFn(&mut Candidate<'_, S, H>) -> StepResult<OperationAnswer<CreatedZnode>>,
    recover: impl AsyncFn(&mut Candidate<'_, S, H>) -> StepResult<()>,
) -> StepResult<()> {
    loop {
        match &candidate.own {
            OwnZnodeState::Node(node) => {
                let node = node.clone();
                candidate.join(Some(&node));
                return Ok(());
            }
            OwnZnodeState::Maybe => recover(candidate).await?,
            OwnZnodeState::None => {
                candidate.own = OwnZnodeState::Maybe;
                candidate.joined = false;
                match create(candidate).await? {
                    OperationAnswer::Ok(created) => {
                        candidate.election_seen = true;
                        candidate.own = OwnZnodeState::Node(OwnNode { path: created.path, czxid: created.czxid });
                    }
                    OperationAnswer::Refused(Refusal::NoNode) => {
                        candidate.own = OwnZnodeState::None;
                        candidate.election_missing().await?;
                    }
                    OperationAnswer::Refused(refusal) => {
                        candidate.own = OwnZnodeState::None;
                        return Err(candidate.stuck("its znode could not be created", &refusal));
                    }
                    OperationAnswer::Lost => candidate.note("the answer to its create was lost: looking for its guid"),
                }
            }
        }
    }
}

/// Creates an ephemeral-sequential znode with its guid.
pub(super) async fn create<S: Session, H: Host>(
    candidate: &mut Candidate<'_, S, H>,
) -> StepResult<OperationAnswer<CreatedZnode>> {
    let session = candidate.session;
    let prefix = names::prefix(&candidate.election.path, &candidate.guid);
    let data = candidate.identity();
    candidate.ask(session.create(&prefix, data.as_bytes(), CreateMode::EphemeralSequential)).await
}

/// Looks for the znode of a create with a lost answer: it must have this guid, and this session must own it.
pub(super) async fn recover<S: Session, H: Host>(
    candidate: &mut Candidate<'_, S, H>,
    owns: impl Fn(&S, Stat) -> bool,
) -> StepResult<()> {
    let (session, path) = (candidate.session, candidate.election.path.as_str());
    // The server may lag behind the one that executed the create.
    let OperationAnswer::Ok(()) = candidate.ask(session.sync(path)).await? else { return Ok(()) };
    let names = match candidate.ask(session.children(path)).await? {
        OperationAnswer::Ok(names) => names,
        OperationAnswer::Refused(Refusal::NoNode) => {
            candidate.own = OwnZnodeState::None;
            return candidate.election_missing().await;
        }
        OperationAnswer::Refused(refusal) => return Err(candidate.stuck("the queue could not be listed", &refusal)),
        OperationAnswer::Lost => return Ok(()),
    };
    let (mut mine, mut foreign) = (Vec::new(), false);
    let guid = candidate.guid.clone();
    for name in names.into_iter().filter(|name| names::sequence(name).is_some() && names::bears(name, &guid)) {
        let node_path = format!("{path}/{name}");
        match candidate.ask(session.exists(&node_path)).await? {
            OperationAnswer::Ok(Some(stat)) if owns(session, stat) => {
                mine.push(OwnNode { path: node_path, czxid: stat.czxid });
            }
            OperationAnswer::Ok(Some(_)) => {
                foreign = true;
                candidate.note(&format!("{name} bears its guid but belongs to another session: not adopted"));
            }
            OperationAnswer::Ok(None) | OperationAnswer::Refused(_) => {}
            OperationAnswer::Lost => return Ok(()),
        }
    }
    if foreign {
        candidate.guid = names::guid(candidate.host.draw(), candidate.host.draw());
    }
    oldest_first(&mut mine);
    let mut mine = mine.into_iter();
    candidate.own = mine.next().map_or(OwnZnodeState::None, OwnZnodeState::Node);
    for extra in mine {
        candidate.note(&format!("{} is a second znode of its own: deleting it", extra.name()));
        candidate.ask(session.delete(&extra.path, None)).await?;
    }
    Ok(())
}

/// A separate function, because the compiler would otherwise compile the sort for every kind of candidate.
fn oldest_first(nodes: &mut [OwnNode]) {
    nodes.sort_by_key(|node| node.czxid);
}

/// The listed queue in the order of creation, and the own place in it, from 0.
pub(super) struct Queue {
    names: Vec<String>,
    pub(super) place: usize,
}

impl Queue {
    /// The name at this place.
    pub(super) fn into_name(mut self, place: usize) -> String {
        self.names.swap_remove(place)
    }
}

/// The candidates' names among `names` in the order of creation; `None` when the queue must be listed again.
pub(super) async fn in_order<S: Session, H: Host>(
    candidate: &mut Candidate<'_, S, H>,
    names: Vec<String>,
) -> StepResult<Option<Vec<String>>> {
    let (session, election) = (candidate.session, candidate.election.path.as_str());
    match candidate.ask(order::first_come_first(session, election, names)).await? {
        OperationAnswer::Ok(names) => Ok(Some(names)),
        OperationAnswer::Lost => Ok(None),
        OperationAnswer::Refused(refusal) => Err(candidate.stuck("the queue could not be put in order", &refusal)),
    }
}

/// Lists the queue; `None` when it must be listed again.
pub(super) async fn list<S: Session, H: Host>(
    candidate: &mut Candidate<'_, S, H>,
    in_order: impl AsyncFn(&mut Candidate<'_, S, H>, Vec<String>) -> StepResult<Option<Vec<String>>>,
    place: impl Fn(&[String], &str) -> Option<usize>,
) -> StepResult<Option<Queue>> {
    let (session, path) = (candidate.session, candidate.election.path.as_str());
    let names = match candidate.ask(session.children(path)).await? {
        OperationAnswer::Ok(names) => names,
        OperationAnswer::Refused(Refusal::NoNode) => {
            candidate.own = OwnZnodeState::None;
            candidate.election_missing().await?;
            return Ok(None);
        }
        OperationAnswer::Refused(refusal) => return Err(candidate.stuck("the queue could not be listed", &refusal)),
        OperationAnswer::Lost => return Ok(None),
    };
    let OwnZnodeState::Node(node) = candidate.own.clone() else { return Ok(None) };
    let Some(names) = in_order(candidate, names).await? else { return Ok(None) };
    if let Some(place) = place(&names, node.name()) {
        return Ok(Some(Queue { names, place }));
    }
    candidate.note("its znode was deleted by somebody else: standing anew");
    candidate.deposed(&node).await?;
    Ok(None)
}

/// Arms the watch on another candidate's znode; false when that is gone and the queue must be listed again. It uses a
/// get, because an exists would leave a watch on a znode that is gone. A watch from before a reconnect is armed again.
pub(super) async fn watch<S: Session, H: Host>(candidate: &mut Candidate<'_, S, H>, name: &str) -> StepResult<bool> {
    let session = candidate.session;
    let path = format!("{}/{name}", candidate.election.path);
    match candidate.ask(session.get_and_watch(&path)).await? {
        // A predecessor must be older. This znode reuses the name of one that is gone, so the own znode is gone, too.
        OperationAnswer::Ok((_, stat, _)) if matches!(&candidate.own, OwnZnodeState::Node(own) if stat.czxid > own.czxid) =>
        {
            candidate.rearm(None);
            Ok(false)
        }
        OperationAnswer::Ok((_, _, watch)) => {
            candidate.rearm(Some(ArmedWatch { name: name.to_owned(), watch }));
            Ok(true)
        }
        OperationAnswer::Refused(Refusal::NoNode) => {
            candidate.rearm(None);
            Ok(false)
        }
        OperationAnswer::Refused(refusal) => Err(candidate.stuck("the watch was refused", &refusal)),
        OperationAnswer::Lost => Ok(false),
    }
}
