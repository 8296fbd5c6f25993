//! How long should a session timeout be? From the user's own pauses.

pub mod pauses;
