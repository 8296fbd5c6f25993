//! What is said to a program, and what it says: `hustings-candidate/1`, one JSON object a line. Its document is
//! `workloads/adapters/PROTOCOL.md`; what is changed here is changed there.

use std::collections::BTreeMap;

use hustings_record::{Nanos, StepDown};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the protocol that is spoken here.
pub const PROTOCOL: u32 = 1;

/// To a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "m", rename_all = "snake_case")]
pub enum ToProgram {
    /// Stand for election in this seat, and again whenever the lead or the session is lost, until told otherwise.
    Start(Start),
    /// Answer at once with this number and the time of CLOCK_MONOTONIC.
    Sync { n: u64 },
    /// Give the lead, or the place in the queue, back; stand again after the pause that `start` named.
    Resign { seat: u32, fault: u32 },
    /// Give everything up and end.
    Stop,
}

/// One seat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    pub seat: u32,
    /// Path of the election; its znode is there already.
    pub group: String,
    /// ZooKeeper's connect string, with its root at the end.
    pub connect: String,
    /// The session timeout to ask for.
    pub timeout_ms: u64,
    /// Where a leader writes, and how often.
    pub resource: String,
    pub write_every_ms: u64,
    pub rejoin_after_ms: u64,
    /// When to stop believing that it leads, once its connection is lost.
    #[serde(default)]
    pub step_down: StepDown,
    /// Parameters of the program's own, as the scenario has them.
    #[serde(default)]
    pub config: BTreeMap<String, Value>,
}

/// From a program. Times are nanoseconds of CLOCK_MONOTONIC.
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
    /// The answer to `sync`; `wall`: nanoseconds since 1970 by its wall clock.
    Sync {
        n: u64,
        t: Nanos,
        #[serde(default)]
        wall: Option<Nanos>,
    },
    /// It stands; `node` is the name of its znode.
    Standing {
        seat: u32,
        t: Nanos,
        #[serde(default)]
        node: Option<String>,
    },
    /// It leads: `t0` before it asked for the last time, `t1` once it may act. Written before it acts.
    Grant {
        seat: u32,
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
    /// It leads no more: it definitely did until `t0`, and certainly does not from `t1` on. Written before it acts on that.
    Revoke {
        seat: u32,
        term: u32,
        t0: Nanos,
        t1: Nanos,
        #[serde(default)]
        reason: Option<String>,
    },
    /// What came of `resign`: `t0` before it gave up, `t1` once that was answered.
    Resigned { seat: u32, fault: u32, t0: Nanos, t1: Nanos },
    /// For people who read the record.
    Note {
        #[serde(default)]
        seat: Option<u32>,
        text: String,
    },
    /// The last message.
    Bye,
    /// What later versions may say.
    #[serde(other)]
    Other,
}

/// What a program can do beside standing and writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ability {
    /// It reports grants and revokes.
    Report,
    /// Its grants carry the token.
    Token,
    /// Its grants carry the session.
    Session,
    /// It gives leads back by order.
    Resign,
    /// Many seats in one process.
    Many,
    #[serde(other)]
    Other,
}

impl Ability {
    /// As the protocol spells it.
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
        for bad in [r#"{"m":"grant","seat":1}"#, r#"{"seat":1}"#, "[]", "leader!", r#"{"m":"sync","n":-1,"t":0}"#] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn orders_are_one_line_each() {
        let start = Start {
            seat: 3,
            group: "/election/g0001".into(),
            connect: "127.0.0.1:1/c".into(),
            timeout_ms: 4_000,
            resource: "http://127.0.0.1:9/x".into(),
            write_every_ms: 20,
            rejoin_after_ms: 150,
            step_down: StepDown::After(0.4),
            config: BTreeMap::from([("policy".into(), Value::from("session"))]),
        };
        insta::assert_snapshot!(serde_json::to_string(&ToProgram::Start(start)).unwrap(), @r#"{"m":"start","seat":3,"group":"/election/g0001","connect":"127.0.0.1:1/c","timeout_ms":4000,"resource":"http://127.0.0.1:9/x","write_every_ms":20,"rejoin_after_ms":150,"step_down":"after=0.4","config":{"policy":"session"}}"#);
        insta::assert_snapshot!(serde_json::to_string(&ToProgram::Stop).unwrap(), @r#"{"m":"stop"}"#);
    }
}
