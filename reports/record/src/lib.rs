//! The schema that workloads, harness and reports share. The record of a run is a folder with a manifest and one
//! append-only segment of events per writer and cell. Every verdict, figure and picture is computed from it offline.

#![cfg_attr(not(test), warn(clippy::cast_possible_truncation, clippy::cast_sign_loss))]

mod blocks;
mod candidate;
mod caught;
mod cell;
mod checked;
mod contest;
mod contradiction;
mod declaration;
mod direction;
mod ensemble;
mod event;
mod evidence;
mod expect;
mod fault;
mod files;
mod grade;
mod holdings;
mod manifest;
mod misbehaviour;
mod named_numbers;
mod names;
mod nanos;
pub mod numbers;
mod observed;
mod phase;
mod placement;
mod plan;
mod program;
mod reader;
mod repetition;
mod segment;
mod server;
mod session;
mod step_down;
mod verification;
mod warning;
pub mod words;

pub use candidate::{Departure, RevokeReason, Token};
pub use caught::FindingKind;
pub use cell::{CellInfo, Fencing, FencingMethod, LinkUse, PROGRAM_PARAMETER, SessionUse};
pub use contest::{ComparisonSide, PairMember};
pub use declaration::Declaration;
pub use direction::Direction;
pub use ensemble::EnsembleKind;
pub use event::Event;
pub use evidence::{
    Evidence, HealedLink, ModelledLink, PartitionedLink, Probe, ProbeAnswer, ProbeTimes, ResetLink, Slowness,
    WithheldReply,
};
pub use expect::{Expect, Expectation, FanOut};
pub use fault::{
    Counters, DurationRule, ENROLS_AGAIN_AFTER_MS, ElectionTrigger, FaultFacts, FaultKind, LeadLoss, LinkNeed,
    ProcessFate, TargetClass, Touch, UnknownFaultKind, VerificationStage,
};
pub use grade::EvidenceSource;
pub use holdings::Holdings;
pub use manifest::{
    BASE_BUILD, CellEntry, MANIFEST_FILE, Machine, Manifest, REPORT_FILE, RunState, SCHEMA, SUMMARY_FILE, SegmentEntry,
    UNFINISHED_PREFIX, sum_of,
};
pub use misbehaviour::{HELLO_AT_MOST, Misbehaviour, ORDER_AT_MOST, STOP_AT_MOST};
pub use nanos::Nanos;
pub use observed::{LeadOwner, ObserverWeight};
pub use phase::Phase;
pub use plan::{FaultIntent, WithheldReason, overran};
pub use program::ProgramInfo;
pub use reader::{CellRecord, Damage, Record, RecordError, RecordReader, SegmentRecord};
pub use repetition::{REPETITIONS_MAX, Repetition};
pub use segment::{
    SEALED_ENDING, SEGMENT_ENDING, SealedSegment, SegmentError, SegmentWriter, TornTail, read_segment, seal_segment,
};
pub use server::{
    PAUSE_LOGGED_MS, PAUSE_SLEEP_MS, ServerLine, ServerLoad, ServerMetrics, ServerState, WATCHES_FIRED, WatchCounts,
    WindowEdge,
};
pub use session::{SessionEnd, SessionState, WatchEvent};
pub use step_down::{FRACTION_MAX, StepDown, UnknownStepDown};
pub use verification::{FaultOrder, VerificationEvent};
pub use warning::{Warning, WarningKind};
