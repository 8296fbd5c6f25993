//! What can be asked of a link, and the toxics that do it.

use std::fmt;

use super::control::Toxic;

/// Which way nothing passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Both,
    /// From host to server.
    Up,
    /// From server to host.
    Down,
}

impl Direction {
    pub(super) fn streams(self) -> &'static [&'static str] {
        match self {
            Self::Both => &["upstream", "downstream"],
            Self::Up => &["upstream"],
            Self::Down => &["downstream"],
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Both => "both ways",
            Self::Up => "host to server",
            Self::Down => "server to host",
        })
    }
}

/// How slow a link gets. Zeros leave it alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slow {
    /// Added to a round trip: half of it each way.
    pub latency_ms: u32,
    /// A round trip is off by this much either way.
    pub jitter_ms: u32,
    /// Kilobytes (1,000 bytes) a second, each way.
    pub rate_kb: u32,
}

impl fmt::Display for Slow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "latency {} ± {} ms a round trip", self.latency_ms, self.jitter_ms)?;
        if self.rate_kb > 0 { write!(f, ", {} KB/s", self.rate_kb) } else { Ok(()) }
    }
}

impl Slow {
    pub(super) fn toxics(self) -> Vec<Toxic> {
        let mut toxics = Vec::new();
        let up = (self.latency_ms / 2, self.jitter_ms / 2);
        let down = (self.latency_ms - up.0, self.jitter_ms - up.1);
        for (stream, (latency, jitter)) in [("upstream", up), ("downstream", down)] {
            if latency > 0 || jitter > 0 {
                toxics.push(Toxic::new("latency", stream, &[("latency", latency), ("jitter", jitter)]));
            }
            if self.rate_kb > 0 {
                toxics.push(Toxic::new("bandwidth", stream, &[("rate", self.rate_kb)]));
            }
        }
        toxics
    }
}
