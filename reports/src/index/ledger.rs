//! The resource's two ledgers, recomputed from its writes: one accepts everything, the other refuses a token that is
//! lower than the highest seen. A write is stale if an earlier accepted one bore a higher token, or the same token from
//! another incarnation.

use std::collections::BTreeSet;

/// The result of a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JudgedWrite {
    /// Stale in the unfenced ledger.
    pub stale: bool,
    /// Rejected by the fence.
    pub rejected: bool,
    /// Stale, but not rejected by the fence.
    pub past: bool,
}

/// The state of one group's ledger: writes that it has accepted so far.
#[derive(Clone, Debug, Default)]
struct LedgerState {
    /// The highest token: czxid, then session.
    highest: Option<(i64, i64)>,
    /// The incarnations that wrote with the highest czxid.
    incarnations: BTreeSet<(i64, u32)>,
}

impl LedgerState {
    /// Whether this write is stale. Accepts it in either case.
    fn take(&mut self, token: (i64, i64), cand: u32) -> bool {
        let (czxid, session) = token;
        let me = (session, cand);
        let same = self.highest.is_some_and(|h| h.0 == czxid);
        let stale = self.highest.is_some_and(|h| h > token) || same && self.incarnations.iter().any(|i| *i != me);
        if self.highest.is_none_or(|h| h.0 < czxid) {
            self.incarnations.clear();
        }
        if self.highest.is_none_or(|h| h.0 <= czxid) {
            self.incarnations.insert(me);
        }
        self.highest = self.highest.max(Some(token));
        stale
    }
}

/// The two ledgers of one group.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledgers {
    unfenced: LedgerState,
    fenced: LedgerState,
    /// The fence rejects tokens with a czxid lower than this. A real fence can compare only the number.
    fence: i64,
}

impl Ledgers {
    /// Takes the next write: its token (czxid, then session) and its candidate.
    pub(super) fn take(&mut self, token: (i64, i64), cand: u32) -> JudgedWrite {
        let rejected = token.0 < self.fence;
        let past = !rejected && self.fenced.take(token, cand);
        self.fence = self.fence.max(token.0);
        JudgedWrite { stale: self.unfenced.take(token, cand), rejected, past }
    }

    /// Refuses the old token and everything below it from now on.
    pub(super) fn raise(&mut self, old_czxid: i64) {
        self.fence = self.fence.max(old_czxid.saturating_add(1));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy)]
    struct Write {
        czxid: i64,
        session: i64,
        cand: u32,
    }

    /// Stale by the definition: some earlier accepted write bears a higher token, or this token from another incarnation.
    fn stale(earlier: &[Write], w: &Write) -> bool {
        earlier.iter().any(|e| {
            (e.czxid, e.session) > (w.czxid, w.session)
                || e.czxid == w.czxid && (e.session, e.cand) != (w.session, w.cand)
        })
    }

    proptest! {
        #[test]
        fn both_ledgers_agree_with_the_definition(
            raw in prop::collection::vec((0_i64..6, 0_i64..3, 0_u32..3, 0_u8..8), 0..60),
        ) {
            let mut ledgers = Ledgers::default();
            let (mut all, mut passed): (Vec<Write>, Vec<Write>) = (Vec::new(), Vec::new());
            let (mut seen, mut fenced): (Vec<i64>, Vec<i64>) = (Vec::new(), Vec::new());
            for &(czxid, session, cand, dice) in &raw {
                if dice == 0 {
                    ledgers.raise(czxid);
                    fenced.push(czxid);
                    continue;
                }
                let w = Write { czxid, session, cand };
                let rejected = seen.iter().any(|&s| s > czxid) || fenced.iter().any(|&f| czxid <= f);
                let past = !rejected && stale(&passed, &w);
                let expected = JudgedWrite { stale: stale(&all, &w), rejected, past };
                prop_assert_eq!(ledgers.take((czxid, session), cand), expected);
                all.push(w);
                seen.push(czxid);
                if !rejected {
                    passed.push(w);
                }
            }
        }
    }
}
