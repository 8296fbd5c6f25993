//! What was measured of the expiry curve, by length of pause, with how sure that is.

use hustings_record::numbers::whole;
use serde::Serialize;
use statrs::function::beta::checked_beta_reg;

use super::curve::{Curve, PausedSession};
use super::solve::crossing;

/// The width of a band, as a part of T.
const WIDTH_OF_T: f64 = 0.1;
/// The chance that is left beyond each end of an interval.
const LEFT: f64 = 0.025;

/// Pauses of about one length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Band {
    /// As parts of T.
    pub from: f64,
    pub to: f64,
    /// Sessions that met such a pause, and how many of them it expired.
    pub sessions: usize,
    pub expired: usize,
    /// 95 % interval of the share that is expired (Clopper and Pearson 1934, by the beta distribution); sessions are worth the less
    /// the more they share a pause.
    pub low: f64,
    pub high: f64,
    /// What the fitted curve and the model say of the same pauses, on average.
    pub fitted: f64,
    pub model: f64,
}

/// The bands of these pairs, in order; those without a session are left out.
#[must_use]
pub fn bands(pairs: &[PausedSession], curve: &Curve) -> Vec<Band> {
    let design_effect = if let Curve::Measured(fitted) = curve { fitted.design_effect } else { 1.0 };
    let of_t = |pair: &PausedSession| pair.pause_ms / pair.setting.timeout_ms;
    // Pauses are a little longer than they were meant to be: one of 0.7 T belongs to the band around that.
    let place = |pair: &PausedSession| whole((of_t(pair) / WIDTH_OF_T).round());
    let mut places: Vec<u64> = pairs.iter().map(place).collect();
    places.sort_unstable();
    places.dedup();
    let band = |at: u64| {
        let here: Vec<&PausedSession> = pairs.iter().filter(|pair| place(pair) == at).collect();
        let (n, k) = (here.len() as f64, here.iter().filter(|pair| pair.expired).count());
        let (low, high) = interval(k as f64 / design_effect, n / design_effect);
        let mean = |share: &dyn Fn(&PausedSession) -> f64| here.iter().map(|pair| share(pair)).sum::<f64>() / n;
        Band {
            from: (at as f64 - 0.5) * WIDTH_OF_T,
            to: (at as f64 + 0.5) * WIDTH_OF_T,
            sessions: here.len(),
            expired: k,
            low,
            high,
            fitted: mean(&|pair| curve.expired_share(&pair.setting, pair.pause_ms)),
            model: mean(&|pair| pair.setting.expired_share(pair.pause_ms)),
        }
    };
    places.into_iter().map(band).collect()
}

/// Where the true share lies if k of n were seen. n and k need not be whole.
fn interval(k: f64, n: f64) -> (f64, f64) {
    let beyond = |a: f64, b: f64, p: f64| 1.0 - checked_beta_reg(a, b, p).unwrap_or(f64::NAN);
    let low = if k <= 0.0 { 0.0 } else { crossing(0.0, 1.0, 1.0 - LEFT, |p| beyond(k, n - k + 1.0, p)) };
    let high = if k >= n { 1.0 } else { crossing(0.0, 1.0, LEFT, |p| beyond(k + 1.0, n - k, p)) };
    (low, high)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tune::setting::{Client, ExpirySettings};

    /// P(X ≥ k) of a binomial variable, term by term.
    fn at_least(k: u32, n: u32, p: f64) -> f64 {
        let chance = |i: u32| {
            let ways: f64 = (0..i).map(|j| f64::from(n - j) / f64::from(j + 1)).product();
            ways * p.powi(i as i32) * (1.0 - p).powi((n - i) as i32)
        };
        (k..=n).map(chance).sum()
    }

    proptest! {
        #[test]
        fn the_ends_are_where_the_binomial_tails_are_a_fortieth(n in 1_u32..40, share in 0.0_f64..=1.0) {
            let k = (f64::from(n) * share).round() as u32;
            let (low, high) = interval(f64::from(k), f64::from(n));
            if k > 0 {
                prop_assert!((at_least(k, n, low) - 0.025).abs() < 1e-7, "{k} of {n}: {low}");
            }
            if k < n {
                prop_assert!((1.0 - at_least(k + 1, n, high) - 0.025).abs() < 1e-7, "{k} of {n}: {high}");
            }
            prop_assert!(low <= f64::from(k) / f64::from(n) && f64::from(k) / f64::from(n) <= high);
        }
    }

    #[test]
    fn pauses_of_about_one_length_are_one_band() {
        let setting = ExpirySettings::of(Client::Rust, 1_000.0, 200.0, 1.0);
        let pair = |pause_ms, expired| PausedSession { setting, pause_ms, expired, injection: 1 };
        let pairs = [pair(701.0, false), pair(702.5, false), pair(1_003.0, true), pair(998.0, false)];
        let bands = bands(&pairs, &Curve::Model);
        let seen: Vec<_> = bands.iter().map(|band| (band.sessions, band.expired)).collect();
        assert_eq!(seen, [(2, 0), (2, 1)]);
        assert!(bands[0].from < 0.7 && 0.7 < bands[0].to && bands[0].low == 0.0 && bands[0].high > 0.7);
        assert_eq!((bands[0].model, bands[0].fitted), (0.0, 0.0));
    }
}
