//! The coordinator: runs the cells of a scenario one after the other, breaks things on time, and writes down what it saw.

pub(crate) mod admin;
mod as_found;
mod calibrate;
mod cell;
pub(crate) mod describe;
mod floor;
mod hosts;
mod inbox;
mod observer;
mod run;
mod schedule;
mod server_watch;
mod set_up;
mod stage;
mod warm;
mod ways;
mod write_probe;

pub use run::{Outcome, RunError, RunOptions, default_folder, run};
pub(crate) use schedule::struck;
pub use stage::Stage;
pub(crate) use stage::writer_name;
