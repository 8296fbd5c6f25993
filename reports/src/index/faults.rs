//! Faults with their verifications: their possible targets, when they acted, and how long they explain a lost lead.

use std::collections::BTreeMap;

use super::candidates::Candidates;
use super::control_plane::PlacedEvent;
use super::fault::Fault;
use super::recoveries;
use super::span_index::SpanIndex;
use super::verification_judge::{self, BeliefIndex, StandingZnodes};
use super::znodes::Znodes;
use crate::stats::spans::{Span, union};
use hustings_record::{CellRecord, Event, FaultKind, FaultOrder, Nanos, ProcessFate, TargetClass};

/// How long after its end a fault still explains events.
pub(super) struct Deadline<'i> {
    /// The end of the cell.
    pub(super) end: Nanos,
    /// T: sessions of its targets expire this long after their last touch.
    pub(super) timeout: Nanos,
    /// Expiry is rounded up to a tick, and touches are passed on every half tick.
    pub(super) tick: Nanos,
    /// Candidates that are not notified check again after this time.
    pub(super) poll: Nanos,
    /// When no quorum was served: sorted and disjoint. A new leader of the ensemble gives every session a full T.
    pub(super) outages: &'i [Span],
}

/// Tolerance for a busy machine.
const TOLERANCE_NS: Nanos = 1_000_000_000;

impl Deadline<'_> {
    /// Until when a fault explains lost leads, if it no longer acts after `over`.
    fn explains_until(&self, hits: TargetClass, over: Nanos) -> Nanos {
        let expiry = TOLERANCE_NS + self.poll + self.timeout + self.tick + self.tick / 2;
        match hits {
            // The lead is released, or taken, at once. A client that receives nothing looks for a server after 2/5 of
            // T.
            TargetClass::Nobody | TargetClass::Candidates => {
                over.saturating_add(TOLERANCE_NS + self.poll + self.timeout / 2)
            }
            TargetClass::Servers => over.saturating_add(expiry),
            TargetClass::Hosts => self.expires_by(over, expiry),
        }
    }

    /// By when a session with its last touch at `since` has expired, if that takes at most `takes`. A leader that is
    /// cut off can expire none from that moment on, and the others do not miss it before `syncLimit` is over.
    pub(super) fn expires_by(&self, since: Nanos, takes: Nanos) -> Nanos {
        self.outages.iter().fold(since.saturating_add(takes), |until, outage| {
            if outage.0 <= until.saturating_add(self.timeout / 2) {
                until.max(outage.1.saturating_add(takes))
            } else {
                until
            }
        })
    }
}

#[derive(Default)]
pub struct Faults<'a> {
    /// In order of time.
    pub all: Vec<Fault<'a>>,
    /// Places in `all`, in order of time.
    pub by_cand: BTreeMap<u32, Vec<usize>>,
    pub by_group: BTreeMap<u32, Vec<usize>>,
    /// From the order until the fault explains nothing any more, by candidate and by group.
    lately: (BTreeMap<u32, SpanIndex>, BTreeMap<u32, SpanIndex>),
    /// Places of those on servers.
    by_servers: Vec<usize>,
    /// When each host was, or may have been, stopped: sorted and disjoint.
    pub stops: BTreeMap<u16, Vec<Span>>,
    /// When each host was stopped for certain.
    pub certain_stops: BTreeMap<u16, Vec<Span>>,
    /// When the work of each host hung, or may have: sorted and disjoint.
    hangs: BTreeMap<u16, Vec<Span>>,
    /// When it hung for certain: one span per fault.
    certain_hangs: BTreeMap<u16, Vec<Span>>,
}

