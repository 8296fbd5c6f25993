//! What is asked of a pair of sessions that takes samples of the floor, and what it answers.

use hustings_record::Nanos;
use serde::{Deserialize, Serialize};

/// Which part of the samples a host takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FloorPart {
    Delete,
    Watch,
}

/// Samples of one pair of sessions: which pair it is, by number, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FloorPair {
    pub pair: u32,
    pub samples: u32,
}

/// What a host stamps of one sample: when the deletion was sent (twice), or when it was notified and when the list was read. Of
/// a sample that came to nothing: when that was clear, and why.
pub type FloorStamp = Result<(Nanos, Nanos), (Nanos, String)>;

/// What one part of a pair has done, under which session, or why it did nothing.
pub type FloorTaken = Result<(i64, Vec<FloorStamp>), String>;
