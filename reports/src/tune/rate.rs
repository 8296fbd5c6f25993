//! How many false failovers a week a timeout costs, and how far that is known.

use hustings_record::numbers::{to_usize, whole};
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;
use serde::Serialize;

use super::curve::Curve;
use super::incidents::{Incident, days, incidents};
use super::pauses::PauseLog;
use super::poisson::bounds;
use super::setting::ExpirySettings;

/// Samples that are drawn of days and curves; fewer where there are very many pauses.
const DRAWS_MAX: usize = 1_000;
const DRAWS_MIN: usize = 100;
/// Pauses that are looked at in all of these together.
const LOOKS_MAX: usize = 10_000_000;
/// Of more days, each comes as often as a Poisson variable says: so it is in the limit.
const DAYS_DRAWN_MAX: u64 = 2_000;
/// What is left beyond each end of the interval.
const LEFT: f64 = 0.05;

/// False failovers a week: sessions of a leader that a pause expires, though nothing had died.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FalseFailovers {
    /// The sum of the chances of all incidents, a week.
    pub per_week: f64,
    /// 95 % bounds, each one-sided: the wider one of what drawing days and curves anew gives, and of the exact Poisson bound of the
    /// incidents beyond the curve's midpoint.
    pub low: f64,
    pub high: f64,
    /// Incidents with a pause that expires every other session, or more.
    pub beyond_midpoint: u64,
    /// Incidents that could expire a session at all.
    pub incidents: usize,
}

/// What the pauses of a log, of so many weeks, cost.
pub(super) fn false_failovers(
    log: &PauseLog,
    weeks: f64,
    setting: &ExpirySettings,
    curve: &Curve,
    seed: u64,
) -> FalseFailovers {
    let incidents = incidents(log, setting.timeout_ms, curve.limits_ms(setting).0);
    let per_week = incidents.iter().map(|incident| chance(incident, setting, curve)).sum::<f64>() / weeks;
    let midpoint = curve.midpoint_ms(setting);
    let beyond = incidents.iter().filter(|incident| incident.pauses_ms.iter().any(|ms| *ms > midpoint)).count() as u64;
    let exact = bounds(beyond);
    let drawn = drawn(&incidents, days(log), weeks, setting, curve, seed);
    let at = |share: f64| drawn.get(to_usize(whole(share * drawn.len() as f64))).copied().unwrap_or(0.0);
    FalseFailovers {
        per_week,
        low: at(LEFT).min(exact.low / weeks).min(per_week),
        high: at(1.0 - LEFT).max(exact.high / weeks).max(per_week),
        beyond_midpoint: beyond,
        incidents: incidents.len(),
    }
}

/// The chance that an incident expires a session: each of its pauses may.
fn chance(incident: &Incident, setting: &ExpirySettings, curve: &Curve) -> f64 {
    1.0 - incident.pauses_ms.iter().map(|ms| 1.0 - curve.expired_share(setting, *ms)).product::<f64>()
}

/// What other weeks of the same kind could have shown, by curves that may as well be true: sorted. Days are drawn whole, for what is
/// wrong on one day mostly hits several times; where there are no days, each incident comes as often as a Poisson variable says.
fn drawn(
    incidents: &[Incident],
    days: Option<u64>,
    weeks: f64,
    setting: &ExpirySettings,
    curve: &Curve,
    seed: u64,
) -> Vec<f64> {
    if incidents.is_empty() {
        return Vec::new();
    }
    let pauses: usize = incidents.iter().map(|incident| incident.pauses_ms.len()).sum();
    let draws = (LOOKS_MAX / pauses.max(1)).clamp(DRAWS_MIN, DRAWS_MAX);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let timed = days.filter(|_| incidents.iter().all(|incident| incident.day.is_some()));
    let mut all: Vec<f64> = (0..draws)
        .map(|_| {
            let curve = curve.draw(&mut rng);
            let total = match timed {
                Some(days) => days_anew(incidents, days, setting, &curve, &mut rng),
                None => incidents.iter().map(|i| f64::from(poisson_1(&mut rng)) * chance(i, setting, &curve)).sum(),
            };
            total / weeks
        })
        .collect();
    all.sort_unstable_by(f64::total_cmp);
    all
}

/// As many days as there were, each of them any one.
fn days_anew(incidents: &[Incident], days: u64, setting: &ExpirySettings, curve: &Curve, rng: &mut ChaCha8Rng) -> f64 {
    // Days on which something was; all others are one kind.
    let mut of_days: Vec<(u64, f64)> = Vec::new();
    for incident in incidents {
        let day = incident.day.unwrap_or_default();
        let chance = chance(incident, setting, curve);
        match of_days.last_mut() {
            Some((last, sum)) if *last == day => *sum += chance,
            _ => of_days.push((day, chance)),
        }
    }
    let days = days.max(of_days.len() as u64);
    if days > DAYS_DRAWN_MAX {
        return of_days.iter().map(|(_, sum)| f64::from(poisson_1(rng)) * sum).sum();
    }
    let one = |rng: &mut ChaCha8Rng| {
        let which = rng.random_range(0..days);
        of_days.get(usize::try_from(which).unwrap_or(usize::MAX)).map_or(0.0, |(_, sum)| *sum)
    };
    (0..days).map(|_| one(rng)).sum()
}

