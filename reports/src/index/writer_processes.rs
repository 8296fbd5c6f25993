//! The processes of a cell: how far their segments reach, when and how they ended, and their own stalls.

use std::collections::{BTreeMap, BTreeSet};

use super::control_plane::{PlacedEvent, hosts_of_programs};
use super::faults::Faults;
use super::span_index::SpanIndex;
use super::time::last_time;
use super::verification::VerificationResult;
use crate::stats::spans::{Span, total, union, within, without};
use hustings_record::{CellRecord, Event, Misbehaviour, Nanos, ProcessFate, SegmentRecord};

/// The writer of the cell's own segment.
const COORDINATOR: &str = "coordinator";

/// One process that wrote a segment.
#[derive(Clone, Debug)]
pub struct WriterProcess {
    pub writer: String,
    pub file: String,
    pub host: Option<u16>,
    pub generation: u32,
    pub first: Nanos,
    pub last: Nanos,
    /// When it ended its segment in order.
    pub end: Option<Nanos>,
    /// Died between these times.
    pub died: Option<Span>,
    /// The harness ended it on purpose.
    pub killed: bool,
    /// The program beside it ended by itself, and it ended with that.
    pub left_by_program: bool,
    pub torn: bool,
}

/// A span in which a process of the harness did not run, though it was neither stopped nor killed.
#[derive(Clone, Debug)]
pub struct Stall {
    /// Its process: the name of its segment, or of a server.
    pub who: String,
    pub host: Option<u16>,
    pub from: Nanos,
    pub to: Nanos,
    /// Its parts in which the process was not stopped by a fault, in order.
    pub parts: Vec<Span>,
    /// The length of these parts.
    pub own: Nanos,
    /// How much of that its thread did not run at all. For the rest it was busy.
    pub waited: Nanos,
}

impl Stall {
    /// Whether the coordinator stalled: it gives orders and reads, and neither runs candidates nor carries what they send.
    #[must_use]
    pub fn is_of_coordinator(&self) -> bool {
        self.who == COORDINATOR
    }
}

#[derive(Default)]
pub struct WriterProcesses {
    /// In the order of the record's segments.
    pub all: Vec<WriterProcess>,
    /// In order of time.
    pub stalls: Vec<Stall>,
    lately: SpanIndex,
    deaths: BTreeMap<(u16, u32), Span>,
    /// Hosts on which processes of the harness run beside external programs. Faults hit only the programs.
    beside: BTreeSet<u16>,
}

