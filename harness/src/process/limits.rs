//! Descriptor limits. At the limit, connects hang rather than fail, so the demand is checked before the start.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises this process's soft descriptor limit to its hard limit, and returns the limit then in force. `u64::MAX`: no
/// limit.
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

/// The hard descriptor limit, to which child processes may raise their soft limit.
#[must_use]
pub fn descriptor_limit_hard() -> u64 {
    getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX)
}
