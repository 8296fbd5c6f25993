//! What the advisor is asked.

use hustings_record::StepDown;
use hustings_record::numbers::whole;
use hustings_record::words::{duration, plural};

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
/// Weeks that differ by more than this factor from a log's own make its pauses rarer, or more frequent, than they were.
pub(super) const WEEKS_FACTOR_MAX: f64 = 1.1;

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
    /// Whether the servers are real on which the curve was measured, if it was.
    pub is_of_real_servers: bool,
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

    /// Why nothing can be shown of this timeout, however long the log, as a sentence; None: all pauses that matter were read, they are
    /// those of one process, which ran for as long as is said, and the curve is none of other servers.
    pub(super) fn doubt(&self, timeout_ms: u64) -> Option<String> {
        let log = self.log;
        if log.unread.count > 0 {
            // What could not be read may have been longer than all the others.
            let pauses = plural(log.unread.count, "pause", "pauses");
            return Some(format!("{pauses} in the log could not be read, and may have been longer."));
        }
        if log.overlaps.count > 0 {
            let pauses = plural(log.overlaps.count, "pause overlaps", "pauses overlap");
            return Some(format!("{pauses} an earlier one: it is no log of one process."));
        }
        let paused_share = self.paused_share();
        if paused_share > PAUSED_SHARE_MAX {
            return Some(format!("The process was paused for {:.0} % of the time.", paused_share * 100.0));
        }
        if let Some(own) = log.own_weeks().filter(|own| self.weeks > own * WEEKS_FACTOR_MAX) {
            return Some(format!(
                "By its own times the log covers {}: it does not show {:.1} weeks.",
                duration(whole((own * WEEK_NS).round())),
                self.weeks
            ));
        }
        if self.curve.is_measured() && !self.is_of_real_servers {
            return Some("How pauses expire sessions was not measured on real servers.".to_owned());
        }
        // Within T of each other pauses are one incident, and where the longest expires nothing, no other of its interval does.
        let interval_ns = log.coverage.longest_interval;
        let (none_ms, _) = self.curve.limits_ms(&self.setting(timeout_ms));
        let is_coarse = interval_ns as f64 / 1e6 > timeout_ms as f64;
        let hides_others = is_coarse && log.pauses.iter().any(|pause| pause.lasted as f64 / 1e6 > none_ms);
        hides_others.then(|| {
            format!(
                "An interval takes up to {}, and shows its longest pause alone: others in it may expire sessions too.",
                duration(interval_ns)
            )
        })
    }

    /// How many weeks the log may be of: as is said, or by its own times, with those that are not counted because lines are missing.
    pub(super) fn weeks_at_most(&self) -> f64 {
        self.log.weeks_at_most().map_or(self.weeks, |own| own.max(self.weeks))
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
