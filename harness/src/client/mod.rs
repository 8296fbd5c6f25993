//! Sessions on real servers: how they open, what they do, and how one is ended by force.

pub mod secret;
pub mod session;
pub mod take_over;
