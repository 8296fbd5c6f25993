//! What the recipes do, on an ensemble in memory.

#[path = "../support/mod.rs"]
mod support;

mod broken;
mod chaos;
mod election_end;
mod leaving;
mod lock;
mod queue;
mod session_loss;
mod succession;
