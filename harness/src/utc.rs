//! The one reading of the wall clock: when a run began and ended, for people and for the name of its folder.

use std::time::SystemTime;

/// Now, as RFC 3339 in UTC to the second.
#[must_use]
pub fn now() -> String {
    #[expect(clippy::disallowed_methods, reason = "this is the start and end stamp of the manifest")]
    let now = SystemTime::now();
    humantime::format_rfc3339_seconds(now).to_string()
}

/// A stamp of [`now`] without the signs that file names should not have: `20260102-030405`.
#[must_use]
pub fn compact(rfc3339: &str) -> String {
    rfc3339.replace(['-', ':', 'Z'], "").replace('T', "-")
}
