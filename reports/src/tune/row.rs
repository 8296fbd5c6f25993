//! What one timeout costs, and the one to take.

use serde::Serialize;

use super::rate::FalseFailovers;

/// What one timeout costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimeoutRow {
    /// T, as the servers grant it.
    pub timeout_ms: u64,
    pub false_failovers: FalseFailovers,
    /// Where no pause that was seen is as long as the midpoint of the curve: how many a week could be, by the tail of those that
    /// were. A guess beyond the data.
    pub extrapolated_per_week: Option<f64>,
    /// Why there is no such guess, where one is wanted.
    pub not_extrapolated: Option<String>,
    /// Connections that a client gives up after a pause, a week.
    pub given_up_per_week: f64,
    /// Those of them that cost a term of the leader by its step-down policy: all with `on-disconnect`, none with `on-expiry`; with
    /// `after=` those whose reconnect takes longer than the policy waits.
    pub step_downs_per_week: f64,
    /// From the death of a leader to its successor's first accepted write: on average, and at most.
    pub outage_ms: f64,
    pub outage_ms_max: f64,
    /// Without a leader that acts, seconds a week: after true crashes, after false failovers.
    pub crashed_s_per_week: f64,
    pub falsely_s_per_week: f64,
    /// No other timeout has both fewer false failovers and less time without a leader.
    pub on_front: bool,
}

impl TimeoutRow {
    /// False failovers a week by the pauses that were seen, and by what is extrapolated beyond them.
    #[must_use]
    pub fn estimate_per_week(&self) -> f64 {
        self.false_failovers.per_week + self.extrapolated_per_week.unwrap_or(0.0)
    }

    #[must_use]
    pub fn downtime_s_per_week(&self) -> f64 {
        self.crashed_s_per_week + self.falsely_s_per_week
    }
}

/// What the log shows of a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeoutGrade {
    /// The upper bound of its false failovers is within what is acceptable.
    Shown,
    /// What is acceptable lies between the bounds: the log is too short, or the pauses are too near. Or there is a doubt.
    Estimated,
    /// Its lower bound is beyond what is acceptable. Of the recommended one: so is that of the longest timeout.
    Missed,
}

/// A timeout, and what the log shows of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgedTimeout {
    /// As the servers grant it.
    pub timeout_ms: u64,
    pub grade: TimeoutGrade,
    /// Weeks of logs that are missing for the claim, if nothing more is seen in them; 0: none. None: no logs would do.
    pub weeks_missing: Option<f64>,
    /// Why no log of this kind shows it, whatever its length, as a sentence.
    pub doubt: Option<String>,
}
