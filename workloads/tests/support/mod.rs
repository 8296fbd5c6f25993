//! An ensemble in memory, a clock that stands still until it is moved, and a bench that runs candidates on both. Single-threaded
//! and deterministic; faults are placed between any two steps of a recipe.

mod bench;
mod booth;
mod ensemble;
mod faults;
mod session;

pub(crate) use bench::{Bench, election};
pub(crate) use booth::Entry;
pub(crate) use ensemble::Kind;
