//! Samples, some of which had not ended when the run did, to a distribution that a report can show.

use hustings_record::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Fewer samples than this have no 99th percentile: it would be the maximum under another name.
const P99_SAMPLES_MIN: u64 = 100;
/// Points of a curve that a picture can use.
const CURVE_POINTS_MAX: usize = 200;

/// A measured distribution with its shape, so that a plot needs no more than this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// Completed samples.
    pub n: u64,
    /// Samples that had not ended when the run did; they count as longer than anything measured.
    pub censored: u64,
    /// Samples that a stall covers too much of to be believed: they stand behind no figure here.
    #[serde(default)]
    pub void: u64,
    /// The shortest completed sample; 0 where there is none.
    pub min: Nanos,
    /// Quantiles: the shortest sample that at least this share of all is no longer than (the inverse of the empirical
    /// distribution function, type 1 of Hyndman and Fan 1996). Where samples are censored it is the inverse of Kaplan and
    /// Meier's estimate, and None where that does not reach so far. No p99 below 100 samples, censored ones included.
    pub p50: Option<Nanos>,
    pub p90: Option<Nanos>,
    pub p99: Option<Nanos>,
    /// The longest completed sample; 0 where there is none.
    pub max: Nanos,
    /// The mean of the completed samples; 0 where there is none.
    pub mean: Nanos,
    /// Points of the empirical distribution function: (value, fraction of all samples that are no longer), rising.
    /// At most 200.
    pub curve: Vec<(Nanos, f64)>,
}

/// How bad it gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// The 99th percentile; None where censoring hides it.
    P99(Option<Nanos>),
    /// The longest, of too few samples for a 99th percentile; of those that ended where some did not.
    Longest { of_ended: Nanos, all_ended: bool },
}

impl Distribution {
    /// How many samples are believed, whether they had ended or not.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.n + self.censored
    }

    /// Whether any of its samples is believed: of one whose samples are all void nothing is known but their number.
    #[must_use]
    pub fn has_samples(&self) -> bool {
        self.samples() > 0
    }

    /// Its 99th percentile, or the longest where it has none.
    #[must_use]
    pub fn tail(&self) -> Tail {
        if self.samples() >= P99_SAMPLES_MIN {
            Tail::P99(self.p99)
        } else {
            Tail::Longest { of_ended: self.max, all_ended: self.censored == 0 }
        }
    }
}

/// Durations of one kind: completed ones, and those cut off while still under way.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    completed: Vec<Nanos>,
    censored: Vec<Nanos>,
    void: u64,
}

impl Samples {
    pub fn push(&mut self, value: Nanos) {
        self.completed.push(value);
    }

    /// It had lasted this long when the run ended.
    pub fn censor(&mut self, value: Nanos) {
        self.censored.push(value);
    }

    /// There was one, and it cannot be believed.
    pub fn void(&mut self) {
        self.void += 1;
    }

    /// From `from` to `to`, where it ended (`happened`) or had not ended yet. What ends before it begins takes no time.
    pub fn take(&mut self, from: Nanos, to: Nanos, happened: bool) {
        let lasted = to.saturating_sub(from);
        if happened { self.push(lasted) } else { self.censor(lasted) }
    }

    /// Adds all of another kind's, each as it is.
    pub fn absorb(&mut self, other: Self) {
        self.completed.extend(other.completed);
        self.censored.extend(other.censored);
        self.void += other.void;
    }

    /// Those that ended, in rising order.
    #[must_use]
    pub fn sorted_completed(&self) -> Vec<Nanos> {
        let mut sorted = self.completed.clone();
        sorted.sort_unstable();
        sorted
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.completed.is_empty() && self.censored.is_empty() && self.void == 0
    }

    /// How long one usually is: the median, or the longest where censoring hides that; 0 without any.
    #[must_use]
    pub fn usual(self) -> Nanos {
        let longest = self.completed.iter().chain(&self.censored).copied().max();
        self.distribution().and_then(|d| d.p50).or(longest).unwrap_or(0)
    }

