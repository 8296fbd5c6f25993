//! What outlives an incarnation: the number of terms, and a znode that could not be taken along.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::own::Own;

/// What one candidate's incarnations in one process share. Clones share it too.
#[derive(Clone, Debug, Default)]
pub struct Lifecycle(Rc<LifecycleShared>);

#[derive(Debug, Default)]
struct LifecycleShared {
    terms: Cell<u32>,
    behind: RefCell<Option<Behind>>,
}

/// A znode whose deletion was not answered in time, or one that may be there: the session that owns it, the guid in its name,
/// and what is known of it.
#[derive(Clone, Debug)]
pub(super) struct Behind {
    pub(super) session: i64,
    pub(super) guid: String,
    pub(super) own: Own,
}

impl Lifecycle {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of the next term, from 0.
    pub(super) fn next_term(&self) -> u32 {
        let term = self.0.terms.get();
        self.0.terms.set(term.wrapping_add(1));
        term
    }

    pub(super) fn leave_behind(&self, behind: Option<Behind>) {
        self.0.behind.replace(behind);
    }

    /// What an incarnation under this session left behind. The end of another session took with it what was its own.
    pub(super) fn behind(&self, session: i64) -> Option<Behind> {
        self.0.behind.borrow().clone().filter(|behind| behind.session == session)
    }
}
