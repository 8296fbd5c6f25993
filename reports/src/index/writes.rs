//! The resource's writes in the order in which it took them, judged again by earlier writes and fences.

use std::collections::BTreeMap;

use super::ledger::{JudgedWrite, Ledgers};
use hustings_record::numbers::to_u32;
use hustings_record::{CellRecord, Event, Fencing, Nanos, Token};

/// Candidate, session and czxid of a term, which identify its writes.
pub type WriteKey = (u32, i64, i64);

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResourceWrite {
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
    /// The coordinator's judgement.
    pub told: JudgedWrite,
    /// The judgement that follows from its place in the order.
    pub found: JudgedWrite,
}

impl ResourceWrite {
    /// Whether its token can be ordered. Otherwise no ledger can say whether it is stale.
    #[must_use]
    pub fn is_ordered(&self) -> bool {
        Token { czxid: self.czxid, session: self.session }.is_ordered()
    }
}

/// When each incarnation's first write with a token was sent, by czxid, session and candidate.
type FirstSent = BTreeMap<(i64, i64, u32), Option<Nanos>>;

/// From the write with this number on, the group's fence refuses tokens up to this czxid.
struct Fence {
    from: u64,
    group: u32,
    old_czxid: i64,
}

/// State of a group's writes so far.
#[derive(Default)]
struct GroupWrites {
    ledgers: Ledgers,
    first_sent: FirstSent,
    /// Writer of the last one: most writes are of the same lead as the one before.
    last: Option<(i64, i64, u32)>,
}

/// A write of the record, and the judgement that follows from its place in the order.
#[derive(Clone, Copy)]
struct PlacedWrite<'a> {
    write: &'a Event,
    found: JudgedWrite,
}

impl PlacedWrite<'_> {
    fn work(&self) -> Option<ResourceWrite> {
        work(self.write).map(|work| ResourceWrite { found: self.found, ..work })
    }
}

#[derive(Default)]
pub struct WriteIndex<'a> {
    /// In the resource's order.
    placed: Vec<PlacedWrite<'a>>,
    /// Sequence numbers that are missing, or come twice.
    pub missing: u64,
    pub doubled: u64,
    /// For stale writes, by their place in the order: when the first write that makes them stale was sent, if that is
    /// recorded of all such writes.
    rivals_sent: BTreeMap<usize, Nanos>,
    by_cand: BTreeMap<u32, CandidateWrites>,
    /// A resource without a fence accepts every write.
    fenced: bool,
}

/// The writes of a candidate.
#[derive(Default)]
struct CandidateWrites {
    /// Their places in the resource's order, in the order of session, czxid and time.
    places: Vec<u32>,
    /// When each was sent, or taken where that is not recorded: in order among those of a session and czxid.
    sent: Vec<Nanos>,
}

impl<'a> WriteIndex<'a> {
    /// The writes of a cell, judged by their order.
    pub(crate) fn of(cell: &'a CellRecord) -> Self {
        let (placed, fences) = writes_and_fences(cell);
        let fenced = cell.info.fencing == Fencing::Fenced;
        let mut writing = Self { placed, fenced, ..Self::default() };
        let mut fences = fences.into_iter().peekable();
        let mut groups: BTreeMap<u32, GroupWrites> = BTreeMap::new();
        let mut last = None;
        for (place, placed) in writing.placed.iter_mut().enumerate() {
            let Some(work) = placed.work() else { continue };
            while let Some(fence) = fences.next_if(|fence| fence.from <= work.seq) {
                groups.entry(fence.group).or_default().ledgers.raise(fence.old_czxid);
            }
            match last.replace(work.seq).map(|last| work.seq - last) {
                Some(0) => writing.doubled += 1,
                Some(step) => writing.missing += step - 1,
                None => {}
            }
            if !work.is_ordered() {
                continue;
            }
            let group = groups.entry(work.group).or_default();
            placed.found = group.ledgers.take((work.czxid, work.session), work.cand);
            if placed.found.stale {
                let sent = rival_sent(&group.first_sent, &work);
                writing.rivals_sent.extend(sent.map(|sent| (place, sent)));
            }
            let whose = (work.czxid, work.session, work.cand);
            if group.last.replace(whose) != Some(whose) {
                group.first_sent.entry(whose).or_insert(work.sent);
            }
        }
        writing.by_cand = writing.tries();
        writing
    }

    fn tries(&self) -> BTreeMap<u32, CandidateWrites> {
        let mut by_cand: BTreeMap<u32, CandidateWrites> = BTreeMap::new();
        for (place, placed) in self.placed.iter().enumerate() {
            let Some(work) = placed.work() else { continue };
            by_cand.entry(work.cand).or_default().places.push(to_u32(place));
        }
        for tries in by_cand.values_mut() {
            tries.places.shrink_to_fit();
            let of = |work: &ResourceWrite| (work.session, work.czxid);
            let sent = |work: &ResourceWrite| work.sent.unwrap_or(work.t);
            tries.places.sort_by_key(|&place| self.at(place).map(|work| (of(&work), sent(&work))));
            tries.sent = tries.places.iter().filter_map(|&place| self.at(place)).map(|work| sent(&work)).collect();
            tries.places.sort_by_key(|&place| self.at(place).map(|work| (of(&work), work.t, work.told.rejected)));
        }
        by_cand
    }

