//! Did the resource accept a write that it should not have? Needs no clock: the resource orders writes, and a write is stale
//! if an earlier accepted one bore a higher token, or the same token from another incarnation. Both ledgers are computed
//! again from the writes and held against what the coordinator noted.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, bound, evidence, moment};
use crate::index::{Index, LedgerEntry, Work};
use crate::record::{Fencing, Nanos};
use crate::stats::rate;
use crate::summary::{CellSummary, Writes};

/// What one group's ledger accepted so far.
#[derive(Clone, Debug, Default)]
struct Accepted {
    /// The highest token: czxid, then session.
    highest: Option<(i64, i64)>,
    /// Who wrote with the highest czxid.
    incarnations: BTreeSet<(i64, u32)>,
}

impl Accepted {
    /// Whether this write is stale; takes it in either case.
    fn take(&mut self, work: &Work) -> bool {
        let token = (work.czxid, work.session);
        let me = (work.session, work.cand);
        let same = self.highest.is_some_and(|h| h.0 == work.czxid);
        let stale = self.highest.is_some_and(|h| h > token) || same && self.incarnations.iter().any(|i| *i != me);
        if self.highest.is_none_or(|h| h.0 < work.czxid) {
            self.incarnations.clear();
        }
        if self.highest.is_none_or(|h| h.0 <= work.czxid) {
            self.incarnations.insert(me);
        }
        self.highest = self.highest.max(Some(token));
        stale
    }
}

/// The two ledgers of one group.
#[derive(Clone, Debug, Default)]
struct Ledgers {
    unfenced: Accepted,
    fenced: Accepted,
    /// The fence rejects tokens with a czxid lower than this: all that a real one could compare is the number.
    fence: i64,
}

impl Ledgers {
    /// Stale in the unfenced ledger, rejected by the fence, stale past the fence.
    fn take(&mut self, work: &Work) -> [bool; 3] {
        let rejected = work.czxid < self.fence;
        let past = !rejected && self.fenced.take(work);
        self.fence = self.fence.max(work.czxid);
        [self.unfenced.take(work), rejected, past]
    }

    /// Refuses the old token and everything below it from now on.
    fn raise(&mut self, old_czxid: i64) {
        self.fence = self.fence.max(old_czxid.saturating_add(1));
    }
}

/// Stale writes of a group in the unfenced ledger: time, host, and whether the fence stopped it.
pub(crate) fn stale_in_group(index: &Index<'_>, wanted: u32) -> Vec<(Nanos, u16, bool)> {
    let mut ledgers = Ledgers::default();
    let mut stale = Vec::new();
    for entry in &index.writing.ledger {
        match entry {
            LedgerEntry::Fence { group, old_czxid } if *group == wanted => ledgers.raise(*old_czxid),
            LedgerEntry::Write(work) if work.group == wanted => {
                let [unfenced, rejected, past] = ledgers.take(work);
                if unfenced || past {
                    stale.push((work.t, work.host, rejected));
                }
            }
            _ => {}
        }
    }
    stale
}

#[derive(Default)]
struct Counts {
    stale: u64,
    rejected: u64,
    past: u64,
    differing: u64,
    first_differing: Option<Work>,
    /// The first few stale ones of the ledger that counts.
    shown: Vec<Work>,
}

pub(super) fn check(index: &Index<'_>, summary: &mut CellSummary) -> Finding {
    let mut finding = Finding::default();
    let counts = count(index);
    let total = index.writing.total;
    let on_waking = on_waking(index);
    let writes = Writes {
        total,
        unfenced: rate(counts.stale, total),
        fenced_off: counts.rejected,
        past_fence: rate(counts.past, total),
        on_waking,
    };
    let (counted, ledger) = match index.info.fencing {
        Fencing::Fenced => (writes.past_fence, "past the fence"),
        Fencing::Unfenced => (writes.unfenced, "accepted by the unfenced ledger"),
    };
    let evidence = if total == 0 { Err("nothing was ever written".into()) } else { evidence(index) };
    let what = format!("stale writes {ledger}");
    finding.unsafe_as_expected = finding.judge(index.info.expect.stale_writes, counted.seen, &what, evidence);
    harness(index, &mut finding, &counts);
    for work in &counts.shown {
        finding.note(format!(
            "{}: stale write {} by candidate {} on {} with czxid {:#x} at {}",
            index.group_name(work.group),
            work.seq,
            work.cand,
            index.host_name(work.host),
            work.czxid,
            moment(index, work.t),
        ));
    }
    finding.headline(format!(
        "{} of {total} writes stale {ledger} ({}); unfenced {}, fenced off {}, past the fence {}; {on_waking} on waking; \
         {} handovers, {} proven faults",
        counted.seen,
        bound(counted.upper_95),
        counts.stale,
        counts.rejected,
        counts.past,
        index.handovers(),
        index.verified_faults(),
    ));
    summary.writes = writes;
    finding
}

