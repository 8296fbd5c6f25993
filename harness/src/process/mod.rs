//! What this process and its machine are: children, signals, clocks, limits.

pub mod capacity;
pub mod child;
pub mod clock;
pub(crate) mod http_proxy;
pub mod interrupt;
pub mod limits;
pub(crate) mod lock;
pub mod machine;
pub mod procfs;
pub mod utc;
pub(crate) mod working_directory;
