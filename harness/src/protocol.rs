//! What the coordinator and its hosts say to each other: one JSON object a line over one connection a host.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use futures::{SinkExt, StreamExt};
use hustings_record::{SessionUse, StepDown};
use hustings_workloads::driver::{FloorPair, FloorPart, FloorTaken};
use hustings_workloads::host::{Predecessor, Token};
use hustings_workloads::recipes::RecipeKind;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio_util::codec::{FramedRead, FramedWrite, LinesCodec};

use crate::access::Access;

/// Longest line either side accepts. A set-up with 100,000 candidates stays below.
const LINE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// From the coordinator to a host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ToHost {
    SetUp(Box<HostSetUp>),
    /// Connect and stand.
    Enrol,
    /// Do one part of a pair's samples of the floor over this host's links: delete → notified → listed.
    Floor {
        part: FloorPart,
        one: FloorPair,
    },
    /// One candidate gives back its lead or place.
    Resign {
        fault: u32,
        cand: u32,
    },
    /// End the session of one candidate by the server.
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
    /// From now on candidates that have won say so and wait, or they do so no more.
    SyncPoint {
        laid: bool,
    },
    /// One that has won goes on.
    GoOn {
        cand: u32,
    },
    /// The wall clock of its candidates jumps by so much.
    SetClock {
        by_ms: i64,
    },
    /// Its program is sent the signal by which deployments end processes. Only for hosts on which one of somebody else's stands:
    /// others get that signal themselves.
    Terminate,
    /// Close everything and end.
    Stop,
}

/// What the resource made of a write: its place in the order of all writes, and whether a fence refused it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct WriteAnswer {
    pub seq: u64,
    pub refused: bool,
}

/// From a host to the coordinator.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum FromHost {
    /// First message: proves by the secret that it is one of ours.
    Hello {
        secret: String,
        host: u16,
        generation: u32,
        pid: u32,
    },
    /// It has its set-up. `acts`: the process whose candidates these are, where that is another one than the host's.
    /// `equal_paths`: its recipe has the paths of programs.
    Ready {
        acts: Option<u32>,
        #[serde(default)]
        equal_paths: bool,
    },
    /// Candidates that are connected and that stand, now.
    Progress {
        connected: u32,
        standing: u32,
    },
    /// A candidate began (`token`) or ended (`None`) to believe that it leads.
    Belief {
        cand: u32,
        token: Option<Token>,
    },
    /// `sent`: taken just before it went out; where that is not known (`is_stamped` is false), when it had come in.
    Write {
        cand: u32,
        token: Token,
        /// Name of the znode whose token it is, where only the name is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<String>,
        sent: u64,
        is_stamped: bool,
    },
    Fence {
        request: u64,
        sent: u64,
        cand: u32,
        old: Predecessor,
        new: Token,
    },
    /// A candidate has won, does not believe it yet, and waits to be told to go on.
    Won {
        cand: u32,
    },
    /// What a part of the floor measured, by sample, or why it could not.
    FloorDone {
        part: FloorPart,
        one: FloorPair,
        taken: FloorTaken,
    },
    /// What came of `Resign` or `Expire`: when it was sent and answered, or why not.
    Done {
        fault: u32,
        cand: u32,
        outcome: Result<(u64, u64), String>,
    },
    /// By how many milliseconds the wall clock of its candidates is ahead of this machine's: before it was set and after that,
    /// as their process reads it; or why that is not known.
    Clock {
        outcome: Result<(i64, i64), String>,
    },
    /// The host cannot go on.
    Failed {
        what: String,
    },
    /// The program whose candidates these were has ended by itself.
    Died {
        what: String,
    },
    /// Everything is closed and written.
    Bye {
        closed: u32,
        unanswered: u32,
    },
}

/// All that a host needs to know of its cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HostSetUp {
    pub cell: u32,
    /// Connect string, through this host's links if it has any, with the cell's znode as its root.
    pub cluster: String,
    /// Who its candidates are to the servers.
    #[serde(default)]
    pub access: Access,
    pub stands: Stands,
    /// A recipe reaches servers and resource as a program does.
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

/// What stands on a host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Stands {
    Recipe(RecipeKind),
    Program(ProgramSetUp),
}

impl Stands {
    /// The program, if it is one.
    #[must_use]
    pub fn program(&self) -> Option<&ProgramSetUp> {
        match self {
            Self::Recipe(_) => None,
            Self::Program(program) => Some(program),
        }
    }
}

/// A program of somebody else's.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProgramSetUp {
    pub name: String,
    /// With everything in its place but what is only known on the host: a mute program's addresses.
    pub command: Vec<String>,
    /// It speaks the protocol; else its command tells it everything.
    pub speaks: bool,
    /// Its candidates queue, with a znode each.
    pub queue: bool,
    pub config: BTreeMap<String, serde_json::Value>,
    /// Where libfaketime looks for its wall clock, if it is started under that.
    pub wall_clock: Option<PathBuf>,
    /// Variables of its environment, beside those of this process.
    pub environment: BTreeMap<String, String>,
}

/// The sending half.
pub struct Sender(FramedWrite<OwnedWriteHalf, LinesCodec>);

/// The receiving half.
pub struct Receiver(FramedRead<OwnedReadHalf, LinesCodec>);

/// Splits a connection in its two halves, without Nagle's delay.
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
    /// The next message; None when the other side is gone. Cancel-safe.
    pub async fn next<M: DeserializeOwned>(&mut self) -> anyhow::Result<Option<M>> {
        match self.0.next().await {
            Some(line) => Ok(Some(serde_json::from_str(&line?)?)),
            None => Ok(None),
        }
    }
}
