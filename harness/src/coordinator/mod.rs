//! The coordinator: runs the cells of a scenario one after the other, breaks things on time, and writes down what it saw.

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
mod set_up;
mod stage;
mod warm;

pub use hosts::process_state;
pub use run::{Outcome, RunError, RunOptions, default_folder, run};
pub use stage::Stage;
