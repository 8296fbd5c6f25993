//! What did happen: the record, its checkers, statistics and reports. Pure functions of a record.

#![cfg_attr(not(test), warn(clippy::cast_possible_truncation, clippy::cast_sign_loss))]

pub mod analysis;
pub mod check;
pub mod compare;
pub mod definitions;
pub mod excerpts;
pub mod export;
pub mod gate;
pub mod history;
pub mod index;
pub mod mutations;
pub mod render;
pub mod repetitions;
pub mod replay;
pub mod schema;
pub mod sound;
pub(crate) mod state;
pub mod stats;
pub mod summary;
pub mod tune;
pub mod verdict;
