//! What people and scripts see: standard output, progress, exit codes.

pub mod exit;
pub mod output;
pub mod progress;
