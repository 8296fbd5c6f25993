//! What the reader of one shape of log has found, before it is a log.

use super::log::{Coverage, PauseLogFormat, UnreadLines};
use super::longest_pauses::LongestPauses;
use super::overlaps::OverlappingPauses;

/// What the reader of one shape has of a log.
pub(super) struct ReadPauses {
    pub(super) shape: PauseLogFormat,
    pub(super) kept: LongestPauses,
    pub(super) coverage: Coverage,
    pub(super) unread: UnreadLines,
    pub(super) overlaps: OverlappingPauses,
}

impl ReadPauses {
    /// Those of a log without times.
    pub(super) fn of_milliseconds(kept: LongestPauses) -> Self {
        Self {
            shape: PauseLogFormat::Milliseconds,
            kept,
            coverage: Coverage::default(),
            unread: UnreadLines::default(),
            overlaps: OverlappingPauses::default(),
        }
    }
}
