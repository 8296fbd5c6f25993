//! Between-round variance: effects that the injections of a cell share, such as candidate placement, the server of each
//! session, and machine load. They change the difference of the two sides from round to round, and more injections per
//! round do not reduce that. Effects on both sides of a round, such as warmer servers, are no difference between them.

use statrs::distribution::{ContinuousCDF as _, StudentsT};
use statrs::function::gamma::digamma;

use super::rounds::{RoundValues, mean, variance};
use crate::stats::{inverse_trigamma, trigamma};

/// More rounds than this are impractical.
const ROUNDS_MAX: u32 = 1_000;

/// How far the new side lies above the base in each round, in logarithms of the injections' values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RoundVariance {
    rounds: f64,
    mean: f64,
    /// Of one round.
    variance: f64,
}

impl RoundVariance {
    /// From the rounds that both sides have. None for fewer than two, which show no between-round variance, or where
    /// most values have no logarithm.
    pub(super) fn of(values: &RoundValues) -> Option<Self> {
        let above = values.shifts().filter(|above| above.len() > 1)?;
        Some(Self { rounds: above.len() as f64, mean: mean(&above), variance: variance(&above) })
    }

    fn freedom(&self) -> f64 {
        self.rounds - 1.0
    }

    /// The 1 − alpha interval of how far the new side lies above the base, as a share of the base. It is by Student's t
    /// over the rounds, with a variance moderated by others of the call.
    pub(super) fn interval(&self, others: &Prior, alpha: f64) -> (f64, f64) {
        let (freedom, error) = self.moderated(others);
        let t = two_sided(freedom, alpha);
        ((self.mean - t * error).exp_m1(), (self.mean + t * error).exp_m1())
    }

    /// The two-sided p-value of the rounds' difference if the sides are equal, by the same test.
    pub(super) fn p(&self, others: &Prior) -> f64 {
        let (freedom, error) = self.moderated(others);
        if error == 0.0 {
            return if self.mean == 0.0 { 1.0 } else { 0.0 };
        }
        StudentsT::new(0.0, 1.0, freedom).map_or(1.0, |t| 2.0 * t.sf((self.mean / error).abs()))
    }

    /// The number of rounds of this variance that gives an interval within `margin`, a logarithm, with room for a shift
    /// of `room` standard errors. None: an impractical number.
    pub(super) fn rounds_wanted(&self, others: &Prior, (margin, room): (f64, f64), alpha: f64) -> Option<f64> {
        let (_, error) = self.moderated(others);
        let scatter = error * self.rounds.sqrt();
        (2..ROUNDS_MAX).map(f64::from).find(|rounds| {
            let t = two_sided(rounds - 1.0 + others.freedom, alpha);
            (t + room) * scatter / rounds.sqrt() <= margin
        })
    }

    /// The degrees of freedom, and the standard error of the mean.
    fn moderated(&self, others: &Prior) -> (f64, f64) {
        let freedom = self.freedom() + others.freedom;
        let variance = (self.freedom() * self.variance + others.freedom * others.variance) / freedom;
        (freedom, (variance / self.rounds).sqrt())
    }
}

/// The two-sided critical value of Student's t at alpha.
pub(super) fn two_sided(freedom: f64, alpha: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |t| t.inverse_cdf(1.0 - alpha / 2.0))
}

/// The between-round variance of a whole call. A few rounds estimate their own variance poorly. By Smyth (2004) each
/// variance is shrunk towards that of all, the less the more they differ from each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Prior {
    variance: f64,
    /// Its weight beside a variance's own degrees of freedom; 0 without data to learn from.
    freedom: f64,
}

impl Prior {
    /// For a comparison without others.
    pub(super) const NONE: Self = Self { variance: 0.0, freedom: 0.0 };