    /// The distribution; None without any sample. Where all are void it has their number alone. Its quantiles are samples, never the edges of a histogram: of the product-limit
    /// estimate of Kaplan and Meier (1958), which without censored samples is the empirical distribution function. `min`, `max`
    /// and `mean` are those of the completed samples, 0 where there is none.
    #[must_use]
    pub fn distribution(mut self) -> Option<Distribution> {
        if self.is_empty() {
            return None;
        }
        self.completed.sort_unstable();
        self.censored.sort_unstable();
        let values = &self.completed;
        let (min, max) = (values.first().copied().unwrap_or(0), values.last().copied().unwrap_or(0));
        let sum: u128 = values.iter().map(|&v| u128::from(v)).sum();
        let mean = sum.checked_div(values.len() as u128).map_or(0, |mean| Nanos::try_from(mean).unwrap_or(Nanos::MAX));
        let steps = product_limit(values, &self.censored);
        let [p50, p90, p99] = [0.5, 0.9, 0.99].map(|q| quantile(&steps, q));
        let (n, censored) = (values.len() as u64, self.censored.len() as u64);
        let p99 = p99.filter(|_| n + censored >= P99_SAMPLES_MIN);
        Some(Distribution { n, censored, void: self.void, min, p50, p90, p99, max, mean, curve: thin(steps) })
    }
}

/// Steps of the estimated distribution function: at each completed value, the fraction of all samples no longer than it.
/// A sample censored at a value counts as longer than it. Both slices are sorted.
fn product_limit(completed: &[Nanos], censored: &[Nanos]) -> Vec<(Nanos, f64)> {
    let mut steps: Vec<(Nanos, f64)> = Vec::new();
    let (mut longer, mut at) = (1.0, 0);
    while at < completed.len() {
        let value = completed[at];
        let next = at + completed[at..].partition_point(|&v| v == value);
        let gone = censored.partition_point(|&v| v < value);
        let at_risk = (completed.len() - at) + (censored.len() - gone);
        if censored.is_empty() {
            // The same figure without the rounding of many products.
            longer = (completed.len() - next) as f64 / completed.len() as f64;
        } else {
            longer *= 1.0 - (next - at) as f64 / at_risk as f64;
        }
        steps.push((value, 1.0 - longer));
        at = next;
    }
    steps
}

fn quantile(steps: &[(Nanos, f64)], q: f64) -> Option<Nanos> {
    steps.get(steps.partition_point(|&(_, share)| share < q - 1e-12)).map(|&(value, _)| value)
}

