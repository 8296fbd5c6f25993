//! How long a fault lasts: as a scenario gives it, and in milliseconds.

use hustings_record::numbers::whole;
use serde::{Deserialize, Serialize};

/// How long a control lasts by default.
pub(super) const CONTROL: Ms = Ms { for_ms: 5_000 };

/// A duration in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ms {
    pub for_ms: u64,
}

/// A duration as a scenario gives it. After validation, at most one field is set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FaultDuration {
    /// In milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_ms: Option<u64>,
    /// In multiples of the session timeout T.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_t: Option<f64>,
}

impl FaultDuration {
    /// The duration under a session timeout; `None` if none is given.
    #[must_use]
    pub fn ms(&self, timeout_ms: u64) -> Option<Ms> {
        let of_t = || self.for_t.map(|multiples| whole((multiples * timeout_ms as f64).round()));
        self.for_ms.or_else(of_t).map(|for_ms| Ms { for_ms })
    }

    /// True if no duration is given.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.for_ms.is_none() && self.for_t.is_none()
    }
}
