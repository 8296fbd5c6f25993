//! Files that commands read and write: what goes wrong names the file.

use std::path::Path;

use anyhow::Context as _;
use hustings_record::{Damage, RecordError};
use hustings_reports::summary::Summary;

use crate::archive::replace;
use crate::bounded;
use crate::exit::Failure;

/// A summary is smaller than this by far.
const SUMMARY_BYTES_MAX: u64 = 256 << 20;

/// Writes a file whole, or leaves what was there.
pub(super) fn save(path: &Path, content: &str) -> Result<(), Failure> {
    replace(path, content.as_bytes()).with_context(|| path.display().to_string()).map_err(Failure::infrastructure)
}

/// A summary that was written before.
pub(super) fn kept_summary(path: &Path) -> anyhow::Result<Summary> {
    let text = bounded::text(path, SUMMARY_BYTES_MAX).with_context(|| path.display().to_string())?;
    serde_json::from_str(&text).with_context(|| format!("{} is of another version, or damaged", path.display()))
}

/// What a record that cannot be read ends a command with.
pub(super) fn unread(error: RecordError, damage: Damage) -> Failure {
    let cells = matches!(error, RecordError::Segment(_) | RecordError::Mismatch { .. });
    let error = anyhow::Error::new(error);
    Failure::infrastructure(match damage {
        Damage::Refused if cells => error.context("the record is damaged; --salvage leaves out the cells that are"),
        Damage::Refused | Damage::LeftOut => error,
    })
}
