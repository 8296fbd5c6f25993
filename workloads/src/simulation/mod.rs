//! Elections in virtual time: the recipes themselves run on the model, with faults, delays and queues from one seed.

mod backend;
pub mod bench;
mod chaos;
mod clients;
#[cfg(test)]
mod conforms;
mod delivery;
mod event_sink;
mod faults;
mod floor;
mod host_faults;
mod hosts;
mod patterns;
mod process;
mod process_faults;
mod recipe_slot;
#[cfg(test)]
mod redis;
mod run;
mod scheduled;
mod server_faults;
mod servers;
mod session;
mod sim_cell;
mod slot;
mod slow;
#[cfg(test)]
mod slowness;
mod step;
mod timing;
mod world;

pub use chaos::{chaos, smallest};
pub use event_sink::{EventSink, Writer};
pub use run::{Simulation, SimulationResult, simulate};
pub use timing::Timing;
pub use world::BEGIN_NS;
