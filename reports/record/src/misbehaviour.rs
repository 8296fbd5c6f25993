//! Violations of the protocol by an external program.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::names;

/// Time for a program to end after the order to stop, without the time in which the machine kept it from running.
pub const STOP_AT_MOST: Duration = Duration::from_secs(5);
/// The same to say hello after its start.
pub const HELLO_AT_MOST: Duration = Duration::from_secs(20);
/// How long the harness waits for the answer to an order about one candidate, and for the end of a process after SIGTERM.
pub const ORDER_AT_MOST: Duration = Duration::from_secs(10);

/// How a program breaks the rules by which it takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Misbehaviour {
    /// It ended, and nobody had it so.
    Ended,
    /// It never said who it is, in time.
    Silent,
    /// It said what is no message.
    Garbage,
    /// It said too much that says nothing of who leads.
    TooMuch,
    /// It spoke of a slot that it was not given.
    UnknownSlot,
    /// It spoke of a term that it had not begun, or counted them wrongly.
    UnknownTerm,
    /// It named a znode as its own that it never had.
    WrongNode,
    /// Its times go backwards, or lie where they cannot.
    OutOfTime,
    /// It did not end when it was told to, or when its input ended.
    StopIgnored,
    /// Something of it was left when it had ended in order: a session, a znode.
    LeftBehind,
    /// It gave no answer to an order to resign. The record shows that; no event says it.
    ResignIgnored,
    /// It did not end on SIGTERM, and was killed. The record shows that; no event says it.
    TerminateIgnored,
    /// It enrolled again too soon after it had resigned. The record shows that; no event says it.
    RejoinedEarly,
}

names! {
    Misbehaviour {
        Ended = "ended", Silent = "silent", Garbage = "garbage", TooMuch = "too-much", UnknownSlot = "unknown-seat",
        UnknownTerm = "unknown-term", WrongNode = "wrong-node", OutOfTime = "out-of-time", StopIgnored = "stop-ignored",
        LeftBehind = "left-behind", ResignIgnored = "resign-ignored", TerminateIgnored = "terminate-ignored",
        RejoinedEarly = "rejoined-early",
    }
}

impl Misbehaviour {
    /// The time that a program has to do what it did not, where it is a matter of time. Stalls may keep it from that.
    #[must_use]
    pub fn time_given(self) -> Option<Duration> {
        match self {
            // The harness waits longer for the last two, so that stalls of half of that time are no reason.
            Self::StopIgnored | Self::ResignIgnored | Self::TerminateIgnored => Some(STOP_AT_MOST),
            Self::Silent => Some(HELLO_AT_MOST),
            Self::Ended
            | Self::Garbage
            | Self::TooMuch
            | Self::UnknownSlot
            | Self::UnknownTerm
            | Self::WrongNode
            | Self::OutOfTime
            | Self::LeftBehind
            | Self::RejoinedEarly => None,
        }
    }
}
