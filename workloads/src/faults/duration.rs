//! How long a fault lasts: as it is told, and in milliseconds.

use serde::{Deserialize, Serialize};

/// How long a control lasts unless told.
pub(super) const CONTROL: Ms = Ms { for_ms: 5_000 };

/// A duration in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ms {
    pub for_ms: u64,
}

/// A duration as a scenario tells it. One that has been checked tells it in one way at most.
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
    /// Under a session timeout; `None` if nothing is told.
    #[must_use]
    pub fn ms(&self, timeout_ms: u64) -> Option<Ms> {
        let of_t = || self.for_t.map(|multiples| (multiples * timeout_ms as f64).round() as u64);
        self.for_ms.or_else(of_t).map(|for_ms| Ms { for_ms })
    }

    /// True if nothing is told.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.for_ms.is_none() && self.for_t.is_none()
    }
}
