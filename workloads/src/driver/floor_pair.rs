//! The request to a pair of sessions that takes floor samples, and its answer.

use hustings_record::Nanos;
use serde::{Deserialize, Serialize};

/// Which part of the samples a host takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FloorPart {
    Delete,
    Watch,
}

/// Samples of one pair of sessions: the number of the pair, and the number of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FloorPair {
    pub pair: u32,
    pub samples: u32,
}

/// A host's stamps of one sample: when the deletion was sent (twice), or when it was notified and when the list was
/// read. For a failed sample: when the failure was clear, and why.
pub type FloorStamp = Result<(Nanos, Nanos), (Nanos, String)>;

/// The stamps of one part of a pair and its session, or why there are none.
pub type FloorStamps = Result<(i64, Vec<FloorStamp>), String>;
