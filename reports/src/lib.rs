//! What did happen: the record, its checkers, statistics and reports. Pure functions of a record.

pub mod analysis;
pub mod check;
pub mod compare;
pub mod exceptions;
pub mod export;
pub mod falls;
pub mod gate;
pub mod index;
pub mod load;
pub mod mutations;
pub mod past;
pub mod pool;
mod pooling;
pub mod render;
pub mod repeated;
pub mod replay;
pub mod schema;
pub mod stats;
pub mod summary;
pub mod timelines;
pub mod tune;
pub mod verdict;
