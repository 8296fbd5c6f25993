//! Durations of which there are too many to keep, counted in a histogram of three significant digits.

use hdrhistogram::Histogram;
use hustings_record::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Fewer than this have no quantile of a thousandth.
const P999_MIN: u64 = 1_000;

/// What a histogram says of them: quantiles are the upper edges of its bins, at most 0.1 % above the durations themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Quantiles {
    pub n: u64,
    pub p50: Nanos,
    pub p99: Nanos,
    /// None below 1,000 of them.
    pub p999: Option<Nanos>,
    pub max: Nanos,
}

/// Counts durations.
pub struct DurationCounter {
    /// Grows with what it counts.
    histogram: Histogram<u64>,
    max: Nanos,
}

impl Default for DurationCounter {
    fn default() -> Self {
        #[expect(clippy::expect_used, reason = "three significant digits are within what a histogram can have")]
        Self { histogram: Histogram::new(3).expect("a histogram of three digits"), max: 0 }
    }
}

impl DurationCounter {
    /// One more. Longer than a histogram can hold counts as the longest that it can.
    pub fn push(&mut self, value: Nanos) {
        self.max = self.max.max(value);
        if self.histogram.record(value).is_err() {
            self.histogram.saturating_record(value);
        }
    }

    /// None where there was none.
    #[must_use]
    pub fn tallied(&self) -> Option<Quantiles> {
        let (n, max) = (self.histogram.len(), self.max);
        let at = |q| self.histogram.value_at_quantile(q).min(max);
        let p999 = (n >= P999_MIN).then(|| at(0.999));
        (n > 0).then(|| Quantiles { n, p50: at(0.5), p99: at(0.99), p999, max })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_counted_is_within_a_thousandth_of_what_is_sorted(
            mut values in prop::collection::vec(0_u64..20_000_000_000, 1..2_000),
        ) {
            let mut tallying = DurationCounter::default();
            values.iter().for_each(|&v| tallying.push(v));
            let tallied = tallying.tallied().unwrap();
            values.sort_unstable();
            let exact = |percent: usize| values[(percent * values.len()).div_ceil(100).max(1) - 1];
            for (got, exact) in [(tallied.p50, exact(50)), (tallied.p99, exact(99))] {
                prop_assert!(got >= exact && got as f64 <= exact as f64 * 1.001 + 1.0, "{got} against {exact}");
            }
            prop_assert_eq!(tallied.p999.is_some(), values.len() >= 1_000);
            prop_assert!(tallied.max == values[values.len() - 1] && tallied.n == values.len() as u64);
        }
    }
}
