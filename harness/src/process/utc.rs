//! Readings of the wall clock: start and end of a run for people and folder names, and the conversion of server log
//! times.

use std::time::{SystemTime, UNIX_EPOCH};

use hustings_record::numbers::nanos;

use crate::process::clock;

/// Now, as RFC 3339 in UTC to the second.
#[must_use]
pub fn now() -> String {
    // The formatter rejects times before 1970, which a clock without a battery may show.
    humantime::format_rfc3339_seconds(wall().max(UNIX_EPOCH)).to_string()
}

/// A reference time of the wall clock, to which offsets are added.
#[derive(Clone, Copy, Debug)]
pub struct Epoch(SystemTime);

impl Epoch {
    #[must_use]
    pub fn now() -> Self {
        Self(wall().max(UNIX_EPOCH))
    }

    /// This many microseconds later, as RFC 3339 in UTC to the microsecond.
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

/// The wall clock and the common clock, read at the same time.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    wall: SystemTime,
    common: u64,
    /// Time between the two readings of the common clock around the reading of the wall clock.
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

    /// How far the wall clock (since 1970) is ahead of the common clock, and the maximum error: nanoseconds.
    #[must_use]
    pub fn ahead(&self) -> (i64, u64) {
        let wall: u64 = self.wall.duration_since(UNIX_EPOCH).map_or(0, nanos);
        (wall.cast_signed() - self.common as i64, self.took)
    }

    /// The common clock's value at a wall time, if the wall clock has not been set since.
    #[must_use]
    pub fn common(&self, at: SystemTime) -> u64 {
        let ns = |time: SystemTime| time.duration_since(UNIX_EPOCH).map_or(0, nanos);
        (self.common + ns(at)).saturating_sub(ns(self.wall))
    }
}

/// A timestamp of [`now`] without characters that are unsuitable for file names: `20260102-030405`.
#[must_use]
pub fn compact(rfc3339: &str) -> String {
    rfc3339.replace(['-', ':', 'Z'], "").replace('T', "-")
}
