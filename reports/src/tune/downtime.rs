//! How long groups are without a leader: after true crashes, and after false failovers.

use serde::{Deserialize, Serialize};

use super::setting::ExpirySettings;

/// What a failover takes beside the detection, in milliseconds, on average.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failover {
    /// From the first watcher told to the grant.
    pub decide_ms: f64,
    /// From the grant to the first accepted write.
    pub act_ms: f64,
    /// Failovers that this was measured in; 0: it is assumed.
    pub measured: u64,
}

impl Failover {
    /// Where nothing was measured: a few round trips. Beside a session timeout it is nothing.
    pub const ASSUMED: Self = Self { decide_ms: 5.0, act_ms: 50.0, measured: 0 };

    /// How long a group is without a leader that acts, after the death of one: on average, and at most as far as the servers have
    /// part in it.
    #[must_use]
    pub fn outage_ms(&self, setting: &ExpirySettings) -> (f64, f64) {
        let (mean, most) = setting.detection_ms();
        let rest = self.decide_ms + self.act_ms;
        (mean + rest, most + rest)
    }
}
