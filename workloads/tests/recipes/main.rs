//! The recipes on the model in virtual time.

mod broken;
mod chaos;
mod election_end;
mod leaving;
mod lock;
mod queue;
mod session_loss;
mod succession;
