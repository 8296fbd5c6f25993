//! The resource's writes in the order in which it took them, judged again by what came before them, fences included.

use std::collections::BTreeMap;

use super::ledger::{Judged, Ledgers};
use hustings_record::{CellRecord, Event, Nanos};

/// Candidate, session and czxid of a term: whose writes these are.
pub type WriteKey = (u32, i64, i64);

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    pub t: Nanos,
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
}

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
    /// Times and whether the fence rejected it, by whose write it was, in order.
    by_term: BTreeMap<WriteKey, Vec<(Nanos, bool)>>,
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
        let mut groups: BTreeMap<u32, Ledgers> = BTreeMap::new();
        for (_, entry) in placed {
            match entry {
                Entry::Fence(group, old_czxid) => groups.entry(group).or_default().raise(old_czxid),
                Entry::Write(work) => {
                    let found = groups.entry(work.group).or_default().take((work.czxid, work.session), work.cand);
                    writing.take(Work { found, ..work });
                }
            }
        }
        writing.by_term.values_mut().for_each(|w| w.sort_unstable());
        writing
    }

    fn take(&mut self, work: Work) {
        match self.all.last().map(|last| work.seq - last.seq) {
            Some(0) => self.doubled += 1,
            Some(step) => self.missing += step - 1,
            None => {}
        }
        let key = (work.cand, work.session, work.czxid);
        self.by_term.entry(key).or_default().push((work.t, work.told.rejected));
        self.all.push(work);
    }

    /// When the term's first write from `from` on was accepted by the fence.
    #[must_use]
    pub fn first_accepted(&self, key: WriteKey, from: Nanos) -> Option<Nanos> {
        let writes = self.by_term.get(&key)?;
        writes[writes.partition_point(|w| w.0 < from)..].iter().find(|w| !w.1).map(|w| w.0)
    }

    /// How many writes were tried in a term between two times, both included.
    #[must_use]
    pub fn tried(&self, key: WriteKey, from: Nanos, to: Nanos) -> u64 {
        let Some(writes) = self.by_term.get(&key) else { return 0 };
        let first = writes.partition_point(|w| w.0 < from);
        (writes.partition_point(|w| w.0 <= to).max(first) - first) as u64
    }
}

fn work(event: &Event) -> Option<Work> {
    let Event::Write { t, seq, group, cand, host, czxid, session, unfenced_stale, fenced_rejected, fenced_stale } =
        event
    else {
        return None;
    };
    Some(Work {
        t: *t,
        seq: *seq,
        group: *group,
        cand: *cand,
        host: *host,
        czxid: *czxid,
        session: *session,
        told: Judged { stale: *unfenced_stale, rejected: *fenced_rejected, past: *fenced_stale },
        found: Judged::default(),
    })
}
