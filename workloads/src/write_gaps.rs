//! The gaps in which no write is acknowledged. Probes write through every server repeatedly, and their acknowledgements
//! define the gaps. The servers' own reports are too favourable: followers of a leader that has gone silent do not know
//! it yet.

use std::time::Duration;

use hustings_record::numbers::nanos;

use crate::host::Nanos;

/// The pause from an acknowledgement to the next write of the same probe.
pub const EVERY: Duration = Duration::from_millis(25);
/// Bound on making a connection, and on the answer to a write; after it the probe tries again.
pub const PATIENCE: Duration = Duration::from_secs(3);
/// Timeout of the probes' sessions; the servers may clamp it.
pub const TIMEOUT: Duration = Duration::from_secs(10);
/// Shorter gaps between acknowledgements only indicate a busy machine.
const GAP_MIN: Duration = Duration::from_millis(200);

/// The acknowledgements of all probes of a cell. All times are of one clock.
#[derive(Clone, Copy, Debug)]
pub struct WriteGaps {
    last: Nanos,
    acknowledged: u64,
}

impl WriteGaps {
    /// The probes begin.
    #[must_use]
    pub fn begin(now: Nanos) -> Self {
        Self { last: now, acknowledged: 0 }
    }

    /// A write was acknowledged. Returns the gap that this ends, as start and end, if it is long enough to count.
    pub fn acknowledge(&mut self, now: Nanos) -> Option<(Nanos, Nanos)> {
        let gap = self.gap(now);
        self.acknowledged += 1;
        self.last = now;
        gap
    }

    /// The gap since the last acknowledgement, if it is long enough to count.
    #[must_use]
    pub fn gap(&self, now: Nanos) -> Option<(Nanos, Nanos)> {
        (now.saturating_sub(self.last) >= nanos(GAP_MIN)).then_some((self.last, now))
    }

    /// When the last write was acknowledged, or the probes began.
    #[must_use]
    pub fn last(&self) -> Nanos {
        self.last
    }

    /// Number of acknowledged writes so far.
    #[must_use]
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }
}

#[cfg(test)]
mod tests {
    use super::WriteGaps;

    #[test]
    fn only_gaps_that_mean_something_are_told() {
        let ms = |ms: u64| ms * 1_000_000;
        let mut gaps = WriteGaps::begin(ms(1_000));
        assert_eq!(gaps.acknowledge(ms(1_199)), None);
        assert_eq!(gaps.acknowledge(ms(1_399)), Some((ms(1_199), ms(1_399))));
        assert_eq!((gaps.gap(ms(1_598)), gaps.gap(ms(1_700))), (None, Some((ms(1_399), ms(1_700)))));
        assert_eq!(gaps.acknowledged(), 2);
    }
}
