//! Descriptor limits: at the limit connects hang rather than fail, so everybody counts before starting.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises this process's soft descriptor limit to its hard limit and returns what is in force then. `u64::MAX` means
/// that there is no limit.
///
/// # Errors
/// The kernel refused the new limit.
pub fn raise_descriptor_limit() -> io::Result<u64> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    }
    Ok(descriptor_limit())
}

/// The soft descriptor limit in force.
#[must_use]
pub fn descriptor_limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// The hard descriptor limit: what children may raise theirs to.
#[must_use]
pub fn descriptor_limit_hard() -> u64 {
    getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX)
}
