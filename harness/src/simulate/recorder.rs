//! Writes a simulation down: what its witness is told, in the words of the record, segment by segment as hosts would.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use hustings_reports::record::{
    CellInfo, CellRecord, Event, Nanos, PhaseName, ReceiptStage, SCHEMA, SegmentRecord, SegmentWriter, ServerLine,
    ServerState, Touch,
};
use hustings_workloads::booth::{Departure, Report};
use hustings_workloads::model::{Micros, Role, Said};
use hustings_workloads::simulation::{By, Phase, Saw, Witness};

use crate::coordinator::{struck, writer_name};
use crate::ensemble::look::serves;
use crate::host::said;

/// Simulated time begins this long after its clock's zero, as no real clock shows zero either.
const BEGIN_NS: Nanos = 1_000_000_000;

/// Where a segment goes.
enum Sink {
    Memory(Vec<Event>),
    File(SegmentWriter),
}

struct Segment {
    writer: String,
    host: Option<u16>,
    life: u32,
    sink: Sink,
    open: bool,
}

/// Gives the path of a new segment of this writer.
type NewSegment = Box<dyn FnMut(&str) -> anyhow::Result<PathBuf>>;

/// The record of one cell while it is simulated.
pub struct Recorder {
    info: CellInfo,
    segments: RefCell<Vec<Segment>>,
    /// Place of each writer's current segment: coordinator, observer, then the hosts.
    places: RefCell<BTreeMap<Place, usize>>,
    files: Option<RefCell<NewSegment>>,
    failure: RefCell<Option<String>>,
    told: RefCell<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Coordinator,
    Observer,
    Host(u16),
}

fn place(by: By) -> Place {
    match by {
        By::Coordinator => Place::Coordinator,
        By::Observer => Place::Observer,
        By::Host(host) => Place::Host(host),
    }
}

fn ns(at: Micros) -> Nanos {
    BEGIN_NS + at * 1_000
}

impl Recorder {
    /// Keeps everything in memory.
    #[must_use]
    pub fn in_memory(info: CellInfo) -> Self {
        Self::new(info, None)
    }

    /// Writes segments to files.
    #[must_use]
    pub fn to_files(info: CellInfo, files: impl FnMut(&str) -> anyhow::Result<PathBuf> + 'static) -> Self {
        Self::new(info, Some(RefCell::new(Box::new(files))))
    }

    fn new(info: CellInfo, files: Option<RefCell<NewSegment>>) -> Self {
        let recorder = Self {
            info,
            segments: RefCell::default(),
            places: RefCell::default(),
            files,
            failure: RefCell::default(),
            told: RefCell::new(0),
        };
        recorder.begin(Place::Coordinator, "coordinator", None, 0, BEGIN_NS);
        recorder.push(Place::Coordinator, Event::Cell { t: BEGIN_NS, info: Box::new(recorder.info.clone()) });
        recorder.begin(Place::Observer, "observer", None, 0, BEGIN_NS);
        recorder.push(Place::Observer, Event::ObserverState { t: BEGIN_NS, connected: true });
        // Nobody but the candidates watches anything.
        recorder.push(Place::Coordinator, Event::ObserverWeight { t: BEGIN_NS, per_deletion: 0.0 });
        recorder
    }

    /// How many events were written down.
    #[must_use]
    pub fn events(&self) -> u64 {
        *self.told.borrow()
    }

    /// Ends every segment. Gives the cell if it was kept in memory.
    ///
    /// # Errors
    /// What could not be written.
    pub fn end(self, at: Micros) -> anyhow::Result<Option<CellRecord>> {
        self.push(Place::Observer, Event::ObserverCount { t: ns(at), deleted: 0 });
        for segment in self.segments.borrow_mut().iter_mut().filter(|segment| segment.open) {
            put(segment, Event::End { t: ns(at) }, &self.failure);
        }
        let mut kept = Vec::new();
        for segment in self.segments.into_inner() {
            match segment.sink {
                Sink::Memory(events) => kept.push(SegmentRecord {
                    file: format!("events/{}", segment.writer),
                    writer: segment.writer,
                    host: segment.host,
                    life: segment.life,
                    events,
                    torn: None,
                }),
                Sink::File(mut writer) => writer.flush()?,
            }
        }
        if let Some(why) = self.failure.into_inner() {
            anyhow::bail!(why);
        }
        let in_memory = self.files.is_none();
        Ok(in_memory.then_some(CellRecord { info: self.info, complete: true, segments: kept }))
    }

