//! The breadcrumb: a persistent znode that says who led last. Whoever holds the lock makes sure that the one it names
//! cannot act any more, then puts its own name there, and only then leads.

use super::candidate::{Answer, Candidate, Flow, Own};
use super::names;
use super::recipe::Recipe;
use crate::booth::{Booth, Predecessor, Token};
use crate::coordination::{CreateMode, Refusal, Session};

/// Reads and writes in one take-over, before the lock is given back.
const STEPS_MAX: u32 = 8;

/// Between giving the lock back and trying again.
const TRY_AGAIN_MS: u64 = 1_000;

/// Fences the one that led before and leaves the own name. Needs the lock. False: the lock was given back.
pub(super) async fn take_over<R: Recipe, S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<bool> {
    if candidate.breadcrumb.is_some() {
        return Ok(true);
    }
    let Own::Node(node) = &candidate.own else { return Ok(false) };
    let token = Token { czxid: node.czxid, session: candidate.session.id() };
    let me = Predecessor { host: candidate.booth.host(), candidate: candidate.booth.candidate(), token };
    let mut fenced = None;
    for _ in 0..STEPS_MAX {
        let found = match read(candidate).await? {
            Read::Found(found, version) => Some((found, version)),
            Read::Absent => None,
            Read::Lost => continue,
            Read::Bad(why) => return give_back::<R, S, B>(candidate, &why).await,
        };
        if let Some((old, version)) = &found {
            if *old == me {
                // An earlier write of ours whose answer was lost.
                candidate.breadcrumb = Some(*version);
                return Ok(true);
            }
            let another = (old.host, old.candidate) != (me.host, me.candidate);
            if another && fenced.as_ref() != Some(old) {
                if let Err(why) = candidate.booth.fence(old, token).await {
                    return give_back::<R, S, B>(candidate, &format!("the old leader could not be fenced: {why}"))
                        .await;
                }
                fenced = Some(old.clone());
            }
        }
        match R::write_breadcrumb(candidate, &me, found.map(|(_, version)| version)).await? {
            Written::Yes => return Ok(true),
            Written::LookAgain => {}
            Written::Rejoin(why) => return give_back::<R, S, B>(candidate, &why).await,
        }
    }
    give_back::<R, S, B>(candidate, "the breadcrumb would not settle").await
}

enum Read {
    Found(Predecessor, i32),
    Absent,
    Lost,
    Bad(String),
}

async fn read<S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>) -> Flow<Read> {
    let (session, path) = (candidate.session, path(candidate));
    Ok(match candidate.ask(session.get(&path)).await? {
        Answer::Ok((data, stat)) => match parse(&data) {
            Some(old) => Read::Found(old, stat.version),
            None => Read::Bad(format!("{path} names nobody that could be fenced; delete it to go on")),
        },
        Answer::Refused(Refusal::NoNode) => Read::Absent,
        Answer::Refused(refusal) => Read::Bad(format!("{path} could not be read: {refusal}")),
        Answer::Lost => Read::Lost,
    })
}

/// What came of writing it.
pub(super) enum Written {
    Yes,
    /// The answer was lost, or the znode came or went: what stands there decides.
    LookAgain,
    Rejoin(String),
}

pub(super) async fn write<S: Session, B: Booth>(
    candidate: &mut Candidate<'_, S, B>,
    me: &Predecessor,
    version: Option<i32>,
) -> Flow<Written> {
    let (session, path, data) = (candidate.session, path(candidate), print(me));
    let answer = match version {
        Some(version) => match candidate.ask(session.set(&path, data.as_bytes(), Some(version))).await? {
            Answer::Ok(stat) => Answer::Ok(stat.version),
            Answer::Refused(refusal) => Answer::Refused(refusal),
            Answer::Lost => Answer::Lost,
        },
        None => match candidate.ask(session.create(&path, data.as_bytes(), CreateMode::Persistent)).await? {
            Answer::Ok(_) => Answer::Ok(0),
            Answer::Refused(refusal) => Answer::Refused(refusal),
            Answer::Lost => Answer::Lost,
        },
    };
    Ok(match answer {
        Answer::Ok(version) => {
            candidate.breadcrumb = Some(version);
            Written::Yes
        }
        Answer::Lost | Answer::Refused(Refusal::NodeExists | Refusal::NoNode) => Written::LookAgain,
        Answer::Refused(refusal) => Written::Rejoin(format!("the breadcrumb was not written: {refusal}")),
    })
}

/// Gives the lock back, and lets some time pass before the next attempt.
async fn give_back<R: Recipe, S: Session, B: Booth>(candidate: &mut Candidate<'_, S, B>, why: &str) -> Flow<bool> {
    candidate.note(&format!("gives the lock back: {why}"));
    R::delete_own(candidate, false).await?;
    candidate.settle();
    candidate.pause(TRY_AGAIN_MS).await?;
    Ok(false)
}

impl<S: Session, B: Booth> Candidate<'_, S, B> {
    /// Removes the own breadcrumb, as a leader does that goes in good order.
    pub(super) async fn delete_breadcrumb(&mut self) -> Flow<()> {
        let (session, path) = (self.session, path(self));
        while let Some(version) = self.breadcrumb {
            match self.ask(session.delete(&path, Some(version))).await? {
                Answer::Ok(()) | Answer::Refused(Refusal::NoNode) => self.breadcrumb = None,
                Answer::Refused(refusal) => {
                    self.breadcrumb = None;
                    self.note(&format!("left its breadcrumb: {refusal}"));
                }
                Answer::Lost => {}
            }
        }
        Ok(())
    }
}

fn path<S: Session, B: Booth>(candidate: &Candidate<'_, S, B>) -> String {
    format!("{}/{}", candidate.election.path, names::BREADCRUMB)
}

fn print(who: &Predecessor) -> String {
    format!("{} {} {} {}", who.host, who.candidate, who.token.czxid, who.token.session)
}

fn parse(data: &[u8]) -> Option<Predecessor> {
    let mut words = std::str::from_utf8(data).ok()?.split(' ');
    let host = words.next()?.parse().ok()?;
    let candidate = words.next()?.parse().ok()?;
    let token = Token { czxid: words.next()?.parse().ok()?, session: words.next()?.parse().ok()? };
    words.next().is_none().then_some(Predecessor { host, candidate, token })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_breadcrumb_is_read_as_it_is_written() {
        let who = Predecessor { host: 3, candidate: 4_999, token: Token { czxid: 0x1_0000_0abc, session: -7 } };
        assert_eq!(parse(print(&who).as_bytes()), Some(who));
    }

    #[test]
    fn anything_else_names_nobody() {
        for data in ["", "1 2 3", "1 2 3 4 5", "a b c d", "70000 1 1 1", "\u{fffd}"] {
            assert_eq!(parse(data.as_bytes()), None, "{data}");
        }
    }
}