/// A Poisson variable of mean 1, by counting how many uniforms it takes until their product falls below 1/e.
fn poisson_1(rng: &mut ChaCha8Rng) -> u32 {
    let (mut product, mut count) = (rng.random::<f64>(), 0);
    while product > (-1.0_f64).exp() {
        product *= rng.random::<f64>();
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tune::pauses::{Coverage, Pause};
    use crate::tune::setting::Client;

    const DAY_MS: u64 = 86_400_000;

    fn log(pauses: &[(Option<u64>, u64)], days: Option<u64>) -> PauseLog {
        let pause = |(ended, lasted): &(Option<u64>, u64)| Pause {
            ended: ended.map(|ms| ms * 1_000_000),
            lasted: lasted * 1_000_000,
        };
        let span = days.map(|days| days * DAY_MS * 1_000_000);
        let pauses = pauses.iter().map(pause).collect();
        PauseLog { pauses, coverage: Coverage { span, ..Coverage::default() }, ..PauseLog::default() }
    }

    fn setting() -> ExpirySettings {
        ExpirySettings::of(Client::Java, 10_000.0, 2_000.0, 10.0)
    }

    #[test]
    fn no_pause_at_all_leaves_three_in_the_weeks_that_were_watched() {
        let rate = false_failovers(&log(&[], None), 13.0, &setting(), &Curve::Model, 1);
        assert_eq!((rate.per_week, rate.low, rate.beyond_midpoint), (0.0, 0.0, 0));
        assert!((rate.high - 2.995_7 / 13.0).abs() < 1e-4, "{rate:?}");
    }

    #[test]
    fn pauses_far_beyond_the_timeout_count_one_each_and_short_ones_nothing() {
        let pauses: Vec<_> = (0..8).map(|i| (Some((i + 1) * DAY_MS), 60_000)).chain([(Some(5), 2_000)]).collect();
        let rate = false_failovers(&log(&pauses, Some(28)), 4.0, &setting(), &Curve::Model, 1);
        assert!((rate.per_week - 2.0).abs() < 1e-12);
        assert_eq!((rate.beyond_midpoint, rate.incidents), (8, 8));
        // Garwood's bounds of 8, a week of four.
        assert!(rate.low <= 3.981 / 4.0 + 1e-3 && rate.high >= 14.434 / 4.0 - 1e-3, "{rate:?}");
    }

    #[test]
    fn what_came_all_on_one_day_is_known_less_well_than_what_came_on_many() {
        let one: Vec<_> = (0..20).map(|i| (Some(i * 600_000), 60_000)).collect();
        let many: Vec<_> = (0..20).map(|i| (Some(i * DAY_MS), 60_000)).collect();
        let high = |pauses: &[_]| false_failovers(&log(pauses, Some(28)), 4.0, &setting(), &Curve::Model, 1).high;
        assert!(high(&one) > high(&many) * 1.3, "{} {}", high(&one), high(&many));
    }

    #[test]
    fn without_times_the_draws_are_as_wide_as_poisson_variables() {
        let pauses: Vec<_> = (0..100).map(|_| (None, 60_000)).collect();
        let incidents = super::incidents(&log(&pauses, None), 10_000.0, 0.0);
        let drawn = drawn(&incidents, None, 1.0, &setting(), &Curve::Model, 1);
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / drawn.len() as f64;
        assert!((mean - 100.0).abs() < 2.0 && (variance / 100.0 - 1.0).abs() < 0.25, "{mean} {variance}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(30))]

        #[test]
        fn the_bounds_hold_what_was_seen_and_a_longer_timeout_never_costs_more(
            pauses in prop::collection::vec((0_u64..28 * DAY_MS, 0_u64..40_000), 0..40), t in 4_000.0_f64..30_000.0,
        ) {
            let pauses: Vec<_> = pauses.into_iter().map(|(at, length)| (Some(at), length)).collect();
            let log = log(&pauses, Some(28));
            let rate = |t: f64| false_failovers(&log, 4.0, &setting().with_timeout(t), &Curve::Model, 7);
            let short = rate(t);
            prop_assert!(0.0 <= short.low && short.low <= short.per_week && short.per_week <= short.high);
            // A pause of 40 s at most expires nothing of this.
            prop_assert_eq!(rate(100_000.0).per_week, 0.0);
            prop_assert!(short.beyond_midpoint <= short.incidents as u64);
        }
    }
}
