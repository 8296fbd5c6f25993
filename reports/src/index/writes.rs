//! The resource's writes in the order in which it took them, judged again by what came before them, fences included.

use std::collections::BTreeMap;

use super::ledger::{Judged, Ledgers};
use hustings_record::{CellRecord, Event, Nanos, Token};

/// Candidate, session and czxid of a term: whose writes these are.
pub type WriteKey = (u32, i64, i64);

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// When the resource took it.
    pub t: Nanos,
    /// When it was sent; None: not recorded.
    pub sent: Option<Nanos>,
    pub seq: u64,
    pub group: u32,
    pub cand: u32,
    pub host: u16,
    pub czxid: i64,
    pub session: i64,
    /// What the coordinator made of it.
    pub told: Judged,
    /// What its place in the order makes of it.
    pub found: Judged,
    /// Of a stale one: when the first of those that make it stale was sent, if that is recorded of all of them.
    pub rival_sent: Option<Nanos>,
}

impl Work {
    /// Whether its token has a place in the order of tokens: else no ledger can say whether it is stale.
    #[must_use]
    pub fn is_ordered(&self) -> bool {
        Token { czxid: self.czxid, session: self.session }.is_ordered()
    }
}

/// When each incarnation's first write with a token was sent, by czxid, session and candidate.
type FirstSent = BTreeMap<(i64, i64, u32), Option<Nanos>>;

enum Entry {
    Write(Work),
    /// From here on the group's fence refuses tokens up to this czxid.
    Fence(u32, i64),
}

#[derive(Default)]
pub struct Writing {
    /// In the resource's order.
    pub all: Vec<Work>,
    /// Sequence numbers that are missing, or come twice.
    pub missing: u64,
    pub doubled: u64,
    by_term: BTreeMap<WriteKey, Tries>,
}

/// The writes of a term, in order.
#[derive(Default)]
struct Tries {
    /// When each was taken, and whether the fence rejected it.
    taken: Vec<(Nanos, bool)>,
    /// When each was sent, or taken where that is not recorded.
    sent: Vec<Nanos>,
}

impl Writing {
    pub(super) fn new(cell: &CellRecord) -> Self {
        let mut writing = Self::default();
        // A fence stands where its writer put it: after the highest number written so far.
        let mut placed: Vec<((u64, bool), Entry)> = Vec::new();
        for segment in &cell.segments {
            let mut next = 0;
            for event in &segment.events {
                if let Some(work) = work(event) {
                    next = next.max(work.seq + 1);
                    placed.push(((work.seq, true), Entry::Write(work)));
                } else if let Event::Fence { group, old_czxid, done: true, .. } = event {
                    placed.push(((next, false), Entry::Fence(*group, *old_czxid)));
                }
            }
        }
        placed.sort_by_key(|p| p.0);
        let mut groups: BTreeMap<u32, (Ledgers, FirstSent)> = BTreeMap::new();
        for (_, entry) in placed {
            match entry {
                Entry::Fence(group, old_czxid) => groups.entry(group).or_default().0.raise(old_czxid),
                Entry::Write(work) => {
                    let (ledgers, first_sent) = groups.entry(work.group).or_default();
                    if !work.is_ordered() {
                        writing.take(work);
                        continue;
                    }
                    let found = ledgers.take((work.czxid, work.session), work.cand);
                    let rival_sent = if found.stale { rival_sent(first_sent, &work) } else { None };
                    first_sent.entry((work.czxid, work.session, work.cand)).or_insert(work.sent);
                    writing.take(Work { found, rival_sent, ..work });
                }
            }
        }
        for tries in writing.by_term.values_mut() {
            tries.taken.sort_unstable();
            tries.sent.sort_unstable();
        }
        writing
    }

    fn take(&mut self, work: Work) {
        match self.all.last().map(|last| work.seq - last.seq) {
            Some(0) => self.doubled += 1,
            Some(step) => self.missing += step - 1,
            None => {}
        }
        let key = (work.cand, work.session, work.czxid);
        let tries = self.by_term.entry(key).or_default();
        tries.taken.push((work.t, work.told.rejected));
        tries.sent.push(work.sent.unwrap_or(work.t));
        self.all.push(work);
    }

    /// When the term's first write from `from` on was accepted by the fence.
    #[must_use]
    pub fn first_accepted(&self, key: WriteKey, from: Nanos) -> Option<Nanos> {
        let taken = &self.by_term.get(&key)?.taken;
        taken[taken.partition_point(|w| w.0 < from)..].iter().find(|w| !w.1).map(|w| w.0)
    }

    /// When the fence first rejected a write of the term.
    #[must_use]
    pub fn first_refused(&self, key: WriteKey) -> Option<Nanos> {
        self.by_term.get(&key)?.taken.iter().find(|w| w.1).map(|w| w.0)
    }

    /// When writes of a term were tried between two times, both included.
    #[must_use]
    pub fn tried(&self, key: WriteKey, from: Nanos, to: Nanos) -> &[Nanos] {
        let Some(Tries { sent, .. }) = self.by_term.get(&key) else { return &[] };
        let first = sent.partition_point(|&at| at < from);
        &sent[first..sent.partition_point(|&at| at <= to).max(first)]
    }
}

/// When the first of the writes was sent that make this one stale. None: not recorded.
fn rival_sent(first_sent: &FirstSent, work: &Work) -> Option<Nanos> {
    let me = (work.czxid, work.session, work.cand);
    let rivals = first_sent
        .iter()
        .filter(|(other, _)| (other.0, other.1) > (work.czxid, work.session) || other.0 == work.czxid && **other != me);
    rivals.map(|(_, sent)| *sent).min().flatten()
}

fn work(event: &Event) -> Option<Work> {
    let Event::Write { t, sent, seq, group, cand, host, czxid, session, unfenced_stale, fenced_rejected, fenced_stale } =
        event
    else {
        return None;
    };
    Some(Work {
        t: *t,
        sent: *sent,
        seq: *seq,
        group: *group,
        cand: *cand,
        host: *host,
        czxid: *czxid,
        session: *session,
        told: Judged { stale: *unfenced_stale, rejected: *fenced_rejected, past: *fenced_stale },
        found: Judged::default(),
        rival_sent: None,
    })
}
