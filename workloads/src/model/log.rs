//! The committed transactions, stored once for all servers: each server has a position in the log.

use std::collections::VecDeque;

use super::txn::Txn;

/// A returning server that missed at most this many transactions gets them one by one; any other gets the whole tree.
const KEPT: usize = 8_192;

#[derive(Debug, Default)]
pub(super) struct Log {
    /// Number of the first transaction that is kept, counted from the first ever.
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

    /// Whether the log is long enough for trimming to pay off.
    pub(super) fn is_long(&self) -> bool {
        self.txns.len() > 2 * KEPT
    }

    /// Forgets old transactions before `needed`.
    pub(super) fn trim(&mut self, needed: u64) {
        let to = needed.min(self.end().saturating_sub(KEPT as u64));
        let gone = usize::try_from(to.saturating_sub(self.base)).unwrap_or(usize::MAX).min(self.txns.len());
        self.txns.drain(..gone);
        self.base += gone as u64;
    }

    /// Forgets everything: the transactions that follow continue from a tree that the old ones did not produce.
    pub(super) fn clear(&mut self) {
        self.base = self.end();
        self.txns.clear();
    }
}
