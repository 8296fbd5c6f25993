//! Messages between the coordinator and its hosts: one JSON object per line, over one connection per host.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use futures::{SinkExt, StreamExt};
use hustings_record::{SessionUse, StepDown};
use hustings_workloads::driver::{FloorPair, FloorPart, FloorStamps};
use hustings_workloads::host::{Predecessor, Token};
use hustings_workloads::recipes::RecipeKind;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio_util::codec::{FramedRead, FramedWrite, LinesCodec};

use crate::access::Access;

/// Longest line that either side accepts. The set-up of 100,000 candidates is shorter.
const LINE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// From the coordinator to a host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ToHost {
    SetUp(Box<HostSetUp>),
    /// Connect and enrol.
    Enrol,
    /// Take one part of a pair's samples of the floor over this host's links: delete → notified → listed.
    Floor {
        part: FloorPart,
        one: FloorPair,
    },
    /// One candidate resigns: it releases its leadership or its place in the queue.
    Resign {
        fault: u32,
        cand: u32,
    },
    /// Have the server end one candidate's session.
    Expire {
        fault: u32,
        cand: u32,
    },
    /// The answer to a write.
    Written {
        cand: u32,
        answer: WriteAnswer,
    },
    Fenced {
        request: u64,
        error: Option<String>,
    },
    /// `laid`: from now on, winners report `Won` and wait for `GoOn`. Otherwise they no longer do.
    SyncPoint {
        laid: bool,
    },
    /// The winner continues.
    GoOn {
        cand: u32,
    },
    /// Steps the wall clock of the host's candidates by this much.
    SetClock {
        by_ms: i64,
    },
    /// Sends the foreign program the signal by which deployments end processes. Only for hosts of foreign programs:
    /// other hosts receive the signal themselves.
    Terminate,
    /// Close everything and end.
    Stop,
}

/// The resource's answer to a write: its position in the order of all writes, and whether a fence refused it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct WriteAnswer {
    pub seq: u64,
    pub refused: bool,
}

/// From a host to the coordinator.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum FromHost {
    /// First message. The secret proves that the host belongs to this run.
    Hello {
        secret: String,
        host: u16,
        generation: u32,
        pid: u32,
    },
    /// The host has its set-up. `acts`: the process of its candidates, if it is not the host's. `equal_paths`: its
    /// recipe uses the same paths as programs.
    Ready {
        acts: Option<u32>,
        #[serde(default)]
        equal_paths: bool,
    },
    /// Number of candidates that are connected, and that are enrolled, now.
    Progress {
        connected: u32,
        standing: u32,
    },
    /// A candidate began (`token`) or ended (`None`) to believe that it leads.
    Belief {
        cand: u32,
        token: Option<Token>,
    },
    /// `sent`: just before the write was sent. If that is unknown (`is_stamped` is false), when it was received.
    Write {
        cand: u32,
        token: Token,
        /// Name of the znode that the token belongs to, if only the name is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<String>,
        sent: u64,
        is_stamped: bool,
        /// When the host sent it, or received it from its program. 0: an older host, which does not say.
        #[serde(default)]
        came: u64,
    },
    Fence {
        request: u64,
        sent: u64,
        cand: u32,
        old: Predecessor,
        new: Token,
    },
    /// A candidate has won, does not believe it yet, and waits for `GoOn`.
    Won {
        cand: u32,
    },
    /// The samples of a part of the floor, or why it was not measured.
    FloorDone {
        part: FloorPart,
        one: FloorPair,
        taken: FloorStamps,
    },
    /// Result of `Resign` or `Expire`: when it was sent and answered, or why it failed.
    Done {
        fault: u32,
        cand: u32,
        outcome: Result<(u64, u64), String>,
    },
    /// How many ms the candidates' wall clock is ahead of this machine's, before and after it was set, as their process
    /// reads it. Or the reason why that is unknown.
    Clock {
        outcome: Result<(i64, i64), String>,
    },
    /// The host cannot continue.
    Failed {
        what: String,
    },
    /// The candidates' program ended by itself.
    Died {
        what: String,
    },
    /// Everything is closed and written.
    Bye {
        closed: u32,
        unanswered: u32,
    },
}

/// A cell as its host needs to know it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HostSetUp {
    pub cell: u32,
    /// Connect string, through this host's links if it has any, with the cell's znode as its root.
    pub cluster: String,
    /// Credentials of its candidates for the servers.
    #[serde(default)]
    pub access: Access,
    pub stands: HostCandidates,
    /// A recipe reaches the servers and the resource in the same way as a program.
    #[serde(default)]
    pub equal_paths: bool,
    pub step_down: StepDown,
    pub timeout_ms: u64,
    pub poll_interval_ms: u64,
    pub work_interval_ms: u64,
    pub rejoin_after_ms: u64,
    pub connect_concurrency: u32,
    pub sessions: SessionUse,
    pub seed: u64,
    /// Number, group's number and group's path of each candidate.
    pub candidates: Vec<(u32, u32, String)>,
    pub segment: PathBuf,
    pub writer: String,
}

/// The candidates of a host: a recipe's or a program's.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum HostCandidates {
    Recipe(RecipeKind),
    Program(ProgramSetUp),
}

impl HostCandidates {
    /// The program, if it is one.
    #[must_use]
    pub fn program(&self) -> Option<&ProgramSetUp> {
        match self {
            Self::Recipe(_) => None,
            Self::Program(program) => Some(program),
        }
    }
}

/// A foreign program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProgramSetUp {
    pub name: String,
    /// Complete but for values that only the host knows: the addresses for a program that does not speak the protocol.
    pub command: Vec<String>,
    /// It speaks the protocol. Otherwise its command line contains all it needs.
    pub speaks: bool,
    /// Its candidates queue, with one znode each.
    pub queue: bool,
    pub config: BTreeMap<String, serde_json::Value>,
    /// The file from which libfaketime reads the wall clock, if the program runs under libfaketime.
    pub wall_clock: Option<PathBuf>,
    /// Environment variables in addition to those of this process.
    pub environment: BTreeMap<String, String>,
}

/// The sending half.
pub struct Sender(FramedWrite<OwnedWriteHalf, LinesCodec>);

/// The receiving half.
pub struct Receiver(FramedRead<OwnedReadHalf, LinesCodec>);

/// Splits a connection into its two halves and disables Nagle's algorithm.
pub fn split(stream: TcpStream) -> std::io::Result<(Sender, Receiver)> {
    stream.set_nodelay(true)?;
    let (read, write) = stream.into_split();
    let codec = || LinesCodec::new_with_max_length(LINE_BYTES_MAX);
    Ok((Sender(FramedWrite::new(write, codec())), Receiver(FramedRead::new(read, codec()))))
}

/// Connects to the coordinator.
pub async fn connect(to: SocketAddr) -> std::io::Result<(Sender, Receiver)> {
    split(TcpStream::connect(to).await?)
}

impl Sender {
    pub async fn send(&mut self, message: &impl Serialize) -> anyhow::Result<()> {
        Ok(self.0.send(serde_json::to_string(message)?).await?)
    }
}

impl Receiver {
    /// The next message, or None when the other side has closed the connection. Cancel-safe.
    pub async fn next<M: DeserializeOwned>(&mut self) -> anyhow::Result<Option<M>> {
        match self.0.next().await {
            Some(line) => Ok(Some(serde_json::from_str(&line?)?)),
            None => Ok(None),
        }
    }
}
