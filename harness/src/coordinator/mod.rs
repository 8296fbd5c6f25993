//! The coordinator: runs the cells of a scenario one after the other, breaks things on time, and writes down what it saw.

pub(crate) mod admin;
mod as_found;
mod calibrate;
mod cell;
mod describe;
mod floor;
mod hosts;
mod inbox;
mod leaders;
mod observer;
pub mod resource;
mod run;
mod schedule;
mod server_watch;
mod set_up;
mod stage;
mod warm;
mod ways;
mod write_probe;

pub use run::{Outcome, RunError, RunOptions, default_folder, run};
pub use stage::Stage;
