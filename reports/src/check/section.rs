//! The interface of a checker.

use hustings_record::EvidenceSource;

use super::finding::Finding;
use crate::index::Index;

/// A section of a cell's summary, and the checker that fills it in.
pub trait Section: Default {
    /// The checker's name in reports.
    const NAME: &'static str;

    /// What it looks for, in a sentence.
    const ABOUT: &'static str;

    /// Sources that it relies on for its statements about a candidate. Where a program's own reports are not used, its
    /// writes replace them.
    const RESTS_ON: &'static [EvidenceSource];

    /// Whether the cell contains its subject: candidates, for most. If not, the checker is neither run nor listed.
    #[must_use]
    fn applies(index: &Index<'_>) -> bool {
        index.info.has_candidates()
    }

    /// Judges the cell.
    #[must_use]
    fn check(index: &Index<'_>) -> Finding<Self>;
}