    /// Fitted by the moments of the logarithms of the variances, which follow Fisher's z.
    pub(super) fn of(all: &[RoundVariance]) -> Self {
        // A variance of zero has no logarithm.
        let (logs, freedoms): (Vec<f64>, Vec<f64>) = all
            .iter()
            .filter(|round_variance| round_variance.variance > 0.0)
            .map(|round_variance| {
                (
                    round_variance.variance.ln() - digamma(round_variance.freedom() / 2.0)
                        + (round_variance.freedom() / 2.0).ln(),
                    round_variance.freedom(),
                )
            })
            .unzip();
        if logs.len() < 2 {
            return Self::NONE;
        }
        let (mean, scatter) = (mean(&logs), variance(&logs));
        let by_chance = freedoms.iter().map(|freedom| trigamma(freedom / 2.0)).sum::<f64>() / freedoms.len() as f64;
        // The prior weighs no more than all the data behind it.
        let most = freedoms.iter().sum();
        if scatter <= by_chance {
            return Self { variance: mean.exp(), freedom: most };
        }
        let half = inverse_trigamma(scatter - by_chance);
        Self { variance: (mean + digamma(half) - half.ln()).exp(), freedom: (2.0 * half).min(most) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_variance(base: &[f64], new: &[f64]) -> Option<RoundVariance> {
        let cells = |medians: &[f64]| (1..).zip(medians.iter().map(|median| vec![*median])).collect::<Vec<_>>();
        RoundVariance::of(&RoundValues::new(cells(base), cells(new)))
    }

    #[test]
    fn one_round_tells_nothing_of_its_round_variance() {
        assert_eq!(round_variance(&[1.0], &[1.0, 1.1]), None);
        assert_eq!(round_variance(&[1.0, 0.0], &[1.0, 1.1]), None, "nothing has no logarithm");
    }

    #[test]
    fn rounds_that_scatter_leave_a_wide_interval_and_rounds_that_agree_a_narrow_one() {
        let interval = |base: &[f64], new: &[f64]| round_variance(base, new).unwrap().interval(&Prior::NONE, 0.05);
        let (low, high) = interval(&[100.0, 150.0, 110.0, 140.0], &[120.0, 130.0, 140.0, 130.0]);
        assert!(low < -0.15 && high > 0.3, "{low} {high}");
        let (low, high) = interval(&[100.0, 150.0, 110.0, 140.0], &[120.0, 181.0, 131.0, 168.5]);
        assert!(low > 0.18 && high < 0.22, "what both sides of a round share is no round_variance: {low} {high}");
    }

    /// By the textbook: mean 1, variance 4/3 of four rounds; t of 3 degrees is 3.182.
    #[test]
    fn the_interval_is_student_s() {
        let new = [0.0, 0.0, 2.0, 2.0].map(f64::exp);
        let (low, high) = round_variance(&[1.0; 4], &new).unwrap().interval(&Prior::NONE, 0.05);
        let wide = 3.182_446 * (4.0_f64 / 3.0 / 4.0).sqrt();
        assert!(
            (low.ln_1p() - (1.0 - wide)).abs() < 1e-5 && (high.ln_1p() - (1.0 + wide)).abs() < 1e-5,
            "{low} {high}"
        );
    }

    #[test]
    fn p_is_alpha_where_the_interval_ends_at_no_difference() {
        let found = round_variance(&[1.0; 4], &[0.0, 0.0, 2.0, 2.0].map(f64::exp)).unwrap();
        let p = found.p(&Prior::NONE);
        let (low, _) = found.interval(&Prior::NONE, p);
        assert!(p > 0.05 && p < 0.5 && low.abs() < 1e-5, "{p} {low}");
        assert_eq!(round_variance(&[1.0; 4], &[1.0; 4]).unwrap().p(&Prior::NONE), 1.0);
        assert_eq!(round_variance(&[1.0; 4], &[2.0; 4]).unwrap().p(&Prior::NONE), 0.0);
    }

    /// Five variances of four degrees of freedom each, all about one: another one is shrunk towards them.
    #[test]
    fn a_variance_by_few_rounds_is_drawn_towards_those_of_all() {
        let of = |variance: f64| RoundVariance { rounds: 5.0, mean: 0.0, variance };
        let alike = Prior::of(&[0.5, 0.9, 1.0, 1.3, 1.6].map(of));
        assert!(alike.freedom == 20.0 && (0.9..1.6).contains(&alike.variance), "{alike:?}");
        let unlike = Prior::of(&[0.001, 0.03, 1.0, 20.0, 500.0].map(of));
        assert!(unlike.freedom < 1.0, "nobody is like the others: {unlike:?}");
        assert_eq!(Prior::of(&[of(1.0), of(0.0)]).freedom, 0.0, "one alone is no prior");
        let (alone, beside) = (of(0.1).interval(&Prior::NONE, 0.05), of(0.1).interval(&alike, 0.05));
        assert!(beside.1 > alone.1, "lucky rounds are believed less: {alone:?} {beside:?}");
    }
}
