//! Files of users: read within bounds, written whole.

pub mod bounded;
pub(crate) mod replace;
