//! Shares of the leads of injections, which medians do not show: for example, one lead in five that is taken over slowly
//! or by nobody.

use super::round_variance::two_sided;
use super::rounds::{ROUNDING, RoundValues, mean, variance};
use crate::stats::proportions::{difference, sign_test};
use crate::stats::rank_sum::{Shift, shift};

/// The difference of the sides. None where a side has no injections, or all values are 0.
pub(super) fn found(values: &RoundValues, alpha: f64) -> Option<Shift> {
    let (base, new) = values.all();
    if base.iter().chain(&new).all(|value| *value == 0.0) {
        return None;
    }
    let interval = difference((mean(&base), base.len() as u64), (mean(&new), new.len() as u64), alpha);
    let p = shift(&base, &new, alpha)?.p;
    Some(Shift { p, estimate: mean(&new) - mean(&base), interval: Some(interval?) })
}

/// A direction of the rounds is chance if it has at least this probability (sign test).
const SIGN_ALPHA: f64 = 0.05;

/// Which rounds show a difference in its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RoundsShowing {
    /// Most of all; or, where it is rare, so many of those in which the sides differ that it is no chance.
    Most,
    /// Several, and more than show the opposite.
    Few,
    /// One outlier of several, or as many as show the opposite.
    Outlier,
}

/// Which of the rounds that both sides have show a difference in this direction. What happens at one moment, such as a
/// burst of load, is in one round, and a few of them may fall to one side by chance. So most rounds must show it, and
/// their differences must be told from chance by how much they scatter.
pub(super) fn rounds_showing(values: &RoundValues, estimate: f64) -> RoundsShowing {
    let apart: Vec<f64> = values.means().map(|(base, new)| (new - base) * estimate.signum()).collect();
    let count = |is: &dyn Fn(f64) -> bool| apart.iter().filter(|above| is(**above)).count() as u64;
    let (alike, against) = (count(&|above| above > ROUNDING), count(&|above| above < -ROUNDING));
    let is_in_most = 2 * alike > apart.len() as u64 && is_no_chance(&apart);
    if is_in_most || (alike > against && sign_test(alike, against) < SIGN_ALPHA) {
        RoundsShowing::Most
    } else if alike > 1 && alike > against {
        RoundsShowing::Few
    } else {
        RoundsShowing::Outlier
    }
}

/// Whether the differences of the rounds have a mean that their scatter does not explain (Student's t). Two rounds scatter
/// too little to say.
fn is_no_chance(apart: &[f64]) -> bool {
    let rounds = apart.len() as f64;
    apart.len() < 3 || mean(apart).abs() > two_sided(rounds - 1.0, SIGN_ALPHA) * (variance(apart) / rounds).sqrt()
}

#[cfg(test)]
mod tests {
    use super::RoundsShowing::{Few, Most, Outlier};
    use super::*;

    /// Rounds in which the means of the sides differ by so much.
    fn rounds(apart: &[f64]) -> RoundValues {
        let side = |by: f64| (1..).zip(apart).map(|(round, apart)| (round, vec![1.0 + by * apart; 3])).collect();
        RoundValues::new(side(0.0), side(1.0))
    }

    #[test]
    fn most_rounds_show_a_difference_or_nearly_all_of_those_that_show_any() {
        let rare = |shown: usize| [vec![0.1; shown], vec![0.0; 40 - shown]].concat();
        for (apart, is_so) in [
            (vec![0.5], Most),
            (vec![0.0, 0.5], Outlier),
            (vec![0.5, 0.4, 0.3, 0.0, 0.2], Most),
            // Two bursts of load on one side, of five rounds; and the same as they were seen.
            (vec![0.5, 0.1, 0.3, 0.0, 0.0], Few),
            (vec![0.45, -0.03, 0.03, 0.0, 0.67], Few),
            (vec![0.0, 0.0, 0.9, 0.0, 0.0], Outlier),
            (vec![0.0, 0.5, 0.0, 0.5, 0.0], Few),
            (vec![-0.1, 0.5, 0.0, 0.5, 0.0], Few),
            (vec![-0.1, 0.5, -0.1, 0.5, 0.0], Outlier),
            (vec![1e-12, 0.5, 0.0, 0.0, 0.0], Outlier),
            // Six of six are one of 32 by chance, five of five one of 16.
            (rare(6), Most),
            (rare(5), Few),
        ] {
            assert_eq!(rounds_showing(&rounds(&apart), 1.0), is_so, "{apart:?}");
            let turned: Vec<f64> = apart.iter().map(|by| -by).collect();
            assert_eq!(rounds_showing(&rounds(&turned), -1.0), is_so, "{turned:?}");
        }
    }
}
