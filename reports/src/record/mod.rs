//! The record of a run: a folder with a manifest and one append-only segment of events a writer and cell. Every verdict,
//! figure and picture is computed from it, by anyone, offline.

mod cell;
mod event;
mod manifest;
mod reader;
mod segment;

pub use cell::{CellInfo, Expect, Expectation, Fencing, LinkUse, SessionUse};
pub use event::{
    DELETION_WATCHES_FIRED, Event, FaultKind, LeaveHow, Nanos, NotifiedKind, PhaseName, Reason, ReceiptStage,
    ServerLine, ServerMetrics, ServerState, SessionChange, Touch,
};
pub use manifest::{CellEntry, MANIFEST_FILE, Machine, Manifest, RunState, SCHEMA, SegmentEntry};
pub use reader::{CellRecord, Record, RecordError, SegmentRecord};
pub use segment::{SEALED_ENDING, SEGMENT_ENDING, SegmentError, SegmentWriter, TornTail, read_segment, seal_segment};
