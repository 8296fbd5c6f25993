//! Records a simulation: it writes the reported events in the record's format, into the same segments as hosts.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use hustings_record::{CellInfo, CellRecord, Event, Nanos, ObserverWeight, SCHEMA, SegmentRecord, SegmentWriter};
use hustings_workloads::simulation::{BEGIN_NS, EventSink, Writer};

use crate::coordinator::cell_hosts::writer_name;
use crate::files::write_error::WriteError;

/// Destination of a segment.
enum Sink {
    Memory(Vec<Event>),
    File { path: PathBuf, writer: SegmentWriter },
}

struct Segment {
    writer: String,
    host: Option<u16>,
    generation: u32,
    sink: Sink,
    open: bool,
}

/// Returns the path of a new segment of this writer.
type NewSegment = Box<dyn FnMut(&str) -> anyhow::Result<PathBuf>>;

/// The record of one cell during its simulation.
pub struct Recorder {
    info: CellInfo,
    segments: RefCell<Vec<Segment>>,
    /// Index of each writer's current segment: coordinator, observer, then the hosts.
    places: RefCell<BTreeMap<Writer, usize>>,
    files: Option<RefCell<NewSegment>>,
    /// The first failed write. Nothing is written afterwards, because data after a torn block is unreadable.
    failure: RefCell<Option<anyhow::Error>>,
    told: RefCell<u64>,
}

impl Recorder {
    /// Keeps all events in memory.
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
        recorder.begin(Writer::Coordinator, "coordinator", None, 0, BEGIN_NS);
        recorder.push(Writer::Coordinator, Event::Cell { t: BEGIN_NS, info: Box::new(recorder.info.clone()) });
        recorder.begin(Writer::Observer, "observer", None, 0, BEGIN_NS);
        recorder.push(Writer::Observer, Event::ObserverState { t: BEGIN_NS, connected: true });
        // Only the candidates set watches.
        let nothing = Some(0.0);
        let (t, per_creation, per_change) = (BEGIN_NS, nothing, nothing);
        let none = Event::ObserverWeight(Box::new(ObserverWeight {
            t,
            per_deletion: 0.0,
            per_creation,
            per_change,
            counted: Vec::new(),
        }));
        recorder.push(Writer::Coordinator, none);
        recorder
    }

    /// Number of recorded events.
    #[must_use]
    pub fn events(&self) -> u64 {
        *self.told.borrow()
    }

    /// Ends every segment. Returns the cell if it was kept in memory.
    ///
    /// # Errors
    /// An event could not be written.
    pub fn end(self, t: Nanos) -> anyhow::Result<Option<CellRecord>> {
        let none = Event::ObserverCount { t, deleted: 0, created: Some(0), changed: Some(0) };
        self.push(Writer::Observer, none);
        for segment in self.segments.borrow_mut().iter_mut().filter(|segment| segment.open) {
            put(segment, Event::End { t }, &self.failure);
        }
        if let Some(failure) = self.failure.into_inner() {
            return Err(failure);
        }
        let mut kept = Vec::new();
        for segment in self.segments.into_inner() {
            match segment.sink {
                Sink::Memory(events) => kept.push(SegmentRecord {
                    file: format!("events/{}", segment.writer),
                    writer: segment.writer,
                    host: segment.host,
                    generation: segment.generation,
                    events,
                    torn: None,
                }),
                Sink::File { path, mut writer } => writer.flush().map_err(WriteError::record(&path))?,
            }
        }
        let in_memory = self.files.is_none();
        Ok(in_memory.then_some(CellRecord { info: self.info, complete: true, segments: kept }))
    }

    fn begin(&self, place: Writer, writer: &str, host: Option<u16>, generation: u32, t: Nanos) {
        let sink = match &self.files {
            None => Sink::Memory(Vec::new()),
            Some(files) => {
                let path = (files.borrow_mut())(writer);
                let created = path.and_then(|path| {
                    let writer = SegmentWriter::create(&path).map_err(WriteError::record(&path))?;
                    Ok(Sink::File { path, writer })
                });
                created.unwrap_or_else(|error| {
                    self.failure.borrow_mut().get_or_insert(error);
                    Sink::Memory(Vec::new())
                })
            }
        };
        let segment = Segment { writer: writer.to_owned(), host, generation, sink, open: true };
        let number = self.segments.borrow().len();
        self.segments.borrow_mut().push(segment);
        self.places.borrow_mut().insert(place, number);
        let writer = writer.to_owned();
        let cell = self.info.index;
        let begin =
            Event::Segment { schema: SCHEMA, t, cell, writer, host, generation, pid: 0, clock_uncertainty_ns: 0 };
        self.push(place, begin);
    }

    fn push(&self, place: Writer, event: Event) {
        let Some(&number) = self.places.borrow().get(&place) else { return };
        *self.told.borrow_mut() += 1;
        put(&mut self.segments.borrow_mut()[number], event, &self.failure);
    }
}

fn put(segment: &mut Segment, event: Event, failure: &RefCell<Option<anyhow::Error>>) {
    if failure.borrow().is_some() {
        return;
    }
    match &mut segment.sink {
        Sink::Memory(events) => events.push(event),
        Sink::File { path, writer } => {
            if let Err(cause) = writer.push(&event) {
                *failure.borrow_mut() = Some(WriteError::record(path)(cause).into());
            }
        }
    }
}

impl EventSink for Recorder {
    fn record(&self, writer: Writer, event: Event) {
        match event {
            // A host process begins: it gets its own segment, and the coordinator records the event.
            Event::HostStarted { t, host, generation, .. } => {
                self.begin(Writer::Host(host), &writer_name(host, generation), Some(host), generation, t);
                self.push(Writer::Coordinator, event);
            }
            Event::HostEnded { host, killed, .. } => {
                // A killed process does not write an end.
                if killed && let Some(number) = self.places.borrow().get(&Writer::Host(host)) {
                    self.segments.borrow_mut()[*number].open = false;
                }
                self.push(Writer::Coordinator, event);
            }
            event => self.push(writer, event),
        }
    }
}
