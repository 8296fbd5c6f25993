//! What this process and its machine are: children, signals, clocks, limits.

pub mod capacity;
pub mod child;
pub mod clock;
pub(crate) mod guarded;
pub(crate) mod http_proxy;
pub(crate) mod installed;
pub mod interrupt;
pub mod limits;
pub(crate) mod lock;
pub mod machine;
#[cfg(test)]
pub(crate) mod marked_shell;
pub(crate) mod pause;
pub mod procfs;
pub mod utc;
pub(crate) mod working_directory;
