//! The common clock: raw nanoseconds of CLOCK_MONOTONIC, shared by all processes of a machine.

use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_getres, clock_gettime};

/// Now, in nanoseconds.
#[must_use]
pub fn now() -> u64 {
    nanos(clock_gettime(ClockId::Monotonic))
}

/// CPU time of this thread so far, in nanoseconds.
#[must_use]
pub fn ran() -> u64 {
    nanos(clock_gettime(ClockId::ThreadCPUTime))
}

/// Maximum error of a reading, in nanoseconds: the clock's resolution, and at least 1 µs for the reading itself.
#[must_use]
pub fn uncertainty() -> u64 {
    nanos(clock_getres(ClockId::Monotonic)).max(1_000)
}

/// Waits until the clock shows `at`. Returns at once if that time has passed.
pub async fn sleep_until(at: u64) {
    let now = now();
    if at > now {
        tokio::time::sleep(Duration::from_nanos(at - now)).await;
    }
}

fn nanos(t: Timespec) -> u64 {
    t.tv_sec.cast_unsigned() * 1_000_000_000 + t.tv_nsec.cast_unsigned()
}
