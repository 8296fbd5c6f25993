//! Elections in virtual time: the recipes themselves on the model, with faults, delays and queues from one seed.

mod agenda;
mod cell;
mod chaos;
mod client;
#[cfg(test)]
mod conforms;
mod faults;
mod hosts;
mod life;
mod link;
mod owners;
mod patterns;
pub mod script;
mod seat;
mod server_faults;
mod server_watch;
mod servers;
mod session;
mod stage;
mod timing;
mod traps;
mod watches;
mod witness;
mod world;
mod write_probe;

pub use cell::{Course, Ran, Simulation, simulate};
pub use chaos::{chaos, smallest};
pub use timing::Timing;
pub use witness::{By, Phase, Saw, Witness};
