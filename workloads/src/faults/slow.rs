//! `slow`: a slow link. The parameters mean the same on real links, through a plain Toxiproxy and in simulation. They
//! apply to one message in one direction, so a round trip over a link slow both ways pays the latency twice.

use std::fmt;

use hustings_record::Direction;
use serde::{Deserialize, Serialize};

/// How slow a link gets, in each of the named directions. Zeros have no effect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LinkSlowdown {
    /// Added to every message, in milliseconds.
    pub latency_ms: u64,
    /// The latency of every message varies by up to this much either way, uniformly and never below 0, in milliseconds.
    pub jitter_ms: u64,
    /// The most that a connection carries, in KiB (1,024 bytes) a second; unlimited by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_kb: Option<u64>,
    /// The affected directions.
    pub direction: Direction,
}

impl LinkSlowdown {
    /// True if it has no effect.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.latency_ms == 0 && self.jitter_ms == 0 && self.rate_kb.is_none()
    }

    /// The most that a connection carries, in bytes a second.
    #[must_use]
    pub fn bytes_a_second(&self) -> Option<u64> {
        self.rate_kb.map(|kib| kib.saturating_mul(1_024).max(1))
    }

    /// The least delay of a message of this many bytes, one way, in milliseconds.
    #[must_use]
    pub fn least_ms(&self, bytes: usize) -> f64 {
        let line_ms = self.bytes_a_second().map_or(0.0, |rate| bytes as f64 * 1e3 / rate as f64);
        self.latency_ms.saturating_sub(self.jitter_ms) as f64 + line_ms
    }

    /// Bytes that take the time `ms` at the rate, at least one; `None` without a rate.
    #[must_use]
    pub fn bytes_in(&self, ms: u64) -> Option<u64> {
        self.bytes_a_second().map(|rate| (rate.saturating_mul(ms) / 1_000).max(1))
    }
}

impl fmt::Display for LinkSlowdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = match self.direction {
            Direction::Up => "from host to server",
            Direction::Down => "from server to host",
            Direction::Both => "each way",
        };
        let rate = self.rate_kb.map(|kib| format!(", {kib} KiB/s")).unwrap_or_default();
        write!(f, "latency {} ± {} ms{rate} {way}", self.latency_ms, self.jitter_ms)
    }
}
