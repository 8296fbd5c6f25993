//! The record while a run writes it: its folder, and the segments of each process.

pub mod archive;
pub mod journal;
pub(crate) mod sidecar;
