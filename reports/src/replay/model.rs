//! What a replay is: who takes part, and what happened, in order.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use hustings_record::{Departure, FaultKind, Nanos, RevokeReason, SessionState, WatchEvent, WithheldReason};

/// What happened in one group of a cell, from the first candidate that stood until the measured window ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Replay {
    /// Place of the cell in the run.
    pub cell: u32,
    pub group: String,
    /// When the first step was, by the record's clock.
    pub from: Nanos,
    /// Those of the group that are shown, in the order of their first places in the queue; without a queue by number.
    pub cast: Vec<ReplayMember>,
    /// Candidates of the group that are not shown.
    pub others: u64,
    pub steps: Vec<ReplayStep>,
    /// Later steps that there was no room for.
    pub left_out: u64,
    /// What can be seen in it.
    pub walks: Vec<WalkThrough>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayMember {
    pub candidate: u32,
    pub host: u16,
}

/// A part of a replay that tells something by itself: from one step to another, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WalkThrough {
    pub kind: WalkThroughKind,
    pub from: usize,
    pub to: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WalkThroughKind {
    /// All candidates come to stand, and one leads.
    JoinAndElect,
    /// A verified fault costs the leader its lead, and another one takes it.
    LeaderDies,
    /// A verified fault costs a follower with another one behind it its znode, and nobody's lead changes.
    MiddleDies,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayStep {
    /// Since the first step.
    pub at: Nanos,
    pub what: ReplayEvent,
}

/// Candidates are told by their places in the cast.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReplayEvent {
    /// It stands; in a queue by this znode.
    Stood { who: usize, node: Option<String>, session: i64 },
    /// It is done with joining, or with what it was told, after so many requests, and waits with its watch armed.
    Waits { who: usize, requests: u32, watches: WatchedNode },
    /// Watches fired: the first at the step's time, the last so much later. `of`: whose znode it was.
    Told { who: Vec<usize>, others: u64, node: String, of: Option<usize>, kind: WatchEvent, spread: Nanos },
    /// It certainly believes from here on.
    Leads { who: usize, node: String },
    /// It certainly believed until here. None: its process died, or the record ends.
    Yields { who: usize, reason: Option<RevokeReason> },
    /// Its client says so of its connection.
    Session { who: usize, state: SessionState },
    /// The servers answered the deletion of its znode.
    Deleted { who: usize },
    /// Its incarnation ended.
    Left { who: usize, how: Departure },
    /// A fault took effect, or was ordered where that is not verified. `servers`: which ones it hits, or cuts its hosts off from.
    Fault { id: u32, kind: FaultKind, who: Vec<usize>, servers: Vec<u32>, verified: bool },
    /// A fault was healed.
    Healed { id: u32, kind: FaultKind, who: Vec<usize>, verified: bool },
    /// A planned fault was not ordered.
    Withheld { planned: u32, kind: FaultKind, why: WithheldReason },
    /// A new process runs in the place of one that ended.
    Runs { who: usize },
    /// The resource took the first write of its term, or refused one for the first time.
    Wrote { who: usize, refused: bool },
    /// The observer: ZooKeeper names this owner of the lead. None: nobody, or one that is not shown (`other`).
    Owns { who: Option<usize>, other: bool },
    /// The servers listed watches on candidates' znodes: who watches whom.
    Listed { watches: Vec<(usize, usize)> },
}

/// Whom a waiting candidate watches: that it waits is in the record, whom it watches follows from what its recipe declares and
/// from the znodes that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WatchedNode {
    /// Its recipe watches nothing.
    Nothing,
    Member(usize),
    /// One that is not shown, or is not known.
    Another,
}
