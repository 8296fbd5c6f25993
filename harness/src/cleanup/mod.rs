//! What a run leaves while it lives, and what finds it after a `kill -9`.

pub(crate) mod borrowed;
pub mod leftovers;
pub mod workdir;
