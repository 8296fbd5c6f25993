//! External programs as candidates: `hustings-candidate/1`.

pub mod adapters;
pub(crate) mod beliefs;
pub mod clocks;
pub(crate) mod faketime;
pub mod intake;
pub mod kit;
mod lines;
pub mod message;
pub mod own;
pub mod program;
pub(crate) mod resource;
pub(crate) mod words;
