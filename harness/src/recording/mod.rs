//! The record while a run writes it: its folder, the segments of each process, and the stalls of those.

pub mod archive;
pub mod folder;
pub mod journal;
pub mod stall;
pub(crate) mod thread_waits;
