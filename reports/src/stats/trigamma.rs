//! The variance of the logarithm of a gamma variate, and what has such a one.

/// From here on the asymptotic series has all digits.
const LARGE: f64 = 10.0;
/// Steps of Newton's method, which converges from below within a few.
const STEPS_MAX: u32 = 50;

/// The second derivative of ln Γ, of a positive number (Abramowitz and Stegun 6.4.6 and 6.4.12).
#[must_use]
pub fn trigamma(x: f64) -> f64 {
    let (mut x, mut below) = (x, 0.0);
    while x < LARGE {
        below += x.powi(-2);
        x += 1.0;
    }
    let square = x.powi(-2);
    let series = 1.0 / 6.0 - square * (1.0 / 30.0 - square * (1.0 / 42.0 - square / 30.0));
    below + x.recip() + square / 2.0 + square / x * series
}

/// The third one, negative everywhere (6.4.11).
fn tetragamma(x: f64) -> f64 {
    let (mut x, mut below) = (x, 0.0);
    while x < LARGE {
        below -= 2.0 * x.powi(-3);
        x += 1.0;
    }
    let square = x.powi(-2);
    below - square - square / x - square.powi(2) * (0.5 - square * (1.0 / 6.0 - square / 6.0))
}

/// Where [`trigamma`] has this value, which is positive: by Newton's method on its reciprocal, which is nearly a straight line
/// (Smyth 2004, appendix).
#[must_use]
pub fn inverse_trigamma(value: f64) -> f64 {
    let mut x = 0.5 + value.recip();
    for _ in 0..STEPS_MAX {
        let at = trigamma(x);
        let step = at * (1.0 - at / value) / tetragamma(x);
        x += step;
        if step.abs() <= 1e-12 * x {
            break;
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use proptest::prelude::*;
    use statrs::function::gamma::digamma;

    use super::*;

    #[test]
    fn it_has_the_values_of_the_tables() {
        for (x, value) in [(1.0, PI * PI / 6.0), (0.5, PI * PI / 2.0), (2.0, PI * PI / 6.0 - 1.0)] {
            assert!((trigamma(x) - value).abs() < 1e-12, "{x}: {}", trigamma(x));
        }
    }

    proptest! {
        #[test]
        fn it_is_how_the_digamma_function_rises(x in 0.05_f64..50.0) {
            let h = 1e-4 * x;
            let slope = (digamma(x + h) - digamma(x - h)) / (2.0 * h);
            prop_assert!((trigamma(x) / slope - 1.0).abs() < 1e-5, "{} {slope}", trigamma(x));
            let bend = (trigamma(x + h) - trigamma(x - h)) / (2.0 * h);
            prop_assert!((tetragamma(x) / bend - 1.0).abs() < 1e-5, "{} {bend}", tetragamma(x));
        }

        #[test]
        fn its_inverse_leads_back(x in 0.01_f64..1_000.0) {
            prop_assert!((inverse_trigamma(trigamma(x)) / x - 1.0).abs() < 1e-6);
        }
    }
}