impl<'a> Faults<'a> {
    pub(super) fn new(
        cell: &'a CellRecord,
        few: &[PlacedEvent<'a>],
        (candidates, znodes): (&Candidates<'a>, &Znodes<'a>),
        deadline: &Deadline<'_>,
        standing: &StandingZnodes<'_>,
    ) -> Self {
        let mut proofs = verification_judge::collect(few);
        let beliefs = BeliefIndex::new(cell, znodes);
        let mut faults = Self::default();
        for &(_, event) in few {
            let Event::Fault(order) = event else { continue };
            let FaultOrder { id, planned, kind, t, intended, for_ms, hosts, cands, groups, servers, detail } = &**order;
            let cands = hit(*kind, cands, hosts, candidates);
            let hosts_of = cands.iter().filter_map(|c| candidates.all.get(c)).map(|c| c.host);
            let mut fault = Fault {
                id: *id,
                planned: *planned,
                kind: *kind,
                t: *t,
                intended: *intended,
                for_ms: *for_ms,
                hosts,
                groups,
                servers,
                met: once_each(hosts.iter().copied().chain(hosts_of).collect()),
                cands,
                detail,
                injected: proofs.remove(&(*id, true)),
                healed: proofs.remove(&(*id, false)),
                recovered: BTreeMap::new(),
                active: (*t, *t),
                explains_until: 0,
            };
            verification_judge::judge(&mut fault, &cell.info, candidates, &beliefs, standing);
            fault.recovered = recoveries::of(&fault, cell, few);
            faults.all.push(timed(fault, deadline, cell.info.servers));
        }
        faults.all.sort_by_key(|f| (f.t, f.id));
        faults.index_targets(candidates);
        faults.collect_stops(few, deadline);
        faults.collect_hangs(deadline);
        faults
    }

    fn index_targets(&mut self, candidates: &Candidates<'a>) {
        for (place, fault) in self.all.iter().enumerate() {
            if fault.kind.hits_servers() {
                self.by_servers.push(place);
            }
            for cand in &fault.cands {
                self.by_cand.entry(*cand).or_default().push(place);
                let Some(candidate) = candidates.all.get(cand) else { continue };
                let places = self.by_group.entry(candidate.group).or_default();
                if places.last() != Some(&place) {
                    places.push(place);
                }
            }
        }
        let span = |place: &usize| (*place, self.all[*place].felt());
        let lately = |places: &BTreeMap<u32, Vec<usize>>| {
            places.iter().map(|(of, places)| (*of, SpanIndex::of(places.iter().map(span)))).collect()
        };
        self.lately = (lately(&self.by_cand), lately(&self.by_group));
    }

    /// A stop ends with its process: the process that replaces it is not stopped.
    fn collect_stops(&mut self, few: &[PlacedEvent<'_>], deadline: &Deadline<'_>) {
        let mut ended: BTreeMap<u16, Vec<Nanos>> = BTreeMap::new();
        for (_, event) in few {
            if let Event::HostEnded { t, host, .. } = event {
                ended.entry(*host).or_default().push(*t);
            }
        }
        for fault in self.all.iter().filter(|f| f.kind.facts().process == ProcessFate::Stopped) {
            for host in fault.hosts {
                let (injected, healed) = fault.edges(*host, deadline.end);
                let ended = ended.get(host).into_iter().flatten().copied();
                let end = ended.filter(|t| *t >= injected.0).min().unwrap_or(Nanos::MAX);
                if injected.0 < end {
                    self.stops.entry(*host).or_default().push((injected.0, healed.1.min(end)));
                }
                if fault.verified() && injected.1 < end {
                    self.certain_stops.entry(*host).or_default().push((injected.1, healed.0.min(end)));
                }
            }
        }
        for spans in self.stops.values_mut().chain(self.certain_stops.values_mut()) {
            *spans = union(std::mem::take(spans));
        }
    }

    fn collect_hangs(&mut self, deadline: &Deadline<'_>) {
        for fault in self.all.iter().filter(|f| f.kind.facts().withholds_effect) {
            for host in fault.hosts {
                let (injected, healed) = fault.edges(*host, deadline.end);
                self.hangs.entry(*host).or_default().push((injected.0, healed.1.max(injected.0)));
                if fault.verified() && injected.1 < healed.0 {
                    self.certain_hangs.entry(*host).or_default().push((injected.1, healed.0));
                }
            }
        }
        self.hangs.values_mut().for_each(|spans| *spans = union(std::mem::take(spans)));
    }

    /// Faults on servers, in order of time.
    pub fn on_servers(&self) -> impl Iterator<Item = &Fault<'a>> {
        self.by_servers.iter().map(|&place| &self.all[place])
    }

    /// The last verified fault on servers that explains what happens at `at`.
    #[must_use]
    pub fn on_servers_at(&self, at: Nanos) -> Option<&Fault<'a>> {
        let under_way = self.on_servers().filter(|f| f.verified() && f.explains((at, at)));
        under_way.max_by_key(|f| f.t)
    }

