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
    /// Connections that a client gives up after a pause, a week: with `on-disconnect` each costs a term of the leader.
    pub given_up_per_week: f64,
    /// From the death of a leader to its successor's first accepted write: on average, and at most.
    pub outage_ms: f64,
    pub outage_ms_max: f64,
    /// Without a leader that acts, seconds a week: after true crashes, after false failovers.
    pub crashed_s_per_week: f64,
    pub falsely_s_per_week: f64,
    /// Pauses that are waited out, since they cost no failover: seconds a week. They are no failure, and nobody acts meanwhile.
    pub waited_s_per_week: f64,
    /// φ = −log₁₀ of the share of pings that are as late as this; None where no pause is.
    pub phi: Option<f64>,
    /// No other timeout has both fewer false failovers and less time without a leader.
    pub on_front: bool,
}

impl TimeoutRow {
    #[must_use]
    pub fn downtime_s_per_week(&self) -> f64 {
        self.crashed_s_per_week + self.falsely_s_per_week
    }
}

/// How well a timeout is founded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// The bound of its false failovers is within what is acceptable.
    Shown,
    /// Only the estimate is: the log is too short, or the pauses are too near.
    Estimated,
    /// No timeout that the servers grant is within it.
    Missed,
}

/// The timeout to take.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recommended {
    pub timeout_ms: u64,
    pub grade: Grade,
    /// Weeks of logs that are missing for the claim, if nothing more is seen in them; 0: none. None: no logs would do.
    pub weeks_missing: Option<f64>,
}
