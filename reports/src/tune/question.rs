//! What the advisor is asked.

use hustings_record::StepDown;

use super::curve::Curve;
use super::downtime::Failover;
use super::pauses::PauseLog;
use super::setting::{Client, ExpirySettings};

/// ZooKeeper keeps timeouts within so many ticks, unless its configuration says otherwise.
pub(super) const TICKS_MIN: u64 = 2;
pub(super) const TICKS_MAX: u64 = 20;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    pub log: &'a PauseLog,
    /// How many weeks the log is of.
    pub weeks: f64,
    pub client: Client,
    pub step_down: StepDown,
    pub tick_ms: u64,
    /// From the end of a pause until the servers have heard of the client again, in milliseconds.
    pub reconnect_ms: f64,
    /// The session timeout that is in use, or thought of, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// True crashes of leaders a week.
    pub crashes_per_week: f64,
    /// So many false failovers a week are acceptable.
    pub acceptable_per_week: f64,
    pub curve: Curve,
    pub failover: Failover,
    /// Of all that is drawn.
    pub seed: u64,
}

impl Question<'_> {
    /// What decides whether a pause expires a session of this timeout.
    pub(super) fn setting(&self, timeout_ms: u64) -> ExpirySettings {
        ExpirySettings::of(self.client, timeout_ms as f64, self.tick_ms as f64, self.reconnect_ms)
    }
}
