//! The life of a cell, written once: set up, enrol, settle, inject, verify, heal, drain, tear down. A [`Backend`]
//! carries it out: processes, links and an ensemble, or the model in virtual time. The driver cannot tell which.

mod admission_queue;
mod backend;
mod cancellation;
mod candidate;
mod effect;
mod floor;
mod floor_pair;
mod holdings;
mod injected_fault;
mod injections;
mod lay_out;
mod parent;
mod phases;
mod repeating;
mod server_load;
mod server_logs;
mod server_observations;
mod server_watch;
mod sessions;
mod state;
mod write_probe;

pub use backend::{Backend, EnrolmentProgress};
pub(crate) use cancellation::run_until_cancelled;
pub use candidate::{SessionClosure, Slot, live, work};
pub use effect::Effect;
pub use floor::take_floor;
pub use floor_pair::{FloorPair, FloorPart, FloorStamp, FloorStamps};
pub use injected_fault::{
    CandidateOrderOutcome, InjectedFault, LinkFault, Remedy, ServerRemedy, StoppedHost, Verification, lost_replies,
};
pub use injections::{as_planned, injection};
pub use lay_out::lay_out;
pub use parent::delete_parent;
pub use phases::run;
pub use server_observations::ServerObservations;
pub use sessions::{Process, Sessions};
pub use state::State;