    fn begin(&self, place: Place, writer: &str, host: Option<u16>, life: u32, t: Nanos) {
        let sink = match &self.files {
            None => Sink::Memory(Vec::new()),
            Some(files) => {
                let path = (files.borrow_mut())(writer);
                match path.and_then(|path| Ok(SegmentWriter::create(&path)?)) {
                    Ok(writer) => Sink::File(writer),
                    Err(error) => {
                        self.failure.borrow_mut().get_or_insert(format!("segment {writer}: {error:#}"));
                        Sink::Memory(Vec::new())
                    }
                }
            }
        };
        let segment = Segment { writer: writer.to_owned(), host, life, sink, open: true };
        let number = self.segments.borrow().len();
        self.segments.borrow_mut().push(segment);
        self.places.borrow_mut().insert(place, number);
        let writer = writer.to_owned();
        let cell = self.info.index;
        let begin = Event::Segment { schema: SCHEMA, t, cell, writer, host, life, pid: 0, clock_uncertainty_ns: 0 };
        self.push(place, begin);
    }

    fn push(&self, place: Place, event: Event) {
        let Some(&number) = self.places.borrow().get(&place) else { return };
        *self.told.borrow_mut() += 1;
        put(&mut self.segments.borrow_mut()[number], event, &self.failure);
    }

    /// A host's process begins: a segment of its own, and the coordinator's word on it.
    fn host_started(&self, t: Nanos, host: u16, life: u32) {
        self.begin(Place::Host(host), &writer_name(host, life), Some(host), life, t);
        self.push(Place::Coordinator, Event::HostStarted { t, host, life, pid: 0 });
    }

    fn host_ended(&self, t: Nanos, host: u16, life: u32, killed: bool) {
        // A process that is killed writes no end.
        if killed && let Some(number) = self.places.borrow().get(&Place::Host(host)) {
            self.segments.borrow_mut()[*number].open = false;
        }
        let status = if killed { "killed" } else { "ended" }.to_owned();
        self.push(Place::Coordinator, Event::HostEnded { t, host, life, killed, status, rss_max_kb: 0 });
    }
}

fn put(segment: &mut Segment, event: Event, failure: &RefCell<Option<String>>) {
    match &mut segment.sink {
        Sink::Memory(events) => events.push(event),
        Sink::File(writer) => {
            if let Err(error) = writer.push(&event) {
                failure.borrow_mut().get_or_insert(format!("segment {}: {error}", segment.writer));
            }
        }
    }
}

