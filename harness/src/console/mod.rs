//! Output for people and scripts: standard output, progress, exit codes.

pub mod exit;
pub mod output;
pub mod progress;
