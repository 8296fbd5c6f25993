//! Voiding by stalls must not move the median: the same share of short and of long failovers must be voided.

use crate::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The median of the failovers, in milliseconds.
const MEDIAN: f64 = 200.0;
/// Failovers of a cell, one per group; and the number of cells whose medians are averaged.
const FAILOVERS: u32 = 700;
const CELLS: u64 = 12;

/// The start and the end of a stall.
type StallSpan = (f64, f64);

/// The stalls of a cell, and the spread of its failovers.
#[derive(Clone, Copy, Debug)]
struct StallModel {
    /// Standard deviation of the logarithms of the lengths.
    sigma: f64,
    /// The least length of a stall, and the mean addition to it.
    stall: (f64, f64),
    /// Whether failovers wait while the process stalls; otherwise they go on.
    adds: bool,
}

fn exponential(random: &mut ChaCha8Rng, mean: f64) -> f64 {
    -mean * (1.0 - random.random::<f64>()).ln()
}

/// Normal variables by Box and Muller, from points that fill the square evenly (Roberts 2018), starting at a random
/// one. Every sequence of them has short and long ones, so that few points show what many independent ones would.
fn normal(start: (f64, f64), place: u32) -> f64 {
    let at = |start: f64, step: f64| (start + f64::from(place) * step).fract();
    let (u, v) = (1.0 - at(start.0, 0.754_877_666_246_692_7), at(start.1, 0.569_840_290_998_053_2));
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// The stalls, from 5 s to 75 s.
fn stalls(random: &mut ChaCha8Rng, model: StallModel) -> Vec<StallSpan> {
    let (mut stalls, mut at) = (Vec::new(), 5_000.0);
    while at < 75_000.0 {
        let from = at + exponential(random, 5.0 * MEDIAN);
        at = from + model.stall.0 + exponential(random, model.stall.1);
        stalls.push((from.round(), at.round()));
    }
    stalls
}

/// When an action of this length is done.
fn done(at: f64, length: f64, stalls: &[StallSpan], adds: bool) -> f64 {
    let waits = |end: f64, &(from, to): &StallSpan| if to > at && from < end { end + to - from.max(at) } else { end };
    if adds { stalls.iter().fold(at + length, waits) } else { at + length }
}

/// The least of these that at least half of them do not exceed.
fn median(mut lengths: Vec<f64>) -> f64 {
    lengths.sort_by(f64::total_cmp);
    lengths[(lengths.len() - 1) / 2]
}

/// The earlier rule: a sample was void if one stall took more than a quarter of its own length.
fn is_void_by_own_length((from, to): StallSpan, stalls: &[StallSpan]) -> bool {
    stalls.iter().any(|stall| 4.0 * (stall.1.min(to) - stall.0.max(from)) > to - from)
}

/// The mean distance between the medians of the remaining samples and the true ones: by the summary, and by the rule of
/// the own length. Also the remaining share.
fn shifts(model: StallModel) -> (f64, f64, f64) {
    let (mut shown, mut by_length, mut left) = (0.0, 0.0, 0.0);
    for seed in 0..CELLS {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (stalls, start) = (stalls(&mut random, model), (random.random(), random.random()));
        let mut cell = Cell::new("predecessor-watch", FAILOVERS, 3, FaultKind::Resign);
        let (mut lengths, mut believed) = (Vec::new(), Vec::new());
        for group in 0..FAILOVERS {
            let at = 11_000 + u64::from(group) * 55_000 / u64::from(FAILOVERS);
            let length = (MEDIAN * (model.sigma * normal(start, group)).exp()).round().max(5.0);
            let (from, to) = (at as f64, done(at as f64, length, &stalls, model.adds));
            resign(&mut cell, group, at, to as u64);
            lengths.push(length);
            believed.extend((!is_void_by_own_length((from, to), &stalls)).then_some(to - from));
        }
        let told = stalls.iter().map(|stall| Event::Stall {
            from: ms(stall.0 as u64),
            to: ms(stall.1 as u64),
            ran_ns: 0,
            program: false,
        });
        cell.host(1).extend(told);
        let whole = cell.summary().failover.whole.expect("there are failovers");
        assert_eq!((whole.n + whole.void, whole.censored), (u64::from(FAILOVERS), 0));
        let truth = median(lengths);
        shown += whole.p50.expect("a median") as f64 / 1e6 / truth - 1.0;
        by_length += median(believed) / truth - 1.0;
        left += whole.n as f64 / f64::from(FAILOVERS);
    }
    let cells = CELLS as f64;
    (shown / cells, by_length / cells, left / cells)
}

/// Host 0 resigns at `at`, and host 1 leads from `to` on.
fn resign(cell: &mut Cell, group: u32, at: u64, to: u64) {
    cell.inject(FaultKind::Resign, 0, &[group], at, None);
    let node = cell.node(group, 0);
    cell.revoke(group, 0, at, RevokeReason::Resigned);
    cell.left(group, 0, at + 2, Departure::Resigned { delete: Some((ms(at), ms(at + 1))) });
    cell.own(group, 1, at + 1);
    cell.wake(group, &node, at + 2);
    cell.lead(group, 1, to);
}

#[test]
fn stalls_leave_the_median_where_it_is_whether_they_add_to_failovers_or_not() {
    let third = MEDIAN / 3.0;
    for sigma in [0.5, 1.0] {
        for stall in [(third, third / 3.0), (third, 1.2 * third)] {
            for adds in [true, false] {
                let model = StallModel { sigma, stall, adds };
                let (shown, _, left) = shifts(model);
                assert!(shown.abs() <= 0.02, "{shown:+.4} with {left:.2} left of {model:?}");
                assert!(left > 0.5, "{left:.2} left of {model:?}");
            }
        }
    }
}

#[test]
fn a_rule_by_the_own_length_of_samples_favours_long_ones() {
    let third = MEDIAN / 3.0;
    for adds in [true, false] {
        let (_, by_length, _) = shifts(StallModel { sigma: 1.0, stall: (third, third / 3.0), adds });
        assert!(by_length > 0.02, "{by_length:+.4} with {adds}");
    }
}
