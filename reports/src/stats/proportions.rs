//! Two shares: how far apart they are, and how likely that is by chance.

use statrs::distribution::{Binomial, ContinuousCDF as _, Discrete as _, DiscreteCDF as _, Hypergeometric, Normal};

/// The score interval of a share of `n` (Wilson 1927).
fn wilson(share: f64, n: f64, z: f64) -> (f64, f64) {
    let square = z * z;
    let middle = share + square / (2.0 * n);
    let half = z * (share * (1.0 - share) / n + square / (4.0 * n * n)).sqrt();
    ((middle - half) / (1.0 + square / n), (middle + half) / (1.0 + square / n))
}

/// How many of those that were seen fall to the new side by chance, and how many were seen.
fn dealt(base: (u64, u64), new: (u64, u64)) -> Option<(Hypergeometric, u64)> {
    let (all, seen) = (base.1 + new.1, base.0 + new.0);
    Some((Hypergeometric::new(all, seen, new.1).ok()?, seen))
}

/// Fisher's exact test, two-sided, of so many seen among so many on either side: the probability of all ways to deal out what was
/// seen that are no likelier than this one. 1 where there is nothing.
#[must_use]
pub fn fisher(base: (u64, u64), new: (u64, u64)) -> f64 {
    let Some((dealt, seen)) = dealt(base, new) else { return 1.0 };
    let this = dealt.pmf(new.0);
    let least = seen.saturating_sub(base.1);
    // Those that are as likely differ in their last digits.
    let as_far = (least..=seen.min(new.1)).map(|k| dealt.pmf(k)).filter(|p| *p <= this * (1.0 + 1e-9));
    as_far.sum::<f64>().min(1.0)
}

/// Fisher's exact test, one-sided: how likely it is that the new side has so many, or more, by chance.
#[must_use]
pub fn more_often(base: (u64, u64), new: (u64, u64)) -> f64 {
    let Some((dealt, seen)) = dealt(base, new) else { return 1.0 };
    (new.0..=seen.min(new.1)).map(|k| dealt.pmf(k)).sum::<f64>().min(1.0)
}

/// The sign test, two-sided: the probability that so many pairs or more fall to one side, and no more than the others to
/// the other, if either side is as likely. 1 where there is none.
#[must_use]
pub fn sign_test(one: u64, other: u64) -> f64 {
    Binomial::new(0.5, one + other).map_or(1.0, |fair| (2.0 * fair.cdf(one.min(other))).min(1.0))
}

/// An interval of probability 1 − `alpha` for how far the share of `new` lies above that of `base`, each with the number that it is
/// a share of: the hybrid of two score intervals (Newcombe 1998, his tenth). Of means of shares it is wider than it need be. None
/// where a side has nothing.
#[must_use]
pub fn difference(base: (f64, u64), new: (f64, u64), alpha: f64) -> Option<(f64, f64)> {
    if base.1 == 0 || new.1 == 0 {
        return None;
    }
    let z = Normal::standard().inverse_cdf(1.0 - alpha / 2.0);
    let (low, high) = wilson(base.0, base.1 as f64, z);
    let (new_low, new_high) = wilson(new.0, new.1 as f64, z);
    let apart = new.0 - base.0;
    Some((apart - (new.0 - new_low).hypot(high - base.0), apart + (new_high - new.0).hypot(base.0 - low)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_sign_test_is_the_tail_of_fair_coins() {
        let shares = [(6, 0, 2.0 / 64.0), (0, 6, 2.0 / 64.0), (5, 1, 14.0 / 64.0), (3, 3, 1.0), (0, 0, 1.0)];
        for (one, other, p) in shares {
            assert!((sign_test(one, other) - p).abs() < 1e-12, "{one} {other}");
        }
    }

    #[test]
    fn more_often_is_the_tail_of_the_hypergeometric_distribution() {
        // Four of ten against none: 210 of 4,845 ways to deal four out among twenty.
        assert!((more_often((0, 10), (4, 10)) - 210.0 / 4_845.0).abs() < 1e-12);
        assert!((more_often((4, 10), (0, 10)) - 1.0).abs() < 1e-12);
        assert!((more_often((0, 5), (0, 5)) - 1.0).abs() < 1e-12);
        assert!((more_often((0, 0), (0, 0)) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_difference_is_that_of_a_published_example() {
        // 56 of 70 against 48 of 80.
        let (low, high) = difference((0.6, 80), (0.8, 70), 0.05).unwrap();
        assert!((low - 0.0524).abs() < 5e-5 && (high - 0.3339).abs() < 5e-5, "{low} {high}");
        assert_eq!(difference((0.0, 0), (0.5, 2), 0.05), None);
    }

    #[test]
    fn a_tenth_of_a_side_is_found_among_eighty_and_one_of_them_is_not() {
        assert!(fisher((0, 80), (8, 80)) < 0.01);
        assert!(fisher((0, 80), (1, 80)) > 0.9);
        assert!((fisher((0, 0), (0, 3)) - 1.0).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn it_is_the_share_of_all_ways_to_deal_that_are_no_likelier(base in 1_usize..7, new in 1_usize..7, seen in 0_usize..9, here in 0_usize..7) {
            let (all, seen) = (base + new, seen.min(base + new));
            let here = here.clamp(seen.saturating_sub(base), seen.min(new));
            let mut ways = vec![0_u64; all + 1];
            for dealt in 0_u32..1 << all {
                // The first `seen` places hold what was seen.
                if dealt.count_ones() as usize == new {
                    ways[(dealt & ((1 << seen) - 1)).count_ones() as usize] += 1;
                }
            }
            let as_far: u64 = ways.iter().filter(|count| **count <= ways[here]).sum();
            let slow = as_far as f64 / ways.iter().sum::<u64>() as f64;
            let found = fisher(((seen - here) as u64, base as u64), (here as u64, new as u64));
            prop_assert!((found - slow).abs() < 1e-9, "{} {}", found, slow);
        }
    }
}
