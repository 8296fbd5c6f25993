//! `manifest.json`: what was run, on what, and which segments there must be. Replaced atomically, never edited in place.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ensemble::EnsembleKind;
use crate::warning::Warning;

/// Version of the record's schema. A reader refuses those that it cannot put into today's words.
pub const SCHEMA: u32 = 3;

/// Name of the manifest within a record's folder.
pub const MANIFEST_FILE: &str = "manifest.json";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub schema: u32,
    /// Unique id of the run; also the label of everything it starts.
    pub run: String,
    pub state: RunState,
    pub scenario: String,
    /// One line about the scenario, and the prose on what to look at.
    pub summary: String,
    pub analysis: String,
    pub seed: u64,
    /// When it began, for people only: RFC 3339, UTC.
    pub started_utc: String,
    /// When it ended, for people only; None while it runs, and in records of versions that did not note it.
    #[serde(default)]
    pub ended_utc: Option<String>,
    /// The record's folder as it was named when the run began; records can be moved.
    #[serde(default)]
    pub folder: String,
    /// What is to be typed to do it again.
    pub command: String,
    pub ensemble_kind: EnsembleKind,
    /// The same for people: which servers, where, and why these.
    pub ensemble: String,
    pub ensemble_version: String,
    pub versions: BTreeMap<String, String>,
    pub machine: Machine,
    /// Cells that the scenario asks for, whether they were run or not.
    pub cells_planned: u32,
    /// Cells that have ended (or were cut off: `complete` false), in order.
    pub cells: Vec<CellEntry>,
    /// What the user should know before reading any figure.
    pub warnings: Vec<Warning>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// Still running, or killed: nobody wrote an end.
    Running,
    Completed,
    Interrupted,
    /// Ended by an error of the infrastructure; what it recorded until then is here.
    Aborted,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    pub cores: u32,
    pub memory_mb: u64,
    pub kernel: String,
    pub cpu: String,
    /// Load average over one minute when the run began.
    pub load_1m: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellEntry {
    pub index: u32,
    pub name: String,
    /// False when the cell was interrupted or aborted: its segments may be torn.
    pub complete: bool,
    pub segments: Vec<SegmentEntry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentEntry {
    /// Path below `events/`.
    pub file: String,
    /// Bytes and CRC-32 of the sealed file; None while it is still a plain segment.
    pub sealed: Option<(u64, u32)>,
}
