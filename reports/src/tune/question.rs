//! What the advisor is asked.

use hustings_record::StepDown;

use super::curve::Curve;
use super::downtime::Failover;
use super::incidents::paused_ns;
use super::pauses::{PauseLog, WEEK_NS};
use super::setting::{Client, ExpirySettings};

/// ZooKeeper keeps timeouts within so many ticks, unless its configuration says otherwise.
pub(super) const TICKS_MIN: u64 = 2;
pub(super) const TICKS_MAX: u64 = 20;
/// A process that is paused for a larger share of the time hardly runs: its log shows nothing of one that leads.
pub(super) const PAUSED_SHARE_MAX: f64 = 0.5;

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

    /// The share of the time for which the process was paused: of the weeks that are said, or of the log's own, if these are fewer.
    pub(super) fn paused_share(&self) -> f64 {
        let weeks = self.log.weeks().map_or(self.weeks, |own| own.min(self.weeks));
        paused_ns(self.log) as f64 / (weeks * WEEK_NS)
    }

    /// Whether the log can show anything for certain: all of its pauses were read, they are those of one process, and it ran.
    pub(super) fn is_conclusive(&self) -> bool {
        // What could not be read may have been longer than all the others.
        let is_whole = self.log.unread.count == 0 && self.log.overlaps.count == 0;
        is_whole && self.paused_share() <= PAUSED_SHARE_MAX
    }

    /// Whether a leader steps down each time that its client gives the connection up, and its session lives on. The policy's time
    /// begins when the client notices the loss, after the pause, and ends with the reconnect.
    pub(super) fn steps_down(&self, timeout_ms: f64) -> bool {
        match self.step_down {
            StepDown::OnDisconnect => true,
            StepDown::OnExpiry => false,
            StepDown::After(fraction) => fraction * timeout_ms < self.reconnect_ms,
        }
    }
}
