//! A schedule as text.

use std::fmt::{self, Display, Formatter};

use hustings_record::Direction;

use super::{Action, CandidateNumber, LEADER, SERVER_LEADER, ScheduledRequest, ServerOutageKind, Step, StepTrigger};

impl Display for Step {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.when, self.action)
    }
}

impl Display for StepTrigger {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            Self::At(ms) => write!(f, "{ms} ms after all have joined"),
            Self::Sent { cand, kind, part, nth, after_ms } => {
                write!(f, "when candidate {cand} sends {kind} for the {} time", ordinal(nth))?;
                if !part.is_empty() {
                    write!(f, ", of a path with `{part}`")?;
                }
                after_ms.map_or(Ok(()), |ms| write!(f, ", counted from {ms} ms on"))
            }
            Self::Leads { cand, nth } => {
                write!(f, "when candidate {cand} begins to lead for the {} time", ordinal(nth))
            }
        }
    }
}

impl Display for ScheduledRequest {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Create => "a create",
            Self::Delete => "a delete",
            Self::Children => "a list",
            Self::Exists => "an exists",
            Self::Get => "a get",
            Self::Set => "a set",
            Self::Multi => "a multi",
            Self::Sync => "a sync",
            Self::Any => "any request",
        })
    }
}

impl Display for Action {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            Self::LoseReply => f.write_str("its answer is lost with the connection"),
            Self::LoseRequest => f.write_str("it is lost with the connection"),
            Self::DelayRequest(ms) => write!(f, "it is {ms} ms late, and all that follows it"),
            Self::DelayReply(ms) => write!(f, "its answer is {ms} ms late, and all that follows it"),
            Self::Disconnect(cand) => write!(f, "the connection of {} is reset", ActingCandidate(cand)),
            Self::Expire(cand) => write!(f, "the session of {} is ended by force", ActingCandidate(cand)),
            Self::Partition { cand, way, for_ms } => {
                let way = match way {
                    Direction::Both => "between",
                    Direction::Up => "up from",
                    Direction::Down => "down to",
                };
                write!(f, "nothing passes {way} the host of {} for {for_ms} ms", ActingCandidate(cand))
            }
            Self::Pause { cand, for_ms } => {
                write!(f, "the process of {} is stopped for {for_ms} ms", ActingCandidate(cand))
            }
            Self::Crash { cand, for_ms: None } => write!(f, "the process of {} is killed", ActingCandidate(cand)),
            Self::Crash { cand, for_ms: Some(ms) } => {
                write!(f, "the process of {} is killed, and started again after {ms} ms", ActingCandidate(cand))
            }
            Self::Resign(cand) => write!(f, "{} is told to resign", ActingCandidate(cand)),
            Self::DeleteNode(cand) => write!(f, "the znode of {} is deleted by somebody else", ActingCandidate(cand)),
            Self::DeleteParent => f.write_str("the group's znode is deleted with all that is in it, and made again"),
            Self::Lag { cand, by_ms } => {
                write!(f, "the server of {} applies all {by_ms} ms late from then on", ActingCandidate(cand))
            }
            Self::Slow { cand, by_ms } => {
                write!(
                    f,
                    "everything to and from the host of {} takes {by_ms} ms more from then on",
                    ActingCandidate(cand)
                )
            }
            Self::SlowWrites { cand, by_ms } => {
                write!(f, "the writes of {} reach the resource {by_ms} ms later from then on", ActingCandidate(cand))
            }
            Self::Close(cand) => write!(f, "the session of {} is closed by its own process", ActingCandidate(cand)),
            Self::CountFrom(number) => write!(f, "the next sequential znode gets the number {number}"),
            Self::SetClockBack { cand, by_ms } => {
                write!(f, "the wall clock of {} is set back by {by_ms} ms", ActingCandidate(cand))
            }
            Self::Server { id, outage, for_ms } => {
                let done = match outage {
                    ServerOutageKind::Kill => "killed",
                    ServerOutageKind::Pause => "stopped",
                    ServerOutageKind::Part => "cut off from the others",
                };
                match id {
                    SERVER_LEADER => write!(f, "the server that leads is {done} for {for_ms} ms"),
                    id => write!(f, "server {id} is {done} for {for_ms} ms"),
                }
            }
            Self::RestartServers { gap_ms } => {
                write!(f, "all servers are killed, and started one after the other, {gap_ms} ms apart")
            }
        }
    }
}

/// A candidate of an action.
struct ActingCandidate(CandidateNumber);

impl Display for ActingCandidate {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            LEADER => f.write_str("the leader"),
            cand => write!(f, "candidate {cand}"),
        }
    }
}

/// `1st`, `2nd`, `3rd`, `4th`, `11th`.
fn ordinal(number: u32) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_told_in_words() {
        let when =
            StepTrigger::Sent { cand: 2, kind: ScheduledRequest::Exists, part: "n_", nth: 12, after_ms: Some(30) };
        for (step, told) in [
            (
                Step { when, action: Action::DelayRequest(9) },
                "when candidate 2 sends an exists for the 12th time, of a path with `n_`, counted from 30 ms on: it is 9 ms late, \
                 and all that follows it",
            ),
            (
                Step { when: StepTrigger::At(7), action: Action::Resign(LEADER) },
                "7 ms after all have joined: the leader is told to resign",
            ),
            (
                Step {
                    when: StepTrigger::Leads { cand: 0, nth: 1 },
                    action: Action::Server { id: SERVER_LEADER, outage: ServerOutageKind::Part, for_ms: 5 },
                },
                "when candidate 0 begins to lead for the 1st time: the server that leads is cut off from the others for 5 ms",
            ),
        ] {
            assert_eq!(step.to_string(), told);
        }
    }
}
