//! `manifest.json`: what was run, on what, and which segments must exist. It is replaced atomically, never edited in
//! place, and sealed with a checksum of its contents.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ensemble::EnsembleKind;
use crate::warning::Warning;

/// Version of the record's schema. A reader refuses records of any other version.
pub const SCHEMA: u32 = 3;

/// Name of the manifest within a record's folder.
pub const MANIFEST_FILE: &str = "manifest.json";

/// Name of the summary within a record's folder. It is made from the record, and no part of it.
pub const SUMMARY_FILE: &str = "summary.json";

/// Name of the report within a record's folder. It is made from the record, and no part of it.
pub const REPORT_FILE: &str = "report.html";

/// How the names of files begin that are still being written, and renamed once they are whole.
pub const UNFINISHED_PREFIX: &str = ".hustings-";

/// Entry of [`Manifest::versions`]: the executable of the base's hosts, if it is another one than that of the run.
pub const BASE_BUILD: &str = "hustings of the base";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Files beside the manifest that are part of the record, by name: bytes and CRC-32.
    #[serde(default)]
    pub files: BTreeMap<String, (u64, u32)>,
    /// Cells that have ended (or were cut off: `complete` false), in order.
    pub cells: Vec<CellEntry>,
    /// What the user should know before reading any figure.
    pub warnings: Vec<Warning>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// Still running, or killed: nobody wrote an end.
    Running,
    Completed,
    Interrupted,
    /// Ended by an error of the infrastructure; what it recorded until then is here.
    Aborted,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    pub cores: u32,
    pub memory_mb: u64,
    pub kernel: String,
    pub cpu: String,
    /// Load average over one minute when the run began; older versions read it after the servers' warm-up.
    pub load_1m: String,
    /// The same when the run ended, of which it was a part. None while it runs, and where that was not noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_1m_end: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CellEntry {
    pub index: u32,
    pub name: String,
    /// False when the cell was interrupted or aborted: its segments may be torn.
    pub complete: bool,
    pub segments: Vec<SegmentEntry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SegmentEntry {
    /// Path below `events/`.
    pub file: String,
    /// Bytes and CRC-32 of the sealed file; None while it is still a plain segment.
    pub sealed: Option<(u64, u32)>,
    /// Bytes that the sealed file holds in plain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plain: Option<u64>,
}

/// Key of the seal in the manifest.
pub(crate) const SEAL: &str = "seal";

impl Manifest {
    /// The manifest as it is stored: JSON with a checksum of its contents. A different JSON layout does not break the
    /// seal.
    ///
    /// # Errors
    /// None known.
    pub fn to_sealed_json(&self) -> serde_json::Result<Vec<u8>> {
        let mut value = serde_json::to_value(self)?;
        let seal = seal_of(&value);
        if let Value::Object(fields) = &mut value {
            fields.insert(SEAL.into(), seal.into());
        }
        serde_json::to_vec_pretty(&value)
    }
}

/// Bytes and CRC-32 of a file, as the manifest keeps them.
#[must_use]
pub fn sum_of(content: &[u8]) -> (u64, u32) {
    (content.len() as u64, crc32fast::hash(content))
}

/// CRC-32 of a value in its shortest form, with the keys of every object in order.
pub(crate) fn seal_of(value: &Value) -> String {
    let mut hasher = crc32fast::Hasher::new();
    add(value, &mut hasher);
    format!("{:08x}", hasher.finalize())
}

fn add(value: &Value, to: &mut crc32fast::Hasher) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|field| field.0);
            to.update(b"{");
            for (key, value) in fields {
                to.update(Value::from(key.as_str()).to_string().as_bytes());
                to.update(b":");
                add(value, to);
                to.update(b",");
            }
            to.update(b"}");
        }
        Value::Array(items) => {
            to.update(b"[");
            for item in items {
                add(item, to);
                to.update(b",");
            }
            to.update(b"]");
        }
        plain => to.update(plain.to_string().as_bytes()),
    }
}
