//! Numbers of one kind as another. What does not fit becomes the nearest that does.

use std::time::Duration;

use crate::nanos::Nanos;

/// `n` as a number of a host.
#[must_use]
pub fn to_u16(n: usize) -> u16 {
    u16::try_from(n).unwrap_or(u16::MAX)
}

/// `n` as a number of a group, a candidate, a server, or of as many.
#[must_use]
pub fn to_u32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// `n` as a row, a column or a size of a plot.
#[must_use]
pub fn to_i32(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

/// `n` as a place in a list.
#[must_use]
pub fn to_usize(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

/// The length in nanoseconds.
#[must_use]
pub const fn nanos(length: Duration) -> Nanos {
    length.as_secs().saturating_mul(1_000_000_000).saturating_add(length.subsec_nanos() as Nanos)
}

/// The length in milliseconds, without their fraction.
#[must_use]
pub const fn millis(length: Duration) -> u64 {
    length.as_secs().saturating_mul(1_000).saturating_add(length.subsec_millis() as u64)
}

/// `x` without its fraction. 0 for what is negative or no number.
#[must_use]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "such a cast ends at the limits of u64")]
pub const fn whole(x: f64) -> u64 {
    x as u64
}

/// `x` without its fraction, negative or not. 0 for what is no number.
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "such a cast ends at the limits of i32")]
pub const fn whole_i32(x: f64) -> i32 {
    x as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_becomes_the_nearest_that_does() {
        assert_eq!((to_u16(70_000), to_u32(usize::MAX), to_i32(usize::MAX)), (u16::MAX, u32::MAX, i32::MAX));
        assert_eq!((to_u16(7), to_u32(7), to_i32(7), to_usize(7)), (7, 7, 7, 7));
        assert_eq!((nanos(Duration::MAX), millis(Duration::MAX)), (u64::MAX, u64::MAX));
        assert_eq!((nanos(Duration::new(3, 999_999)), millis(Duration::new(3, 999_999_999))), (3_000_999_999, 3_999));
        assert_eq!((whole(2.9), whole(-1.0), whole(f64::NAN), whole(1e30)), (2, 0, 0, u64::MAX));
        assert_eq!((whole_i32(-2.9), whole_i32(f64::NAN), whole_i32(-1e30)), (-2, 0, i32::MIN));
    }
}
