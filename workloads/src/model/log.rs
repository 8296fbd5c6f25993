//! The transactions that were committed, once for all servers: each is somewhere in it.

use std::collections::VecDeque;

use super::txn::Txn;

/// A server that missed no more than so many transactions gets them one by one when it comes back; any other gets the tree.
const KEPT: usize = 8_192;

#[derive(Debug, Default)]
pub(super) struct Log {
    /// Number of the first transaction that is kept, counted from the beginning of time.
    base: u64,
    txns: VecDeque<Txn>,
}

impl Log {
    /// Number of the next transaction.
    pub(super) fn end(&self) -> u64 {
        self.base + self.txns.len() as u64
    }

    pub(super) fn get(&self, number: u64) -> Option<&Txn> {
        let at = usize::try_from(number.checked_sub(self.base)?).ok()?;
        self.txns.get(at)
    }

    /// Whether all transactions from this one on are kept.
    pub(super) fn reaches(&self, number: u64) -> bool {
        number >= self.base
    }

    pub(super) fn push(&mut self, txn: Txn) {
        self.txns.push_back(txn);
    }

    /// Whether there is so much that trimming is worth the while.
    pub(super) fn is_long(&self) -> bool {
        self.txns.len() > 2 * KEPT
    }

    /// Forgets old transactions, of those before `needed`.
    pub(super) fn trim(&mut self, needed: u64) {
        let to = needed.min(self.end().saturating_sub(KEPT as u64));
        let gone = usize::try_from(to.saturating_sub(self.base)).unwrap_or(usize::MAX).min(self.txns.len());
        self.txns.drain(..gone);
        self.base += gone as u64;
    }

    /// Forgets everything: what comes next goes on from a tree that is not made of it.
    pub(super) fn clear(&mut self) {
        self.base = self.end();
        self.txns.clear();
    }
}
