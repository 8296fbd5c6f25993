//! What a checker is.

use hustings_record::Grade;

use super::finding::Finding;
use crate::index::Index;

/// A section of a cell's summary, and the checker that fills it in.
pub trait Section: Default {
    /// The checker's name in reports.
    const NAME: &'static str;

    /// What it looks for, in a sentence.
    const ABOUT: &'static str;

    /// Whom one has to trust for what it says of a candidate. Where a program's own reports are not used, its writes stand in
    /// their place.
    const RESTS_ON: &'static [Grade];

    /// Whether the cell has anything of what it speaks of. Where it has not, the checker is neither run nor listed.
    #[must_use]
    fn applies(index: &Index<'_>) -> bool;

    /// Judges the cell.
    #[must_use]
    fn check(index: &Index<'_>) -> Finding<Self>;
}
