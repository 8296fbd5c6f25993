//! One group of a cell, step by step: what the record says of its candidates, their znodes, sessions, links and beliefs, for
//! the page's replay. Few groups, and few enough steps to walk through.

mod choose;
mod members;
mod model;
mod playlist;
mod queue;
mod steps;

pub use model::{Replay, ReplayEvent, ReplayMember, ReplayStep, WalkThrough, WalkThroughKind, WatchedNode};
pub(crate) use playlist::Playlist;