/// What shows that the ledger itself cannot be trusted.
fn harness(index: &Index<'_>, finding: &mut Finding, counts: &Counts) {
    let writing = &index.writing;
    if writing.doubled > 0 {
        finding.fail(format!("harness: {} writes bear a number that another one bears", writing.doubled));
    }
    if writing.missing > 0 {
        finding.inconclusive(format!("{} writes are missing from the record", writing.missing));
    }
    if let Some(work) = &counts.first_differing {
        let text = format!(
            "harness: the coordinator judged {} writes otherwise than their order says; the first is number {}",
            counts.differing, work.seq
        );
        // With writes missing the order says less than the coordinator knew.
        if writing.missing > 0 { finding.inconclusive(text) } else { finding.fail(text) }
    }
}

fn count(index: &Index<'_>) -> Counts {
    let mut groups: BTreeMap<u32, Ledgers> = BTreeMap::new();
    let mut counts = Counts::default();
    for entry in &index.writing.ledger {
        let work = match entry {
            LedgerEntry::Fence { group, old_czxid } => {
                groups.entry(*group).or_default().raise(*old_czxid);
                continue;
            }
            LedgerEntry::Write(work) => work,
        };
        let flags = groups.entry(work.group).or_default().take(work);
        let [stale, rejected, past] = flags;
        counts.stale += u64::from(stale);
        counts.rejected += u64::from(rejected);
        counts.past += u64::from(past);
        if flags != work.flags {
            counts.differing += 1;
            counts.first_differing.get_or_insert(*work);
        }
        let counted = if index.info.fencing == Fencing::Fenced { past } else { stale };
        if counted && counts.shown.len() < 10 {
            counts.shown.push(*work);
        }
    }
    counts
}

/// Writes tried by candidates whose process had been stopped, between its waking and their stepping down.
fn on_waking(index: &Index<'_>) -> u64 {
    let mut tried = 0;
    for fault in index.faults.all.iter().filter(|f| f.kind == crate::record::FaultKind::Pause) {
        let (Some(injected), Some(healed)) = (&fault.injected, &fault.healed) else { continue };
        for &cand in &fault.cands {
            let Some(term) = index.terms.held_by(cand, injected.from) else { continue };
            let term = &index.terms.all[term];
            // Who still believes long after the waking was not made to step down by the pause.
            if term.ended.1 >= healed.from && term.ended.0 <= fault.explains_until && stepped_down(term.ending) {
                tried += index.writing.tried((cand, term.session, term.czxid), healed.from, term.ended.1);
            }
        }
    }
    tried
}

fn stepped_down(ending: crate::index::Ending) -> bool {
    use crate::record::Reason as R;
    matches!(ending, crate::index::Ending::Revoked(R::SteppedDown | R::SessionEnded | R::Deposed))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn work(seq: usize, czxid: i64, session: i64, cand: u32) -> Work {
        Work { t: 0, seq: seq as u64, group: 0, cand, host: 0, czxid, session, flags: [false; 3] }
    }

    /// Stale by the definition: some earlier accepted write bears a higher token, or this token from another incarnation.
    fn stale(earlier: &[Work], w: &Work) -> bool {
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
            let (mut all, mut passed): (Vec<Work>, Vec<Work>) = (Vec::new(), Vec::new());
            let (mut seen, mut fenced): (Vec<i64>, Vec<i64>) = (Vec::new(), Vec::new());
            for (seq, &(czxid, session, cand, dice)) in raw.iter().enumerate() {
                if dice == 0 {
                    ledgers.raise(czxid);
                    fenced.push(czxid);
                    continue;
                }
                let w = work(seq, czxid, session, cand);
                let rejected = seen.iter().any(|&s| s > czxid) || fenced.iter().any(|&f| czxid <= f);
                let expected = [stale(&all, &w), rejected, !rejected && stale(&passed, &w)];
                prop_assert_eq!(ledgers.take(&w), expected);
                all.push(w);
                seen.push(czxid);
                if !rejected {
                    passed.push(w);
                }
            }
        }
    }
}
