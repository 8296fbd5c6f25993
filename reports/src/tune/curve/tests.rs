use proptest::prelude::*;
use rand_chacha::rand_core::SeedableRng;

use super::*;
use crate::tune::setting::Client;

fn setting() -> ExpirySettings {
    ExpirySettings::of(Client::Java, 6_000.0, 2_000.0, 10.0)
}

/// So many pauses from 0.5 to 1.4 T, each met by `sessions`, with phases that fill their range evenly.
fn measured(setting: &ExpirySettings, pauses: u32, sessions: u32) -> Vec<PausedSession> {
    let one = |i: u32, j: u32| {
        let pause_ms = setting.timeout_ms * (0.5 + 0.9 * f64::from(i) / f64::from(pauses - 1));
        // Additive recurrences with the golden ratio's relatives: evenly spread in two dimensions.
        let n = f64::from(i * sessions + j + 1);
        let (age, round) =
            ((n * 0.754_877_666).fract() * setting.ping_ms, (n * 0.569_840_291).fract() * setting.tick_ms);
        let expired = age + pause_ms + setting.reconnect_ms > setting.timeout_ms + round;
        PausedSession { setting: *setting, pause_ms, expired, injection: u64::from(i) }
    };
    (0..pauses).flat_map(|i| (0..sessions).map(move |j| one(i, j))).collect()
}

#[test]
fn a_measured_curve_is_near_the_truth_that_made_it() {
    let setting = setting();
    let curve = Curve::fit(&measured(&setting, 80, 10)).expect("a curve");
    assert!((curve.midpoint_ms(&setting) - setting.midpoint_ms()).abs() < 0.02 * setting.timeout_ms);
    for d in [0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4] {
        let (fitted, model) = (curve.expired_share(&setting, d * 6_000.0), setting.expired_share(d * 6_000.0));
        assert!((fitted - model).abs() < 0.06, "{d} T: {fitted} and not {model}");
    }
}

#[test]
fn it_is_carried_over_to_other_timeouts_and_clients() {
    let here = ExpirySettings::of(Client::Rust, 1_500.0, 500.0, 5.0);
    let curve = Curve::fit(&measured(&here, 80, 10)).expect("a curve");
    for there in [here.with_timeout(10_000.0), ExpirySettings::of(Client::Java, 20_000.0, 2_000.0, 5.0)] {
        for d in [0.6, 0.8, 1.0, 1.2] {
            let pause = d * there.timeout_ms;
            let off = (curve.expired_share(&there, pause) - there.expired_share(pause)).abs();
            assert!(off < 0.12, "{d} T of {there:?}: off by {off}");
        }
    }
}

#[test]
fn short_pauses_expire_nothing_however_many_they_are() {
    let setting = setting();
    let curve = Curve::fit(&measured(&setting, 80, 10)).expect("a curve");
    assert_eq!(curve.expired_share(&setting, 0.4 * setting.timeout_ms), 0.0);
    assert_eq!(curve.expired_share(&setting, 2.0 * setting.timeout_ms), 1.0);
}

#[test]
fn what_was_measured_goes_before_what_the_model_takes_for_impossible() {
    let setting = setting();
    let mut pairs = measured(&setting, 80, 10);
    pairs[0].expired = true;
    let curve = Curve::fit(&pairs).expect("a curve");
    assert!(curve.expired_share(&setting, pairs[0].pause_ms + 1.0) > 0.0);
}

#[test]
fn there_is_a_curve_where_nothing_lies_between_all_and_none() {
    let setting = setting();
    let mut pairs = measured(&setting, 40, 2);
    pairs.iter_mut().for_each(|pair| pair.expired = pair.pause_ms > setting.timeout_ms);
    let Ok(Curve::Measured(fitted)) = Curve::fit(&pairs) else { panic!("no curve") };
    assert!(fitted.b.is_finite() && fitted.b > 0.0);
}

#[test]
fn a_saturated_fit_is_that_of_half_a_session_more_in_every_cell() {
    // Two points, and Jeffreys' prior: the logit of each is ln((k + 1/2)/(n − k + 1/2)).
    let points: Vec<(f64, f64)> = [(0.0, 3, 20), (1.0, 18, 25)]
        .into_iter()
        .flat_map(|(z, k, n)| (0..n).map(move |i| (z, f64::from(u8::from(i < k)))))
        .collect();
    let [a, b] = maximum(&points).expect("found");
    let logit = |k: f64, n: f64| ((k + 0.5) / (n - k + 0.5)).ln();
    assert!((a - logit(3.0, 20.0)).abs() < 1e-8 && (a + b - logit(18.0, 25.0)).abs() < 1e-8);
}

#[test]
fn sessions_that_share_a_pause_are_worth_less_than_independent_ones() {
    let setting = setting();
    let pairs = measured(&setting, 60, 1);
    // Each of them ten times over: nothing more is known.
    let copies: Vec<PausedSession> = pairs.iter().flat_map(|pair| [*pair; 10]).collect();
    let (Ok(Curve::Measured(one)), Ok(Curve::Measured(ten))) = (Curve::fit(&pairs), Curve::fit(&copies)) else {
        panic!("no curve");
    };
    assert!(ten.design_effect > 5.0, "{}", ten.design_effect);
    assert!(ten.covariance[0][0] > one.covariance[0][0] * 0.4, "{one:?} {ten:?}");
}

#[test]
fn too_little_is_no_curve() {
    let setting = setting();
    let pairs = measured(&setting, 80, 10);
    let with = |expired: fn(&PausedSession) -> bool| -> Vec<PausedSession> {
        pairs.iter().map(|pair| PausedSession { expired: expired(pair), ..*pair }).collect()
    };
    assert_eq!(Curve::fit(&pairs[..9]), Err(FitError::TooFew { pairs: 9, injections: 1 }));
    assert_eq!(Curve::fit(&with(|_| true)), Err(FitError::AllExpired { pairs: 800 }));
    assert_eq!(Curve::fit(&with(|_| false)), Err(FitError::NoneExpired { pairs: 800 }));
    assert_eq!(Curve::fit(&with(|pair| pair.pause_ms < 5_000.0)), Err(FitError::NotRising));
}

proptest! {
    #[test]
    fn no_neighbour_of_the_fit_is_likelier(all in prop::collection::vec((-3.0_f64..3.0, any::<bool>()), 10..60), da in -1.0_f64..1.0, db in -1.0_f64..1.0) {
        let points: Vec<(f64, f64)> = all.iter().map(|(z, y)| (*z, f64::from(u8::from(*y)))).collect();
        let Some([a, b]) = maximum(&points) else { return Ok(()) };
        let best = penalised(&points, [a, b]);
        for scale in [1e-3, 1e-2, 0.1, 1.0] {
            prop_assert!(penalised(&points, [a + da * scale, b + db * scale]) <= best + 1e-9);
        }
    }

    #[test]
    fn draws_spread_as_the_covariance_says(seed in 0_u64..20) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let curve = Curve::fit(&measured(&setting(), 60, 4)).expect("a curve");
        let Curve::Measured(fitted) = &curve else { unreachable!("it was measured") };
        let draws: Vec<f64> = (0..2_000).map(|_| match curve.draw(&mut rng) {
            Curve::Measured(drawn) => drawn.a - fitted.a,
            Curve::Model => f64::NAN,
        }).collect();
        let variance = draws.iter().map(|off| off * off).sum::<f64>() / draws.len() as f64;
        prop_assert!((variance / fitted.covariance[0][0] - 1.0).abs() < 0.2, "{variance}");
    }
}
