//! How high a rate may be, given how often something was seen: a zero is worth the injections that stand behind it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::function::beta::beta_reg;

/// A count of what was looked for, with what stands behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rate {
    pub seen: u64,
    /// Opportunities (handovers) behind it.
    pub n: u64,
    /// Injections behind these: all that was planned for one moment is one, and so is what nobody planned and came together. Only
    /// injections are independent of each other.
    #[serde(default)]
    pub injections: u64,
    /// Injections in which it was seen at least once.
    #[serde(default)]
    pub bad_injections: u64,
    /// 95 % upper bound of the share of injections that show it (Clopper–Pearson; about 3/injections at zero); None without an
    /// injection.
    pub upper_95: Option<f64>,
}

impl Rate {
    /// Of cells that share no injection, together: the bound is that of all their injections.
    #[must_use]
    pub fn pooled(rates: impl IntoIterator<Item = Self>) -> Self {
        let mut all = rates.into_iter().fold(Self::default(), |all, rate| Self {
            seen: all.seen + rate.seen,
            n: all.n + rate.n,
            injections: all.injections + rate.injections,
            bad_injections: all.bad_injections + rate.bad_injections,
            upper_95: None,
        });
        all.upper_95 = upper_95(all.bad_injections, all.injections);
        all
    }
}

/// Opportunities, and what was seen of them, by the injection that each belongs to.
#[derive(Clone, Debug)]
pub struct Tally<S> {
    seen: u64,
    n: u64,
    /// Seen though no injection can be named: each is one of its own.
    strays: u64,
    /// Whether it was seen.
    injections: BTreeMap<S, bool>,
}

impl<S> Default for Tally<S> {
    fn default() -> Self {
        Self { seen: 0, n: 0, strays: 0, injections: BTreeMap::new() }
    }
}

impl<S: Ord> Tally<S> {
    /// It could have been seen once more.
    pub fn opportunity(&mut self, injection: S) {
        self.n += 1;
        self.injections.entry(injection).or_insert(false);
    }

    /// It was seen so often. Without an injection that is an opportunity and an injection of its own.
    pub fn saw(&mut self, times: u64, injection: Option<S>) {
        self.seen += times;
        match injection {
            Some(injection) => _ = self.injections.insert(injection, true),
            None => self.strays += 1,
        }
    }

    #[must_use]
    pub fn rate(&self) -> Rate {
        let injections = self.injections.len() as u64 + self.strays;
        let bad_injections = self.injections.values().filter(|bad| **bad).count() as u64 + self.strays;
        let upper_95 = upper_95(bad_injections, injections);
        Rate { seen: self.seen, n: self.n + self.strays, injections, bad_injections, upper_95 }
    }
}

/// The chance that is left to rates above the bound.
const LEFT: f64 = 0.05;
/// Halvings of the bracket: beyond the precision of f64.
const HALVINGS: u32 = 200;

/// One-sided 95 % upper bound of a rate (Clopper and Pearson 1934): the p at which seeing at most `seen` out of `n`
/// has a chance of 5 %. `1 − 0.05^(1/n)` at zero, about 3/n. None where `n` is 0.
#[must_use]
pub fn upper_95(seen: u64, n: u64) -> Option<f64> {
    if n == 0 {
        return None;
    }
    if seen >= n {
        return Some(1.0);
    }
    if seen == 0 {
        return Some(-(LEFT.ln() / n as f64).exp_m1());
    }
    let (mut low, mut high) = (seen as f64 / n as f64, 1.0);
    for _ in 0..HALVINGS {
        let p = f64::midpoint(low, high);
        // P(X ≤ seen) is the regularised incomplete beta function at 1 − p.
        if beta_reg((n - seen) as f64, seen as f64 + 1.0, 1.0 - p) > LEFT {
            low = p;
        } else {
            high = p;
        }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// P(X ≤ k) summed term by term, from the end where the terms do not vanish.
    fn at_most(k: u64, n: u64, p: f64) -> f64 {
        if p > 0.5 {
            return 1.0 - at_most(n - k - 1, n, 1.0 - p);
        }
        let mut term = (1.0 - p).powf(n as f64);
        let mut sum = term;
        for i in 0..k {
            term *= (n - i) as f64 / (i + 1) as f64 * p / (1.0 - p);
            sum += term;
        }
        sum
    }

    proptest! {
        #[test]
        fn the_bound_is_where_the_binomial_tail_is_five_percent(n in 1_u64..250, share in 0.0_f64..1.0) {
            let seen = ((n as f64) * share) as u64;
            let p = upper_95(seen, n).unwrap();
            prop_assume!(seen < n);
            prop_assert!((at_most(seen, n, p) - 0.05).abs() < 1e-6, "{seen} of {n}: {p}");
        }

        #[test]
        fn more_evidence_never_raises_the_bound(n in 1_u64..100_000, seen in 0_u64..50) {
            prop_assert!(upper_95(seen, n + 1000) <= upper_95(seen, n));
        }
    }

    #[test]
    fn zero_of_n_is_about_three_in_n() {
        assert!((upper_95(0, 1000).unwrap() - 0.002_991_2).abs() < 1e-6);
        assert_eq!(upper_95(0, 0), None);
        assert_eq!(upper_95(3, 3), Some(1.0));
    }

    #[test]
    fn what_one_injection_brought_counts_once() {
        let mut tally = Tally::default();
        (0..552).for_each(|_| tally.opportunity(1));
        let zero = tally.rate();
        assert_eq!((zero.seen, zero.n, zero.injections, zero.bad_injections), (0, 552, 1, 0));
        assert!((zero.upper_95.unwrap() - 0.95).abs() < 1e-9);
        tally.opportunity(2);
        tally.saw(40, Some(1));
        tally.saw(3, None);
        let rate = tally.rate();
        assert_eq!((rate.seen, rate.n, rate.injections, rate.bad_injections), (43, 554, 3, 2));
        assert_eq!(rate.upper_95, upper_95(2, 3));
    }

    #[test]
    fn a_pooled_zero_is_worth_all_injections_and_no_more() {
        let zero =
            |n, injections| Rate { seen: 0, n, injections, bad_injections: 0, upper_95: upper_95(0, injections) };
        let pooled = Rate::pooled([zero(552, 1), zero(300, 1), zero(0, 0)]);
        assert_eq!((pooled.seen, pooled.n, pooled.injections), (0, 852, 2));
        assert_eq!(pooled.upper_95, upper_95(0, 2));
        assert_eq!(Rate::pooled([]), Rate::default());
    }

    #[test]
    fn half_a_million_writes_are_no_trouble() {
        let p = upper_95(1234, 500_000).unwrap();
        assert!(p > 0.002_468 && p < 0.002_6, "{p}");
    }
}