impl WriterProcesses {
    pub(super) fn new(cell: &CellRecord, few: &[PlacedEvent<'_>], faults: &Faults<'_>, end: Nanos) -> Self {
        let (ended, left) = (ends_of_hosts(few), left_by_programs(few));
        let wrote = HostWriteTimes::of(cell);
        let mut lives = Self { beside: hosts_of_programs(few), ..Self::default() };
        for segment in &cell.segments {
            let times = segment.events.iter().filter_map(last_time);
            let reach = times.fold(None, |reach: Option<Span>, t| {
                let (first, last) = reach.unwrap_or((t, t));
                Some((first.min(t), last.max(t)))
            });
            let mut life = WriterProcess {
                writer: segment.writer.clone(),
                file: segment.file.clone(),
                host: segment.host,
                generation: segment.generation,
                first: reach.map_or(0, |reach| reach.0),
                last: reach.map_or(end, |reach| reach.1),
                end: segment.ended(),
                died: None,
                killed: false,
                left_by_program: left.contains(segment.file.as_str()),
                torn: segment.torn.is_some(),
            };
            if let (Some(host), None) = (segment.host, life.end) {
                let told = ended.get(&(host, segment.generation));
                let crash = crash_of(host, &life, told.map(|t| t.0), faults);
                life.killed = crash.is_some() || told.is_some_and(|t| t.1);
                // A process that was observed to be stopped existed then, though it wrote nothing. So did one that sent
                // a write.
                let there = |until: Nanos| {
                    let stops = faults.certain_stops_of(host).iter().map(|stop| stop.0);
                    let stopped = stops.filter(|&at| life.first <= at && at <= until).max();
                    stopped.max(wrote.last(host, (life.first, until))).unwrap_or(0)
                };
                life.died = crash.or(told.map(|t| (life.last.max(there(t.0)).min(t.0), t.0)));
                if let Some(death) = life.died {
                    lives.deaths.insert((host, segment.generation), death);
                }
            }
            for event in &segment.events {
                if let Event::Stall { from, to, program, ran_ns } = event {
                    // Faults stop a program, and not the process beside it.
                    let stops = match segment.host {
                        Some(host) if *program => faults.stops_of(host),
                        host => lives.stops_of(faults, host),
                    };
                    let parts = without((*from, *to), stops);
                    let own = total(&parts);
                    let waited = own.saturating_sub(*ran_ns);
                    let whose = if *program { "the program on " } else { "" };
                    let (who, host) = (format!("{whose}{}", segment.writer), segment.host);
                    lives.stalls.push(Stall { who, host, from: *from, to: *to, parts, own, waited });
                }
            }
            lives.all.push(life);
        }
        // A process that was killed while it was stopped recorded no stall for that.
        let coordinator = lives.all.iter().find(|life| life.writer == COORDINATOR && life.end.is_none());
        let silent = coordinator.map(|life| (life.last, end)).filter(|silent| silent.0 < silent.1);
        lives.stalls.extend(silent.map(|span| stall_of(COORDINATOR, span)));
        // A process that died without being killed does not run any more.
        let lost = lives.all.iter().filter(|life| !life.killed && !life.left_by_program);
        let gone = lost.filter_map(|life| {
            let from = life.died?.0;
            Some(Stall { host: life.host, ..stall_of(&life.writer, (from, end.max(from))) })
        });
        lives.stalls.extend(gone.collect::<Vec<_>>());
        let seen = outages(few, end).into_iter().filter(|seen| !lives.is_told(seen)).collect::<Vec<_>>();
        lives.stalls.extend(seen);
        lives.stalls.sort_by_key(|s| (s.from, s.to));
        lives.lately = SpanIndex::of(lives.stalls.iter().map(|s| (s.from, s.to)).enumerate());
        lives
    }

    /// Whether the candidates are those of an external program.
    pub fn has_programs(&self) -> bool {
        !self.beside.is_empty()
    }

    /// Whether the candidates of this host are those of an external program.
    #[must_use]
    pub fn runs_program(&self, host: u16) -> bool {
        self.beside.contains(&host)
    }

    /// When faults stopped a process of the harness on this host.
    fn stops_of<'f>(&self, faults: &'f Faults<'_>, host: Option<u16>) -> &'f [Span] {
        host.filter(|host| !self.beside.contains(host)).map_or(&[], |host| faults.stops_of(host))
    }

    /// Whether its own process recorded this stall, more exactly than the observation from outside. A short stall at
    /// its beginning is another one. The same stall lasts to the end of the observed span, or is most of it, since
    /// observation takes time.
    fn is_told(&self, seen: &Stall) -> bool {
        let of_it = |own: &Stall| own.to.min(seen.to).saturating_sub(own.from.max(seen.from));
        let is_it = |own: &Stall| seen.to <= own.to || 2 * of_it(own) >= seen.to - seen.from;
        self.stalls.iter().any(|own| own.who == seen.who && own.from <= seen.to && seen.from <= own.to && is_it(own))
    }

    /// When this life of a host died, if it did not end in order.
    #[must_use]
    pub fn death(&self, host: u16, generation: u32) -> Option<Span> {
        self.deaths.get(&(host, generation)).copied()
    }

    /// When a life of this host that may have ended at `at` had certainly ended; `at` where there is no doubt.
    #[must_use]
    pub fn surely_dead(&self, host: u16, at: Nanos) -> Nanos {
        let lives = self.deaths.range((host, 0)..=(host, u32::MAX)).map(|(_, death)| death);
        lives.filter(|death| death.0 <= at && at <= death.1).map(|death| death.1).max().unwrap_or(at)
    }

    /// Stalls of these hosts, or of a process that is no host, that overlap `span`; the last one first.
    pub fn stalls_in<'s, 'h>(&'s self, hosts: &'h [u16], span: Span) -> impl Iterator<Item = &'s Stall> + use<'s, 'h> {
        let theirs = move |stall: &&'s Stall| stall.host.is_none_or(|host| hosts.contains(&host));
        self.lately.within(span).map(|place| &self.stalls[place]).filter(theirs)
    }

    /// When these hosts, or a process that is no host, stalled, of stalls that overlap `span`: sorted and disjoint. Times in
    /// which a fault stopped them are none of it.
    #[must_use]
    pub fn stall_spans(&self, hosts: &[u16], span: Span) -> Vec<Span> {
        union(self.stalls_in(hosts, span).flat_map(|stall| stall.parts.iter().copied()).collect())
    }

