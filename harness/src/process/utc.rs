//! The readings of the wall clock: when a run began and ended, for people and for the name of its folder, and what brings
//! the times of servers' logs to the common clock.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::process::clock;

/// Now, as RFC 3339 in UTC to the second.
#[must_use]
pub fn now() -> String {
    // It knows no time before 1970, which a clock without a battery shows.
    humantime::format_rfc3339_seconds(wall().max(UNIX_EPOCH)).to_string()
}

/// A moment of the wall clock that others are told from.
#[derive(Clone, Copy, Debug)]
pub struct Epoch(SystemTime);

impl Epoch {
    #[must_use]
    pub fn now() -> Self {
        Self(wall().max(UNIX_EPOCH))
    }

    /// So many microseconds later, as RFC 3339 in UTC to the microsecond.
    #[must_use]
    pub fn plus(self, micros: u64) -> String {
        humantime::format_rfc3339_micros(self.0 + std::time::Duration::from_micros(micros)).to_string()
    }
}

/// Milliseconds since 1970.
#[must_use]
pub fn unix_ms() -> i64 {
    let since = wall().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[expect(clippy::disallowed_methods, reason = "stamps of the manifest, and logs that know no other clock")]
fn wall() -> SystemTime {
    SystemTime::now()
}

/// The wall clock and the common clock, read at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    wall: SystemTime,
    common: u64,
    /// Between the two readings of the common clock around that of the wall clock.
    took: u64,
}

impl Clocks {
    /// Reads both.
    #[must_use]
    pub fn now() -> Self {
        let before = clock::now();
        let wall = wall();
        let after = clock::now();
        Self { wall, common: before + (after - before) / 2, took: after - before }
    }

    /// How far the wall clock (since 1970) is ahead of the common clock, and by how much that may be off: nanoseconds.
    #[must_use]
    pub fn ahead(&self) -> (i64, u64) {
        let wall = self.wall.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i64);
        (wall - self.common as i64, self.took)
    }

    /// What the common clock showed at a wall time, as far as the wall clock has not been set since.
    #[must_use]
    pub fn common(&self, at: SystemTime) -> u64 {
        let ns = |time: SystemTime| time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
        (self.common + ns(at)).saturating_sub(ns(self.wall))
    }
}

/// A stamp of [`now`] without the signs that file names should not have: `20260102-030405`.
#[must_use]
pub fn compact(rfc3339: &str) -> String {
    rfc3339.replace(['-', ':', 'Z'], "").replace('T', "-")
}
