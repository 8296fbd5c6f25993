//! Numbers of terms.

use std::cell::Cell;
use std::rc::Rc;

/// Counts the terms of one candidate, over all its incarnations in one process. Clones share the count.
#[derive(Clone, Debug, Default)]
pub struct TermCounter(Rc<Cell<u32>>);

impl TermCounter {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of the next term, from 0.
    pub(super) fn next(&self) -> u32 {
        let term = self.0.get();
        self.0.set(term.wrapping_add(1));
        term
    }
}
