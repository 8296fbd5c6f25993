//! Messages to and from a program: `hustings-candidate/1`, one JSON object per line. The specification is
//! `workloads/adapters/PROTOCOL.md`; keep both in step.

use std::collections::BTreeMap;

use hustings_record::{Nanos, StepDown};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The protocol version of this build.
pub const PROTOCOL: u32 = 1;

/// Messages to a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "m", rename_all = "snake_case")]
pub enum ToProgram {
    /// Enrol in this slot, and again after every loss of leadership or session, until ordered otherwise.
    Start(SlotStart),
    /// Reply at once with this number and the time of CLOCK_MONOTONIC.
    Sync { n: u64 },
    /// Resign leadership, or the place in the queue; enrol again after the pause given in `start`.
    Resign { slot: u32, fault: u32 },
    /// Release everything and end.
    Stop,
}

/// One slot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlotStart {
    pub slot: u32,
    /// Path of the election; its znode exists already.
    pub group: String,
    /// ZooKeeper's connect string, with its root at the end.
    pub connect: String,
    /// The session timeout to ask for.
    pub timeout_ms: u64,
    /// The URL for a leader's writes, and their interval.
    pub resource: String,
    pub write_every_ms: u64,
    pub rejoin_after_ms: u64,
    /// When to stop believing in leadership after the connection is lost.
    #[serde(default)]
    pub step_down: StepDown,
    /// The program's own parameters, from the scenario.
    #[serde(default)]
    pub config: BTreeMap<String, Value>,
}

/// Messages from a program. Times are nanoseconds of CLOCK_MONOTONIC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "m", rename_all = "snake_case")]
pub enum FromProgram {
    /// The first message.
    Hello {
        protocol: u32,
        name: String,
        #[serde(default)]
        version: String,
        #[serde(default)]
        can: Vec<Ability>,
    },
    /// The reply to `sync`; `wall`: nanoseconds since 1970 by its wall clock.
    Sync {
        n: u64,
        t: Nanos,
        #[serde(default)]
        wall: Option<Nanos>,
    },
    /// It is enrolled; `node` is the name of its znode.
    Standing {
        slot: u32,
        t: Nanos,
        #[serde(default)]
        node: Option<String>,
    },
    /// It leads. `t0`: before its last request for that; `t1`: once it may act. Written before it acts.
    Grant {
        slot: u32,
        term: u32,
        t0: Nanos,
        t1: Nanos,
        #[serde(default)]
        node: Option<String>,
        /// The czxid of that znode.
        #[serde(default)]
        token: Option<i64>,
        #[serde(default)]
        session: Option<i64>,
    },
    /// It does not lead any more. It definitely led until `t0`, and certainly does not from `t1` on. Written before it
    /// acts on that.
    Revoke {
        slot: u32,
        term: u32,
        t0: Nanos,
        t1: Nanos,
        #[serde(default)]
        reason: Option<String>,
    },
    /// The result of `resign`; `t0`: before it released the znode; `t1`: once that was acknowledged.
    Resigned { slot: u32, fault: u32, t0: Nanos, t1: Nanos },
    /// For people who read the record.
    Note {
        #[serde(default)]
        slot: Option<u32>,
        text: String,
    },
    /// The last message.
    Bye,
    /// Messages of later versions.
    #[serde(other)]
    Other,
}

/// Abilities of a program besides enrolling and writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ability {
    /// It reports grants and revokes.
    Report,
    /// Its grants carry the token.
    Token,
    /// Its grants carry the session.
    Session,
    /// It resigns by order.
    Resign,
    /// It supports many slots in one process.
    Many,
    #[serde(other)]
    Other,
}

impl Ability {
    /// The protocol's name for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::Token => "token",
            Self::Session => "session",
            Self::Resign => "resign",
            Self::Many => "many",
            Self::Other => "something that is not known here",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<FromProgram, serde_json::Error> {
        serde_json::from_str(text)
    }

    #[test]
    fn what_is_not_known_is_let_pass_and_what_is_missing_is_not() {
        assert_eq!(read(r#"{"m":"dance","how":"well"}"#).unwrap(), FromProgram::Other);
        let hello = read(r#"{"m":"hello","protocol":1,"name":"x","can":["report","fly"],"mood":3}"#).unwrap();
        let can = vec![Ability::Report, Ability::Other];
        assert_eq!(hello, FromProgram::Hello { protocol: 1, name: "x".into(), version: String::new(), can });
        for bad in [r#"{"m":"grant","slot":1}"#, r#"{"slot":1}"#, "[]", "leader!", r#"{"m":"sync","n":-1,"t":0}"#] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn orders_are_one_line_each() {
        let start = SlotStart {
            slot: 3,
            group: "/election/g0001".into(),
            connect: "127.0.0.1:1/c".into(),
            timeout_ms: 4_000,
            resource: "http://127.0.0.1:9/x".into(),
            write_every_ms: 20,
            rejoin_after_ms: 150,
            step_down: StepDown::After(0.4),
            config: BTreeMap::from([("policy".into(), Value::from("session"))]),
        };
        insta::assert_snapshot!(serde_json::to_string(&ToProgram::Start(start)).unwrap(), @r#"{"m":"start","slot":3,"group":"/election/g0001","connect":"127.0.0.1:1/c","timeout_ms":4000,"resource":"http://127.0.0.1:9/x","write_every_ms":20,"rejoin_after_ms":150,"step_down":"after=0.4","config":{"policy":"session"}}"#);
        insta::assert_snapshot!(serde_json::to_string(&ToProgram::Stop).unwrap(), @r#"{"m":"stop"}"#);
    }
}