    /// For how long within `span` these hosts, or a process that is no host, stalled.
    #[must_use]
    pub fn stalled_for(&self, hosts: &[u16], span: Span) -> Nanos {
        total(&within(&self.stall_spans(hosts, span), span))
    }

    /// Upper limit, from the beginning of `span` until `until`, on one stall of a process of these hosts, or of one
    /// that is no host. The stall must overlap `span`.
    #[must_use]
    pub fn longest_stall(&self, faults: &Faults<'_>, hosts: [u16; 2], span: Span, until: Nanos) -> Nanos {
        let own = |stall: &Stall| {
            let stops = self.stops_of(faults, stall.host);
            total(&without((stall.from.max(span.0), stall.to.min(until)), stops)).min(stall.waited)
        };
        self.stalls_in(&hosts, span).map(own).max().unwrap_or(0)
    }

    /// Stalls longer than `limit`.
    pub fn long_stalls(&self, limit: Nanos) -> impl Iterator<Item = &Stall> {
        self.stalls.iter().filter(move |s| s.own > limit)
    }
}

/// When the processes of hosts sent writes, in order of time.
struct HostWriteTimes(BTreeMap<u16, Vec<Nanos>>);

impl HostWriteTimes {
    fn of(cell: &CellRecord) -> Self {
        let mut wrote: BTreeMap<u16, Vec<Nanos>> = BTreeMap::new();
        // Not needed where all processes ended in order.
        let cut = |segment: &&SegmentRecord| segment.host.is_some() && segment.ended().is_none();
        let cut: BTreeSet<u16> = cell.segments.iter().filter(cut).filter_map(|segment| segment.host).collect();
        for (_, event) in cell.events().filter(|_| !cut.is_empty()) {
            if let Event::Write { sent: Some(sent), host, .. } = event
                && cut.contains(host)
            {
                wrote.entry(*host).or_default().push(*sent);
            }
        }
        wrote.values_mut().for_each(|times| times.sort_unstable());
        Self(wrote)
    }

    /// When the host last sent a write within `span`.
    fn last(&self, host: u16, span: Span) -> Option<Nanos> {
        let times = self.0.get(&host)?;
        times[..times.partition_point(|&sent| sent <= span.1)].last().copied().filter(|&sent| sent >= span.0)
    }
}

/// Files of segments that say that their program ended by itself.
fn left_by_programs<'a>(few: &[PlacedEvent<'a>]) -> BTreeSet<&'a str> {
    let left = |event: &Event| matches!(event, Event::Misbehaved { what: Misbehaviour::Ended, .. });
    few.iter().filter(|(_, event)| left(event)).map(|(segment, _)| segment.file.as_str()).collect()
}

/// Spans in which processes were observed not to run, as stalls of processes that are no host.
fn outages<'a>(few: &[PlacedEvent<'a>], end: Nanos) -> Vec<Stall> {
    let mut seen: BTreeMap<&'a str, Vec<Span>> = BTreeMap::new();
    for &(_, event) in few {
        if let Event::Outage { from, to, who, .. } = event {
            seen.entry(who).or_default().push((*from, to.unwrap_or(end.max(*from))));
        }
    }
    seen.into_iter().flat_map(|(who, spans)| union(spans).into_iter().map(move |span| stall_of(who, span))).collect()
}

/// A stall of a process that is no host.
fn stall_of(who: &str, (from, to): Span) -> Stall {
    Stall { who: who.to_owned(), host: None, from, to, parts: vec![(from, to)], own: to - from, waited: to - from }
}

/// When each life of a host was observed to be gone, and whether that was intended.
fn ends_of_hosts(few: &[PlacedEvent<'_>]) -> BTreeMap<(u16, u32), (Nanos, bool)> {
    let mut ended = BTreeMap::new();
    for (_, event) in few {
        if let Event::HostEnded { t, host, generation, killed, .. } = event {
            ended.entry((*host, *generation)).or_insert((*t, *killed));
        }
    }
    ended
}

/// The kill that ended this life: the first verified one after its beginning, before it was observed to be gone.
fn crash_of(host: u16, life: &WriterProcess, gone: Option<Nanos>, faults: &Faults<'_>) -> Option<Span> {
    let mut crashes =
        faults.all.iter().filter(|f| f.kind.facts().process == ProcessFate::Ended && f.hosts.contains(&host));
    let kills = |p: &&VerificationResult| p.verified && p.to >= life.first && gone.is_none_or(|gone| p.from <= gone);
    crashes.find_map(|f| f.injected.as_deref().filter(kills).map(|p| (p.from, p.to)))
}
