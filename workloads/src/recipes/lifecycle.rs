//! State that outlives an incarnation: the number of terms, and a znode that may be left behind.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::own_znode::OwnZnodeState;

/// State shared by one candidate's incarnations in one process. Clones share it too.
#[derive(Clone, Debug, Default)]
pub struct Lifecycle(Rc<LifecycleShared>);

#[derive(Debug, Default)]
struct LifecycleShared {
    terms: Cell<u32>,
    behind: RefCell<Option<UnconfirmedZnode>>,
}

/// A znode whose deletion was not answered in time, or that may exist: the session that owns it, the guid in its name,
/// and its known state.
#[derive(Clone, Debug)]
pub(super) struct UnconfirmedZnode {
    pub(super) session: i64,
    pub(super) guid: String,
    pub(super) own: OwnZnodeState,
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

    pub(super) fn leave_behind(&self, behind: Option<UnconfirmedZnode>) {
        self.0.behind.replace(behind);
    }

    /// The remains of an incarnation under this session. Those of another session ended with that session.
    pub(super) fn behind(&self, session: i64) -> Option<UnconfirmedZnode> {
        self.0.behind.borrow().clone().filter(|behind| behind.session == session)
    }
}
