//! The size of a wall-clock step.

use serde::{Deserialize, Serialize};

/// By how much a wall clock jumps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockStep {
    /// In milliseconds; negative sets the clock back.
    #[serde(default)]
    pub step_ms: i64,
}

impl std::fmt::Display for ClockStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let way = if self.step_ms < 0 { "back" } else { "ahead" };
        write!(f, "by {} ms {way}", self.step_ms.unsigned_abs())
    }
}
