//! The recipes that queue: an ephemeral-sequential znode each, the lowest leads, the others watch and list again.

use std::convert::Infallible;

use super::candidate::{Answer, Armed, Candidate, Flow, Node, Own};
use super::names;
use super::recipe::{Recipe, lead};
use crate::booth::Booth;
use crate::coordination::{CreateMode, Created, Refusal, Session};

/// Whoever waits, waits long, and there are many: what comes before is boxed and dropped, so that a waiting candidate holds
/// no room for it.
pub(super) async fn stand<R: Recipe, S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<Infallible> {
    loop {
        candidate.connected().await?;
        Box::pin(enrol::<R, S, B>(candidate)).await?;
        let Some((mut queue, place)) = Box::pin(list::<R, S, B>(candidate)).await? else { continue };
        if place == 0 {
            candidate.rearm(None);
            Box::pin(lead::<R, S, B>(candidate)).await?;
            continue;
        }
        let watched = queue.swap_remove(R::watched(place));
        drop(queue);
        let armed = Box::pin(R::watch(candidate, &watched)).await?;
        drop(watched);
        if armed {
            let wake = R::wait(candidate).await?;
            if R::presumes(wake) {
                Box::pin(lead::<R, S, B>(candidate)).await?;
            }
        }
    }
}

/// Sees to it that it has a znode of its own in the queue.
pub(super) async fn enrol<R: Recipe, S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<()> {
    loop {
        match &candidate.own {
            Own::Node(node) => {
                let node = node.clone();
                candidate.join(Some(&node));
                return Ok(());
            }
            Own::Maybe => R::recover(candidate).await?,
            Own::None => {
                candidate.own = Own::Maybe;
                candidate.joined = false;
                match R::create(candidate).await? {
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

/// Asks for an ephemeral-sequential znode that bears its guid.
pub(super) async fn create<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<Answer<Created>> {
    let session = candidate.session;
    let prefix = names::prefix(&candidate.election.path, &candidate.guid);
    let data = candidate.identity();
    candidate.ask(session.create(&prefix, data.as_bytes(), CreateMode::EphemeralSequential)).await
}

/// Looks for the znode of a create whose answer was lost: by guid, and only one that this very session owns is its own.
pub(super) async fn recover<R: Recipe, S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<()> {
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
            Answer::Ok(Some(stat)) if R::owns(session, stat) => {
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
async fn list<R: Recipe, S: Session, B: Booth>(
    candidate: &mut Candidate<'_, S, B>,
) -> Flow<Option<(Vec<String>, usize)>> {
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
    let queue = R::in_order(names);
    if let Some(place) = R::place(&queue, node.name()) {
        return Ok(Some((queue, place)));
    }
    candidate.note("its znode was deleted by somebody else: standing anew");
    candidate.deposed(&node).await?;
    Ok(None)
}

/// Arms the watch on another candidate's znode; false when that is gone and the queue has to be listed again. With a get,
/// since an exists would leave a watch behind on a znode that is gone. A watch that was armed before a reconnect is armed anew.
pub(super) async fn watch<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>, name: &str) -> Flow<bool> {
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
