//! The fenced resource, which leaders write to. It orders all writes and keeps two ledgers of them. The unfenced one
//! accepts everything and shows the damage to a real resource without a fence. The fenced one rejects a token lower
//! than the highest so far. Both compare only the number in the token.

use std::collections::BTreeSet;

use hustings_record::{Event, Nanos, Token};

/// Both ledgers of all groups of one cell.
pub struct Resource {
    groups: Vec<Ledgers>,
    taken: u64,
}

#[derive(Clone, Default)]
struct Ledgers {
    unfenced: AcceptedWrites,
    fenced: AcceptedWrites,
    /// Tokens below this are rejected: a higher one was seen, or an old leader was fenced off.
    fence: i64,
}

/// The accepted writes of one ledger.
#[derive(Clone, Default)]
struct AcceptedWrites {
    highest: Option<Token>,
    /// Session and candidate of all writers with the highest number.
    incarnations: BTreeSet<(i64, u32)>,
}

/// The ledgers' results for one write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerResult {
    /// Place in the resource's order, over all groups, from 0.
    pub seq: u64,
    /// The unfenced ledger had accepted a higher token before, or this one from another incarnation.
    pub unfenced_stale: bool,
    pub fenced_rejected: bool,
    /// The fenced ledger accepted it although it is stale.
    pub fenced_stale: bool,
}

impl LedgerResult {
    /// The record event of a write that a host's candidate sent for its group at `sent`, if known, accepted at `t`.
    #[must_use]
    pub fn event(self, (sent, t): (Option<Nanos>, Nanos), group: u32, (cand, host): (u32, u16), token: Token) -> Event {
        let Self { seq, unfenced_stale, fenced_rejected, fenced_stale } = self;
        let Token { czxid, session } = token;
        Event::Write { t, sent, seq, group, cand, host, czxid, session, unfenced_stale, fenced_rejected, fenced_stale }
    }
}

impl Resource {
    #[must_use]
    pub fn new(groups: usize) -> Self {
        Self { groups: vec![Ledgers::default(); groups], taken: 0 }
    }

    /// Takes one write. A write with an unknown token has no place in the order of tokens, so it is never stale.
    pub fn write(&mut self, group: usize, cand: u32, token: Token) -> LedgerResult {
        if !token.is_ordered() {
            self.taken += 1;
            return LedgerResult {
                seq: self.taken - 1,
                unfenced_stale: false,
                fenced_rejected: false,
                fenced_stale: false,
            };
        }
        let ledgers = &mut self.groups[group];
        let unfenced_stale = ledgers.unfenced.take(cand, token);
        let fenced_rejected = token.czxid < ledgers.fence;
        let fenced_stale = !fenced_rejected && ledgers.fenced.take(cand, token);
        ledgers.fence = ledgers.fence.max(token.czxid);
        let seq = self.taken;
        self.taken += 1;
        LedgerResult { seq, unfenced_stale, fenced_rejected, fenced_stale }
    }

    /// From now on the fenced ledger rejects `old` and all tokens before it.
    pub fn bar(&mut self, group: usize, old: Token) {
        let ledgers = &mut self.groups[group];
        ledgers.fence = ledgers.fence.max(old.czxid.saturating_add(1));
    }
}

impl AcceptedWrites {
    /// Accepts a write, and returns whether it is stale: a higher token was accepted before, or the same number from
    /// another incarnation.
    fn take(&mut self, cand: u32, token: Token) -> bool {
        let me = (token.session, cand);
        let number = self.highest.map_or(i64::MIN, |highest| highest.czxid);
        let lower = self.highest.is_some_and(|highest| token < highest);
        let twin = token.czxid == number && self.incarnations.iter().any(|other| *other != me);
        if token.czxid > number {
            self.incarnations.clear();
        }
        if token.czxid >= number {
            self.incarnations.insert(me);
        }
        self.highest = self.highest.max(Some(token));
        lower || twin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(czxid: i64, session: i64) -> Token {
        Token { czxid, session }
    }

    #[test]
    fn a_lower_token_is_stale_unfenced_and_rejected_fenced() {
        let mut resource = Resource::new(1);
        resource.write(0, 7, token(5, 1));
        resource.write(0, 7, token(9, 2));
        let late = resource.write(0, 7, token(5, 1));
        assert_eq!(late, LedgerResult { seq: 2, unfenced_stale: true, fenced_rejected: true, fenced_stale: false });
    }

    #[test]
    fn the_first_write_of_a_new_leader_is_never_stale() {
        let mut resource = Resource::new(2);
        resource.write(0, 7, token(5, 1));
        let other_group = resource.write(1, 7, token(3, 2));
        let higher = resource.write(0, 7, token(6, 2));
        assert!(!other_group.unfenced_stale && !other_group.fenced_rejected);
        assert!(!higher.unfenced_stale && !higher.fenced_rejected);
    }

    #[test]
    fn a_token_from_another_incarnation_gets_past_the_fence_and_is_told() {
        let mut resource = Resource::new(1);
        resource.write(0, 7, token(5, 1));
        let twin = resource.write(0, 7, token(5, 2));
        assert!(twin.unfenced_stale && !twin.fenced_rejected && twin.fenced_stale);
        assert!(resource.write(0, 7, token(5, 2)).fenced_stale, "and again");
    }

    #[test]
    fn two_candidates_of_one_session_are_two_incarnations() {
        let mut resource = Resource::new(1);
        resource.write(0, 7, token(5, 1));
        assert!(!resource.write(0, 7, token(5, 1)).unfenced_stale);
        assert!(resource.write(0, 8, token(5, 1)).unfenced_stale);
    }

    #[test]
    fn a_barred_leader_is_refused_before_its_successor_ever_writes() {
        let mut resource = Resource::new(1);
        resource.write(0, 7, token(5, 1));
        resource.bar(0, token(5, 1));
        let late = resource.write(0, 7, token(5, 1));
        assert!(late.fenced_rejected && !late.unfenced_stale);
        assert!(!resource.write(0, 7, token(6, 2)).fenced_rejected);
    }
}
