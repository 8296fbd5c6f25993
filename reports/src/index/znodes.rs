//! Owners of the znodes that a lead could rest on, from the observer and from decoded connections.

use std::collections::BTreeMap;

use hustings_record::{CellRecord, Event, Token};

/// A znode, by its czxid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Znode<'a> {
    pub session: i64,
    pub node: &'a str,
}

#[derive(Default)]
pub struct Znodes<'a> {
    all: BTreeMap<i64, Znode<'a>>,
    /// By session and name. None: several znodes had that name in turn.
    named: BTreeMap<(i64, &'a str), Option<i64>>,
}

impl<'a> Znodes<'a> {
    pub(super) fn new(cell: &'a CellRecord) -> Self {
        let mut znodes = Self::default();
        for (_, event) in cell.events() {
            match event {
                Event::Created { session, node, czxid, .. } => znodes.take(*czxid, *session, node),
                Event::Owner(owner) => {
                    if let (Some(czxid), Some(session), Some(node)) = (owner.czxid, owner.session, &owner.node) {
                        znodes.take(czxid, session, node);
                    }
                }
                _ => {}
            }
        }
        znodes
    }

    fn take(&mut self, czxid: i64, session: i64, node: &'a str) {
        if czxid == Token::UNKNOWN_CZXID || self.all.insert(czxid, Znode { session, node }).is_some() {
            return;
        }
        self.named.entry((session, node)).and_modify(|known| *known = None).or_insert(Some(czxid));
    }

    /// The znode with this czxid.
    #[must_use]
    pub fn get(&self, czxid: i64) -> Option<Znode<'a>> {
        self.all.get(&czxid).copied()
    }

    /// The czxid of the only znode that this session had by that name.
    #[must_use]
    pub fn named(&self, session: i64, node: &str) -> Option<i64> {
        self.named.get(&(session, node)).copied().flatten()
    }
}
