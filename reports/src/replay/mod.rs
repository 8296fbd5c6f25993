//! One group of a cell, step by step: what the record says of its candidates, their znodes, sessions, links and beliefs, for
//! the page's replay. Few groups, and few enough steps to walk through.

mod cast;
mod choose;
mod playlist;
mod queue;
mod steps;
mod story;

pub(crate) use playlist::Playlist;
pub use story::{Happening, Replay, ReplayMember, ReplayStep, Walk, WalkKind, WatchedNode};