    fn at(&self, place: u32) -> Option<ResourceWrite> {
        self.placed[place as usize].work()
    }

    /// The writes of a term: their places in the order of time, and when they were sent, in order.
    fn of_term(&self, (cand, session, czxid): WriteKey) -> (&[u32], &[Nanos]) {
        let Some(tries) = self.by_cand.get(&cand) else { return (&[], &[]) };
        let of = |place: &u32| self.at(*place).map(|work| (work.session, work.czxid));
        let first = tries.places.partition_point(|place| of(place) < Some((session, czxid)));
        let of_term = first..tries.places.partition_point(|place| of(place) <= Some((session, czxid)));
        (&tries.places[of_term.clone()], &tries.sent[of_term])
    }

    /// All, in the resource's order.
    pub fn all(&self) -> impl Iterator<Item = ResourceWrite> + use<'_> {
        self.placed.iter().filter_map(PlacedWrite::work)
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.placed.len()
    }

    /// All that are stale by their place in the order, each with the time at which the first write that makes it stale
    /// was sent, if that is recorded of all such writes.
    pub fn stale(&self) -> impl Iterator<Item = (ResourceWrite, Option<Nanos>)> {
        let stale = self.placed.iter().enumerate().filter(|(_, placed)| placed.found.stale);
        stale.filter_map(|(place, placed)| Some((placed.work()?, self.rivals_sent.get(&place).copied())))
    }

    /// Whether the resource that the cell's verdict counts accepted a write with this judgement.
    #[must_use]
    pub fn accepts(&self, judged: JudgedWrite) -> bool {
        !self.fenced || !judged.rejected
    }

    /// When the resource accepted the term's first write from `from` on.
    #[must_use]
    pub fn first_accepted(&self, key: WriteKey, from: Nanos) -> Option<Nanos> {
        let (places, _) = self.of_term(key);
        let later = &places[places.partition_point(|&place| self.at(place).is_some_and(|work| work.t < from))..];
        later.iter().filter_map(|&place| self.at(place)).find(|work| self.accepts(work.told)).map(|work| work.t)
    }

    /// When the resource first refused a write of the term.
    #[must_use]
    pub fn first_refused(&self, key: WriteKey) -> Option<Nanos> {
        let mut tried = self.of_term(key).0.iter().filter_map(|&place| self.at(place));
        tried.find(|work| !self.accepts(work.told)).map(|work| work.t)
    }

    /// Whether a candidate wrote under this session without a known token.
    #[must_use]
    pub fn has_unknown(&self, (cand, session): (u32, i64)) -> bool {
        !self.of_term((cand, session, Token::UNKNOWN_CZXID)).0.is_empty()
    }

    /// When writes of a term were tried between two times, both included.
    #[must_use]
    pub fn tried(&self, key: WriteKey, from: Nanos, to: Nanos) -> &[Nanos] {
        let (_, sent) = self.of_term(key);
        let first = sent.partition_point(|&at| at < from);
        &sent[first..sent.partition_point(|&at| at <= to).max(first)]
    }
}

/// Writes in the resource's order, and fences by the number of the first write that they apply to. A fence applies
/// where its writer put it, after the highest number written so far.
fn writes_and_fences(cell: &CellRecord) -> (Vec<PlacedWrite<'_>>, Vec<Fence>) {
    let (mut writes, mut fences) = (Vec::new(), Vec::new());
    let seq = |placed: &PlacedWrite<'_>| if let Event::Write { seq, .. } = placed.write { *seq } else { 0 };
    for segment in &cell.segments {
        let mut from = 0;
        for event in &segment.events {
            match event {
                Event::Write { seq, .. } => {
                    from = from.max(seq + 1);
                    writes.push(PlacedWrite { write: event, found: JudgedWrite::default() });
                }
                Event::Fence { group, old_czxid, done: true, .. } => {
                    fences.push(Fence { from, group: *group, old_czxid: *old_czxid });
                }
                _ => {}
            }
        }
    }
    // A stable sort takes memory, and the writes of one coordinator are in order already.
    if !writes.is_sorted_by_key(seq) {
        writes.sort_by_key(seq);
    }
    fences.sort_by_key(|fence| fence.from);
    (writes, fences)
}

/// When the first write that makes this one stale was sent. None: not recorded.
fn rival_sent(first_sent: &FirstSent, work: &ResourceWrite) -> Option<Nanos> {
    let me = (work.czxid, work.session, work.cand);
    let rivals = first_sent
        .iter()
        .filter(|(other, _)| (other.0, other.1) > (work.czxid, work.session) || other.0 == work.czxid && **other != me);
    rivals.map(|(_, sent)| *sent).min().flatten()
}

fn work(event: &Event) -> Option<ResourceWrite> {
    let Event::Write { t, sent, seq, group, cand, host, czxid, session, unfenced_stale, fenced_rejected, fenced_stale } =
        event
    else {
        return None;
    };
    Some(ResourceWrite {
        t: *t,
        sent: *sent,
        seq: *seq,
        group: *group,
        cand: *cand,
        host: *host,
        czxid: *czxid,
        session: *session,
        told: JudgedWrite { stale: *unfenced_stale, rejected: *fenced_rejected, past: *fenced_stale },
        found: JudgedWrite::default(),
    })
}
