//! The life of a cell, written once: set up, enrol, settle, inject, verify, heal, drain, tear down. A [`Backend`]
//! carries it out: processes, links and an ensemble, or the model in virtual time. The driver cannot tell which.

mod backend;
mod candidate;
mod effect;
mod floor;
mod floor_pair;
mod holdings;
mod injections;
mod injury;
mod lay_out;
mod parent;
mod phases;
mod repeating;
mod server_load;
mod server_logs;
mod server_watch;
mod servers_seen;
mod sessions;
mod state;
mod turns;
mod unless;
mod write_probe;

pub use backend::{Backend, EnrolmentProgress};
pub use candidate::{SessionClosure, Slot, live, work};
pub use effect::Effect;
pub use floor::take_floor;
pub use floor_pair::{FloorPair, FloorPart, FloorStamp, FloorTaken};
pub use injections::{as_planned, injection};
pub use injury::{CandidateOrderOutcome, InjectedFault, Remedy, ServerRemedy, StoppedHost, Verification, lost_replies};
pub use lay_out::lay_out;
pub use parent::delete_parent;
pub use phases::run;
pub use servers_seen::ServerObservations;
pub use sessions::{Process, Sessions};
pub use state::State;
pub(crate) use unless::unless;
