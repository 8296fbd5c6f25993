//! The breadcrumb: a persistent znode that names the last leader.

use super::candidate::{Candidate, OperationAnswer, StepResult};
use super::names;
use crate::coordination::{CreateMode, Refusal, Session};
use crate::host::{Host, Predecessor, Token};

/// The result of reading the breadcrumb.
pub(super) enum BreadcrumbReading {
    /// The last leader, and the version of the znode.
    Found(Predecessor, i32),
    Absent,
    /// The answer was lost.
    Lost,
    /// It names no leader to fence, for this reason.
    Bad(String),
}

pub(super) async fn read<S: Session, H: Host>(candidate: &mut Candidate<'_, S, H>) -> StepResult<BreadcrumbReading> {
    let (session, path) = (candidate.session, path(candidate));
    Ok(match candidate.ask(session.get(&path)).await? {
        OperationAnswer::Ok((data, stat)) => match parse(&data) {
            Some(old) => BreadcrumbReading::Found(old, stat.version),
            None => BreadcrumbReading::Bad(format!("{path} names nobody that could be fenced; delete it to go on")),
        },
        OperationAnswer::Refused(Refusal::NoNode) => BreadcrumbReading::Absent,
        OperationAnswer::Refused(refusal) => BreadcrumbReading::Bad(format!("{path} could not be read: {refusal}")),
        OperationAnswer::Lost => BreadcrumbReading::Lost,
    })
}

/// The result of writing it.
pub(super) enum BreadcrumbWrite {
    Yes,
    /// The answer was lost, or the znode was created or deleted in between: its content decides.
    LookAgain,
    Rejoin(String),
}

/// Writes the name of `me` to it, if the znode still has this version; `None`: if there is none.
pub(super) async fn write<S: Session, H: Host>(
    candidate: &mut Candidate<'_, S, H>,
    me: &Predecessor,
    version: Option<i32>,
) -> StepResult<BreadcrumbWrite> {
    let (session, path, data) = (candidate.session, path(candidate), print(me));
    let answer = match version {
        Some(version) => match candidate.ask(session.set(&path, data.as_bytes(), Some(version))).await? {
            OperationAnswer::Ok(stat) => OperationAnswer::Ok(stat.version),
            OperationAnswer::Refused(refusal) => OperationAnswer::Refused(refusal),
            OperationAnswer::Lost => OperationAnswer::Lost,
        },
        None => match candidate.ask(session.create(&path, data.as_bytes(), CreateMode::Persistent)).await? {
            OperationAnswer::Ok(_) => OperationAnswer::Ok(0),
            OperationAnswer::Refused(refusal) => OperationAnswer::Refused(refusal),
            OperationAnswer::Lost => OperationAnswer::Lost,
        },
    };
    Ok(match answer {
        OperationAnswer::Ok(version) => {
            candidate.breadcrumb = Some(version);
            BreadcrumbWrite::Yes
        }
        OperationAnswer::Lost | OperationAnswer::Refused(Refusal::NodeExists | Refusal::NoNode) => {
            BreadcrumbWrite::LookAgain
        }
        OperationAnswer::Refused(refusal) => {
            BreadcrumbWrite::Rejoin(format!("the breadcrumb was not written: {refusal}"))
        }
    })
}

impl<S: Session, H: Host> Candidate<'_, S, H> {
    /// Removes the own breadcrumb, as a leader does on a clean departure.
    pub(super) async fn delete_breadcrumb(&mut self) -> StepResult<()> {
        let (session, path) = (self.session, path(self));
        while let Some(version) = self.breadcrumb {
            match self.ask(session.delete(&path, Some(version))).await? {
                OperationAnswer::Ok(()) | OperationAnswer::Refused(Refusal::NoNode) => self.breadcrumb = None,
                OperationAnswer::Refused(refusal) => {
                    self.breadcrumb = None;
                    self.note(&format!("left its breadcrumb: {refusal}"));
                }
                OperationAnswer::Lost => {}
            }
        }
        Ok(())
    }
}

fn path<S: Session, H: Host>(candidate: &Candidate<'_, S, H>) -> String {
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
