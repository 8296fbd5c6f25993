//! The coordinator: runs the cells of a scenario one after the other, breaks things on time, and writes down what it saw.

pub(crate) mod admin;
mod again;
mod backend;
mod background_tasks;
mod batch;
mod cell;
mod chosen;
mod correction;
mod cut_short;
mod debts;
mod environment;
mod faults;
mod floor;
mod further;
pub mod hosts;
mod hung;
mod inbox;
pub(crate) mod live_cell;
mod liveness_monitor;
mod observed_group;
pub mod observer;
mod observer_weight;
mod run;
mod run_links;
mod set_up;
mod sync_point;
mod tear_down;
pub mod warm;
mod watching;
mod winner;

pub use chosen::{Against, Chosen};
pub(crate) use correction::corrected_by;
pub use further::Again;
pub use run::{RunError, RunOptions, RunOutcome, run};
pub(crate) use run_links::most as links_of_largest_cell;
