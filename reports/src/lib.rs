//! What did happen: the record, its checkers, statistics and reports. Pure functions of a record.

pub mod record;
pub mod summary;
pub mod verdict;