    #[must_use]
    pub fn stops_of(&self, host: u16) -> &[Span] {
        self.stops.get(&host).map_or(&[], Vec::as_slice)
    }

    /// When the candidate's process was stopped, or may have been.
    #[must_use]
    pub fn stops_of_cand(&self, candidates: &Candidates<'_>, cand: u32) -> &[Span] {
        candidates.all.get(&cand).map_or(&[], |candidate| self.stops_of(candidate.host))
    }

    /// When the work of a host hung, or may have.
    #[must_use]
    pub fn hangs_of(&self, host: u16) -> &[Span] {
        self.hangs.get(&host).map_or(&[], Vec::as_slice)
    }

    /// When it hung for certain.
    #[must_use]
    pub fn certain_hangs_of(&self, host: u16) -> &[Span] {
        self.certain_hangs.get(&host).map_or(&[], Vec::as_slice)
    }

    #[must_use]
    pub fn certain_stops_of(&self, host: u16) -> &[Span] {
        self.certain_stops.get(&host).map_or(&[], Vec::as_slice)
    }

    /// Faults that may have hit this candidate, in order of time.
    pub fn of_cand(&self, cand: u32) -> impl Iterator<Item = &Fault<'a>> {
        self.by_cand.get(&cand).into_iter().flatten().map(|&place| &self.all[place])
    }

    /// Those of them that were [felt](Fault::felt) at some moment of `span`; the last one first.
    pub fn on_cand_in(&self, cand: u32, span: Span) -> impl Iterator<Item = &Fault<'a>> {
        self.lately.0.get(&cand).into_iter().flat_map(move |lately| lately.within(span)).map(|place| &self.all[place])
    }

    /// Faults that may have hit a candidate of this group and were [felt](Fault::felt) at some moment of `span`; the last one
    /// first.
    pub fn on_group_in(&self, group: u32, span: Span) -> impl Iterator<Item = &Fault<'a>> {
        self.lately.1.get(&group).into_iter().flat_map(move |lately| lately.within(span)).map(|place| &self.all[place])
    }

    /// Faults that may have hit a candidate of this group, in order of time.
    pub fn of_group(&self, group: u32) -> impl Iterator<Item = &Fault<'a>> {
        self.by_group.get(&group).into_iter().flatten().map(|&place| &self.all[place])
    }
}

fn hit(kind: FaultKind, cands: &[u32], hosts: &[u16], candidates: &Candidates<'_>) -> Vec<u32> {
    let mut hit = cands.to_vec();
    if kind == FaultKind::ParentDelete {
        // All candidates of the group lose their znodes, not only the leader at the time of the order.
        let groups = cands.iter().filter_map(|cand| candidates.all.get(cand)).map(|candidate| candidate.group);
        hit.extend(groups.flat_map(|group| candidates.of_group(group)));
    }
    if hit.is_empty() {
        hit = candidates.all.iter().filter(|(_, c)| hosts.contains(&c.host)).map(|(cand, _)| *cand).collect();
    }
    once_each(hit)
}

/// Sorted, without duplicates, and without spare capacity: there may be many faults.
fn once_each<T: Ord>(mut all: Vec<T>) -> Vec<T> {
    all.sort_unstable();
    all.dedup();
    all.shrink_to_fit();
    all
}

/// `servers`: how many the ensemble has.
fn timed<'a>(mut fault: Fault<'a>, deadline: &Deadline<'_>, servers: u32) -> Fault<'a> {
    let injected = fault.injected.as_ref().map_or(fault.t, |p| p.to);
    let over = match (&fault.healed, fault.kind.facts().until_healed) {
        (Some(healed), true) => healed.to,
        (None, true) => fault.recovered_by(servers).unwrap_or(deadline.end),
        (_, false) => injected,
    };
    fault.active = (fault.t, over.max(fault.t));
    fault.explains_until = deadline.explains_until(fault.kind.facts().hits, over);
    fault
}
