//! The definition of a mutation.

use super::edits::Edits;
use super::indexed_cell::IndexedCell;
use super::sites::Sites;
use crate::check::Section;
use crate::verdict::Verdict;

/// A way to alter a cell's events.
pub struct Mutation {
    pub name: &'static str,
    /// The defect that it introduces, in a sentence.
    pub about: &'static str,
    /// Name of the check that must catch it.
    pub check: &'static str,
    /// The least verdict that the check must reach.
    pub verdict: Verdict,
    /// Whether one site alone must be caught. Not where it takes several: half of the losses, or a cell's only fault.
    pub(super) one_by_one: bool,
    pub(super) sites: fn(&IndexedCell<'_>) -> Sites,
    /// Alters the cell at these sites.
    pub(super) edit: for<'s> fn(&'s IndexedCell<'s>, &'s [usize]) -> Edits<'s>,
}

impl Mutation {
    /// A mutation of which each single site must fail this check.
    pub(super) const fn fails<S: Section>(
        name: &'static str,
        about: &'static str,
        sites: fn(&IndexedCell<'_>) -> Sites,
        edit: for<'s> fn(&'s IndexedCell<'s>, &'s [usize]) -> Edits<'s>,
    ) -> Self {
        Self { name, about, check: S::NAME, verdict: Verdict::Fail, one_by_one: true, sites, edit }
    }
}