impl Witness for Recorder {
    fn saw(&self, at: Micros, by: By, what: Saw<'_>) {
        let (t, place) = (ns(at), place(by));
        let event = match what {
            Saw::Phase(phase) => Event::Phase { t, phase: name_of(phase) },
            Saw::HostStarted { host, life } => return self.host_started(t, host, life),
            Saw::HostEnded { host, life, killed } => return self.host_ended(t, host, life, killed),
            Saw::Candidate { cand, group } => Event::Candidate { t, cand, group },
            Saw::Session { session, timeout_ms, asked_ms, took_us } => {
                Event::Session { t, session, timeout_ms, asked_ms, connect_ns: took_us * 1_000 }
            }
            Saw::State { session, state } => Event::State { t, session, state: said::change_of(state) },
            Saw::Incarnation { cand, session } => Event::Incarnation { t, cand, session },
            Saw::Report { cand, session, requests, report } => {
                said::report(t, cand, session, requests, &shifted(report))
            }
            Saw::Left { cand, session, departure } => said::left(t, cand, session, &shifted_departure(departure)),
            Saw::Fault { planned, intended, hit } => struck(planned.id, t, ns(intended), planned, hit),
            Saw::Receipt { id, healed, from, to, verified, evidence, touches } => Event::Receipt {
                id,
                stage: if healed { ReceiptStage::Healed } else { ReceiptStage::Injected },
                from: ns(from),
                to: ns(to),
                verified,
                evidence,
                touches: touches.into_iter().map(|(session, at)| Touch { session, last_up: ns(at) }).collect(),
            },
            Saw::Write { group, cand, host, token, taken } => said::written(t, group, (cand, host), token, taken),
            Saw::Fence { group, by, old, how, done } => {
                Event::Fence { t, group, by, old_czxid: old.czxid, old_session: old.session, how: how.to_owned(), done }
            }
            Saw::Owner { group, owner } => {
                let (session, node, czxid) = match owner {
                    Some((session, node, czxid)) => (Some(session), Some(node), Some(czxid)),
                    None => (None, None, None),
                };
                Event::Owner { from: t, to: t, group, session, node, czxid }
            }
            Saw::Servers { at, metrics } => Event::Servers { t, at: at.to_owned(), metrics },
            // Nobody asks: every change is known at once, and nothing is missed between two looks.
            Saw::ServerWatch => Event::ServerWatch { t, every_ns: 0 },
            Saw::Server { server, role, zxid } => {
                let state = state_of(role);
                Event::ServerState { from: t, to: t, server, state, zxid: serves(state).then_some(zxid) }
            }
            Saw::ServerSaid { server, said } => Event::ServerLog { t, server, line: line_of(said) },
            Saw::ServerWatched { server, states } => {
                Event::ServerWatched { t, server, looks: states, longest_gap_ns: 0 }
            }
            Saw::WriteProbe { every_us } => Event::WriteProbe { t, every_ns: every_us * 1_000 },
            Saw::WriteGap { from, to, ended } => Event::WriteGap { from: BEGIN_NS + from, to: BEGIN_NS + to, ended },
            Saw::WriteProbed { acknowledged } => Event::WriteProbed { t, acknowledged },
            Saw::Floor { deleted, notified, listed } => {
                let shift = |at: Nanos| BEGIN_NS + at;
                Event::Floor { deleted: shift(deleted), notified: shift(notified), listed: shift(listed) }
            }
            Saw::Note { cand, text } => Event::Note { t, cand, text },
        };
        self.push(place, event);
    }
}

/// Candidates stamp by their own clock, which shows the time of the simulated world.
fn shifted(report: Report<'_>) -> Report<'_> {
    match report {
        Report::Grant { at, term, token, node } => Report::Grant { at: at + BEGIN_NS, term, token, node },
        Report::Granted { at, term } => Report::Granted { at: at + BEGIN_NS, term },
        Report::Revoke { from, to, term, reason } => {
            Report::Revoke { from: from + BEGIN_NS, to: to + BEGIN_NS, term, reason }
        }
        Report::Notified { at, node, event } => Report::Notified { at: at + BEGIN_NS, node, event },
        other => other,
    }
}

fn shifted_departure(departure: &Departure) -> Departure {
    match departure {
        Departure::Resigned { left: Some((sent, answered)) } => {
            Departure::Resigned { left: Some((sent + BEGIN_NS, answered + BEGIN_NS)) }
        }
        other => other.clone(),
    }
}

fn name_of(phase: Phase) -> PhaseName {
    match phase {
        Phase::SetUp => PhaseName::SetUp,
        Phase::Enrol => PhaseName::Enrol,
        Phase::WarmUp => PhaseName::WarmUp,
        Phase::Measure => PhaseName::Measure,
        Phase::Heal => PhaseName::Heal,
        Phase::Drain => PhaseName::Drain,
        Phase::TearDown => PhaseName::TearDown,
        Phase::End => PhaseName::End,
    }
}

fn state_of(role: Option<Role>) -> ServerState {
    match role {
        None => ServerState::Silent,
        Some(Role::Down) => ServerState::Down,
        Some(Role::Looking) => ServerState::NotServing,
        Some(Role::Following) => ServerState::Following,
        Some(Role::Leading) => ServerState::Leading,
        Some(Role::Standalone) => ServerState::Standalone,
    }
}

fn line_of(said: Said) -> ServerLine {
    match said {
        Said::Looking => ServerLine::Looking,
        Said::Vote { from, round, epoch, zxid } => {
            ServerLine::Vote { from: from as u32 + 1, round: round.cast_signed(), epoch, zxid }
        }
        Said::Elected { leading, took_ms } => ServerLine::Elected { leading, took_ms },
        Said::Supported => ServerLine::Supported,
        Said::Serving { leading } => ServerLine::Serving { leading },
    }
}
