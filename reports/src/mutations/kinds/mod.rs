//! One file per mutation, or per family of mutations that differ in a number.

pub(super) mod believes_without_owning;
pub(super) mod counter_ahead;
pub(super) mod drops_out;
pub(super) mod failovers_stalled;
pub(super) mod faults_denied;
pub(super) mod foreign_tokens;
pub(super) mod grant_early;
pub(super) mod grant_of_another;
pub(super) mod group_never_led;
pub(super) mod harness_stalls;
pub(super) mod herd;
pub(super) mod late;
pub(super) mod leader_changes;
pub(super) mod leader_never_writes;
pub(super) mod leads_beside;
pub(super) mod leaked;
pub(super) mod loss_not_planned;
pub(super) mod never_led_again;
pub(super) mod never_settles;
pub(super) mod notification_missed;
pub(super) mod notified_for_nothing;
pub(super) mod other_winner;
pub(super) mod overlap_withheld;
pub(super) mod owns_without_believing;
pub(super) mod planned_fault_lost;
pub(super) mod refused_write_accepted;
pub(super) mod revoke_late;
pub(super) mod rule_broken;
pub(super) mod segment_cut;
pub(super) mod sessions_unrecorded;
pub(super) mod stale_counter;
pub(super) mod stale_write_withheld;
pub(super) mod term_flaps;
pub(super) mod twice_the_requests;
pub(super) mod witness_differs;
pub(super) mod write_by_deposed;
pub(super) mod write_outside_term;
pub(super) mod write_past_fence;
pub(super) mod write_under_successor;
pub(super) mod write_without_term;

// What nearly every mutation needs: each file takes it in by `use super::*`.
use crate::check::Section;
use crate::index::Term;
use crate::mutations::edits::Edits;
use crate::mutations::indexed_cell::{CALM_NS, IndexedCell, MADE_UP_TERM, MADE_UP_TOKEN, is_end_of};
use crate::mutations::mutation::Mutation;
use crate::mutations::shift::shift;
use crate::mutations::sites::{SiteFilter, Sites};
use crate::verdict::Verdict;
use hustings_record::{
    Departure, Event, Evidence, Expectation, FanOut, FaultKind, Fencing, Holdings, Misbehaviour, Nanos, ProcessFate,
    RevokeReason, ServerLine, ServerState, SessionState, StepDown, VerificationEvent, VerificationStage, WATCHES_FIRED,
    WatchEvent, WindowEdge,
};
use std::collections::{BTreeMap, BTreeSet};
