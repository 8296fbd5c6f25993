//! Files: those of users, read within bounds and written whole; a run's own folder; notes of what a run has elsewhere.

pub mod bounded;
pub(crate) mod cleanup_notes;
pub(crate) mod in_record;
pub(crate) mod replace;
pub mod workdir;
pub mod write_error;