/// Keeps evenly spread steps, the first and the last among them.
fn thin(steps: Vec<(Nanos, f64)>) -> Vec<(Nanos, f64)> {
    if steps.len() <= CURVE_POINTS_MAX {
        return steps;
    }
    let last = steps.len() - 1;
    (0..CURVE_POINTS_MAX).map(|i| steps[i * last / (CURVE_POINTS_MAX - 1)]).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(completed: &[Nanos], censored: &[Nanos]) -> Distribution {
        Samples { completed: completed.to_vec(), censored: censored.to_vec(), void: 0 }.distribution().unwrap()
    }

    #[test]
    fn nothing_measured_is_no_distribution() {
        assert_eq!(Samples::default().distribution(), None);
    }

    #[test]
    fn of_samples_that_are_all_void_only_their_number_is_told() {
        let mut samples = Samples::default();
        samples.void();
        let void = samples.distribution().expect("there was one");
        assert_eq!((void.void, void.has_samples(), void.p50, void.curve.len()), (1, false, None, 0));
    }

    #[test]
    fn a_median_is_a_sample_and_no_edge_of_a_histogram() {
        assert_eq!(of(&[5_000_001, 5_000_003, 9_999_999], &[]).p50, Some(5_000_003));
    }

    #[test]
    fn censored_samples_hide_the_quantiles_they_reach() {
        let d = of(&[10, 20], &[30, 30]);
        assert_eq!((d.n, d.censored, d.p50, d.p90), (2, 2, Some(20), None));
        let d = of(&[], &[5]);
        assert_eq!((d.n, d.censored, d.p50, d.max), (0, 1, None, 0));
    }

    #[test]
    fn a_sample_censored_early_only_leaves_the_risk_set() {
        // At 10: 1 of 3 at risk (the one censored at 5 is gone); at 20: 1 of 2; at 30: 1 of 1.
        let d = of(&[10, 20, 30], &[5]);
        let shares: Vec<f64> = d.curve.iter().map(|c| c.1).collect();
        for (share, expected) in shares.iter().zip([1.0 / 3.0, 2.0 / 3.0, 1.0]) {
            assert!((share - expected).abs() < 1e-12);
        }
    }

    /// The share of samples longer than `t`, from the definition: a product over all distinct completed values.
    fn survival(completed: &[Nanos], censored: &[Nanos], t: Nanos) -> f64 {
        let mut distinct = completed.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        distinct.iter().filter(|&&v| v <= t).fold(1.0, |s, &v| {
            let died = completed.iter().filter(|&&c| c == v).count() as f64;
            let risk = completed.iter().chain(censored).filter(|&&c| c >= v).count() as f64;
            s * (1.0 - died / risk)
        })
    }

    proptest! {
        #[test]
        fn quantiles_are_the_samples_that_counting_finds(values in prop::collection::vec(0_u64..20_000_000_000, 1..300)) {
            let d = of(&values, &[]);
            prop_assert_eq!(d.p99.is_some(), values.len() >= 100);
            let n = values.len();
            // The least of the samples that `percent` of all are no longer than, in whole numbers.
            let counted = |percent: usize| {
                let reached = |v: &u64| values.iter().filter(|&&w| w <= *v).count() * 100 >= percent * n;
                values.iter().copied().filter(reached).min()
            };
            prop_assert_eq!((d.p50, d.p90), (counted(50), counted(90)));
            prop_assert_eq!(d.p99, counted(99).filter(|_| n >= 100));
            prop_assert_eq!((Some(d.min), Some(d.max)), (values.iter().copied().min(), values.iter().copied().max()));
            prop_assert!(d.curve.len() <= 200 && d.curve.is_sorted());
            prop_assert!((d.curve[d.curve.len() - 1].1 - 1.0).abs() < 1e-12);
        }

        #[test]
        fn what_is_put_together_is_the_distribution_of_the_union(
            parts in prop::collection::vec(
                (prop::collection::vec(0_u64..60, 0..40), prop::collection::vec(0_u64..60, 0..20), 0_u64..4), 1..6),
        ) {
            let mut pooled = Samples::default();
            for (completed, censored, void) in &parts {
                pooled.absorb(Samples { completed: completed.clone(), censored: censored.clone(), void: *void });
            }
            let completed: Vec<Nanos> = parts.iter().flat_map(|part| part.0.clone()).collect();
            let censored: Vec<Nanos> = parts.iter().flat_map(|part| part.1.clone()).collect();
            let Some(d) = pooled.distribution() else {
                prop_assert!(completed.is_empty() && censored.is_empty());
                return Ok(());
            };
            prop_assert_eq!((d.n, d.censored), (completed.len() as u64, censored.len() as u64));
            prop_assert_eq!(d.void, parts.iter().map(|part| part.2).sum::<u64>());
            // The least sample that at least this share outlives no more, sample by sample, by the definition.
            let quantile = |q: f64| {
                let reached = |t: &Nanos| 1.0 - survival(&completed, &censored, *t) >= q - 1e-9;
                completed.iter().copied().filter(reached).min()
            };
            prop_assert_eq!((d.p50, d.p90), (quantile(0.5), quantile(0.9)));
            prop_assert_eq!(d.p99, quantile(0.99).filter(|_| completed.len() + censored.len() >= 100));
            prop_assert_eq!((d.min, d.max), (
                completed.iter().copied().min().unwrap_or(0), completed.iter().copied().max().unwrap_or(0)));
        }

        #[test]
        fn kaplan_meier_agrees_with_its_definition(
            completed in prop::collection::vec(0_u64..40, 1..60),
            censored in prop::collection::vec(0_u64..40, 1..60),
        ) {
            let d = of(&completed, &censored);
            for &(t, share) in &d.curve {
                prop_assert!((1.0 - share - survival(&completed, &censored, t)).abs() < 1e-9);
            }
            let first = d.curve.iter().find(|c| c.1 >= 0.5 - 1e-12).map(|c| c.0);
            prop_assert_eq!(d.p50, first);
        }
    }
}
