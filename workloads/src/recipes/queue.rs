//! The recipes that queue: an ephemeral-sequential znode each, the lowest leads, the others watch and list again.

use std::convert::Infallible;

use super::broken::ignores_session_loss;
use super::candidate::{Answer, Armed, Candidate, Flow, Node, Own, Wake};
use super::names;
use crate::booth::Booth;
use crate::coordination::{CreateMode, Refusal, Session, WatchEvent};

/// What the queueing recipes differ in.
pub(super) struct Discipline {
    /// Which place a candidate at this place (above 0) watches.
    pub(super) watched: fn(place: usize) -> usize,
    pub(super) succession: Succession,
    pub(super) office: Office,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Succession {
    ListAgain,
    /// Broken: the watched znode went, so it must be its turn.
    Presumed,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Office {
    Proper,
    /// Broken: nothing that happens to the session is heard.
    Deaf,
}

pub(super) async fn stand<S: Session, B: Booth>(
    candidate: &mut Candidate<'_, S, B>,
    discipline: &Discipline,
) -> Flow<Infallible> {
    let mut wake = Wake::Reconnected;
    loop {
        candidate.connected().await?;
        enrol(candidate).await?;
        let deceased = std::mem::replace(&mut wake, Wake::Reconnected) == Wake::Fired(WatchEvent::Deleted);
        if deceased && discipline.succession == Succession::Presumed {
            lead(candidate, discipline).await?;
            continue;
        }
        let Some((queue, place)) = list(candidate).await? else { continue };
        if place == 0 {
            candidate.rearm(None);
            lead(candidate, discipline).await?;
            continue;
        }
        if watch(candidate, &queue[(discipline.watched)(place)]).await? {
            wake = candidate.wait().await?;
        }
    }
}

async fn lead<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>, discipline: &Discipline) -> Flow<()> {
    match discipline.office {
        Office::Proper => candidate.lead().await,
        Office::Deaf if candidate.take_office().await? => ignores_session_loss::hold_office(candidate).await,
        Office::Deaf => Ok(()),
    }
}

/// Sees to it that it has a znode of its own in the queue.
async fn enrol<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<()> {
    let session = candidate.session;
    loop {
        match &candidate.own {
            Own::Node(node) => {
                let node = node.clone();
                candidate.join(Some(&node));
                return Ok(());
            }
            Own::Maybe => recover(candidate).await?,
            Own::None => {
                candidate.own = Own::Maybe;
                candidate.joined = false;
                let prefix = names::prefix(&candidate.election.path, &candidate.guid);
                let data = candidate.identity();
                let mode = CreateMode::EphemeralSequential;
                match candidate.ask(session.create(&prefix, data.as_bytes(), mode)).await? {
                    Answer::Ok(created) => {
                        candidate.election_seen = true;
                        candidate.own = Own::Node(Node { path: created.path, czxid: created.czxid });
                    }
                    Answer::Refused(Refusal::NoNode) => {
                        candidate.own = Own::None;
                        candidate.election_missing().await?;
                    }
                    Answer::Refused(refusal) => {
                        candidate.own = Own::None;
                        return Err(candidate.stuck("its znode could not be created", &refusal));
                    }
                    Answer::Lost => candidate.note("the answer to its create was lost: looking for its guid"),
                }
            }
        }
    }
}

/// Looks for the znode of a create whose answer was lost: by guid, and only one that this very session owns is its own.
pub(super) async fn recover<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<()> {
    let (session, path) = (candidate.session, candidate.election.path.as_str());
    // The server may lag behind the one that took the create.
    let Answer::Ok(()) = candidate.ask(session.sync(path)).await? else { return Ok(()) };
    let names = match candidate.ask(session.children(path)).await? {
        Answer::Ok(names) => names,
        Answer::Refused(Refusal::NoNode) => {
            candidate.own = Own::None;
            return candidate.election_missing().await;
        }
        Answer::Refused(refusal) => return Err(candidate.stuck("the queue could not be listed", &refusal)),
        Answer::Lost => return Ok(()),
    };
    let (mut mine, mut foreign) = (Vec::new(), false);
    let guid = candidate.guid.clone();
    for name in names::queue_order(names).into_iter().filter(|name| names::bears(name, &guid)) {
        let node_path = format!("{path}/{name}");
        match candidate.ask(session.exists(&node_path)).await? {
            Answer::Ok(Some(stat)) if stat.ephemeral_owner == session.id() => {
                mine.push(Node { path: node_path, czxid: stat.czxid });
            }
            Answer::Ok(Some(_)) => {
                foreign = true;
                candidate.note(&format!("{name} bears its guid but belongs to another session: not adopted"));
            }
            Answer::Ok(None) | Answer::Refused(_) => {}
            Answer::Lost => return Ok(()),
        }
    }
    if foreign {
        candidate.guid = names::guid(candidate.booth.draw(), candidate.booth.draw());
    }
    let mut mine = mine.into_iter();
    candidate.own = mine.next().map_or(Own::None, Own::Node);
    for extra in mine {
        candidate.note(&format!("{} is a second znode of its own: deleting it", extra.name()));
        candidate.ask(session.delete(&extra.path, None)).await?;
    }
    Ok(())
}

/// The queue, first come first, and the own place in it; `None` when it has to be looked at again.
async fn list<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<Option<(Vec<String>, usize)>> {
    let (session, path) = (candidate.session, candidate.election.path.as_str());
    let names = match candidate.ask(session.children(path)).await? {
        Answer::Ok(names) => names,
        Answer::Refused(Refusal::NoNode) => {
            candidate.own = Own::None;
            candidate.election_missing().await?;
            return Ok(None);
        }
        Answer::Refused(refusal) => return Err(candidate.stuck("the queue could not be listed", &refusal)),
        Answer::Lost => return Ok(None),
    };
    let Own::Node(node) = candidate.own.clone() else { return Ok(None) };
    let queue = names::queue_order(names);
    if let Some(place) = queue.iter().position(|name| name == node.name()) {
        return Ok(Some((queue, place)));
    }
    candidate.note("its znode was deleted by somebody else: standing anew");
    candidate.deposed(&node).await?;
    Ok(None)
}

/// Arms the watch on another candidate's znode; false when that is gone and the queue has to be listed again. With a get,
/// since an exists would leave a watch behind on a znode that is gone. A watch that was armed before a reconnect is armed anew.
async fn watch<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>, name: &str) -> Flow<bool> {
    let session = candidate.session;
    let path = format!("{}/{name}", candidate.election.path);
    match candidate.ask(session.get_and_watch(&path)).await? {
        Answer::Ok((_, _, watch)) => {
            candidate.rearm(Some(Armed { name: name.to_owned(), watch }));
            Ok(true)
        }
        Answer::Refused(Refusal::NoNode) => {
            candidate.rearm(None);
            Ok(false)
        }
        Answer::Refused(refusal) => Err(candidate.stuck("the watch was refused", &refusal)),
        Answer::Lost => Ok(false),
    }
}
