//! The expiry curve: which share of sessions a pause expires. Measured at one timeout, it is carried over to others by the model:
//! a pause is placed by how many of the model's standard deviations it lies beyond the model's midpoint.

use std::collections::BTreeMap;

use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use super::setting::ExpirySettings;
use crate::stats::normal;

/// Fewer say nothing about a curve.
const PAIRS_MIN: usize = 20;
const INJECTIONS_MIN: usize = 10;
/// Steps of the fit, and halvings of one.
const STEPS_MAX: u32 = 200;
const HALVINGS_MAX: u32 = 40;
/// The longest step, in units of the logit.
const STEP_MAX: f64 = 3.0;
/// A step this short ends the fit.
const STEP_MIN: f64 = 1e-10;
/// Pings are late by a turn of the client's own clock, and a busy machine adds to that: as a part of T.
const LATE_OF_T: f64 = 0.05;
/// Draws of a curve that does not rise are drawn anew so often.
const DRAWS_MAX: u32 = 100;

/// A session that met a pause, and what came of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PausedSession {
    pub setting: ExpirySettings,
    pub pause_ms: f64,
    pub expired: bool,
    /// Sessions that met the same pause are not independent of each other.
    pub injection: u64,
}

impl PausedSession {
    fn z(&self) -> f64 {
        z(&self.setting, self.pause_ms)
    }
}

/// How far beyond the model's midpoint, in the model's standard deviations.
fn z(setting: &ExpirySettings, pause_ms: f64) -> f64 {
    (pause_ms - setting.midpoint_ms()) / setting.spread_ms()
}

/// Which share of sessions a pause expires.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Curve {
    /// Nothing was measured: the model alone.
    Model,
    Measured(LogisticCurve),
}

/// A logistic curve over z: `p = 1/(1 + exp(−a − b z))`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LogisticCurve {
    pub a: f64,
    pub b: f64,
    /// Covariance of a and b, with the design effect in it.
    pub covariance: [[f64; 2]; 2],
    /// By how much sessions that met the same pause make it wider than independent ones would.
    pub design_effect: f64,
    pub pairs: usize,
    pub injections: usize,
    pub expired: usize,
    /// The least z that expired a session, and the greatest that left one alive.
    pub seen: (f64, f64),
}

/// Why there is no curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FitError {
    #[error(
        "{pairs} sessions that met {injections} pauses are too few for a curve: it takes {PAIRS_MIN} and {INJECTIONS_MIN}"
    )]
    TooFew { pairs: usize, injections: usize },
    #[error("all {pairs} sessions that met a pause were expired by it: it takes shorter pauses too")]
    AllExpired { pairs: usize },
    #[error("none of {pairs} sessions that met a pause was expired by it: it takes longer pauses too")]
    NoneExpired { pairs: usize },
    #[error("longer pauses expired no more sessions than shorter ones: that is no curve of expiry")]
    NotRising,
}

impl Curve {
    /// Fits one: by Firth's penalised likelihood (1993), which is finite also where every pause beyond some length expired and none
    /// below did.
    ///
    /// # Errors
    /// There is too little, or no rise in it.
    pub fn fit(pairs: &[PausedSession]) -> Result<Self, FitError> {
        let mut by_injection: BTreeMap<u64, Vec<(f64, f64)>> = BTreeMap::new();
        for pair in pairs {
            by_injection.entry(pair.injection).or_default().push((pair.z(), f64::from(u8::from(pair.expired))));
        }
        let (count, injections) = (pairs.len(), by_injection.len());
        let expired = pairs.iter().filter(|pair| pair.expired).count();
        if count < PAIRS_MIN || injections < INJECTIONS_MIN {
            return Err(FitError::TooFew { pairs: count, injections });
        }
        if expired == count {
            return Err(FitError::AllExpired { pairs: count });
        }
        if expired == 0 {
            return Err(FitError::NoneExpired { pairs: count });
        }
        let points: Vec<(f64, f64)> = by_injection.values().flatten().copied().collect();
        let [a, b] = maximum(&points).filter(|beta| beta[1] > 0.0).ok_or(FitError::NotRising)?;
        let naive = inverse(information(&points, [a, b])).ok_or(FitError::NotRising)?;
        let design_effect = design_effect(by_injection.values(), [a, b], naive);
        let covariance = naive.map(|row| row.map(|value| value * design_effect));
        let least = |expired: bool| pairs.iter().filter(move |pair| pair.expired == expired).map(PausedSession::z);
        let seen = (least(true).fold(f64::INFINITY, f64::min), least(false).fold(f64::NEG_INFINITY, f64::max));
        Ok(Self::Measured(LogisticCurve { a, b, covariance, design_effect, pairs: count, injections, expired, seen }))
    }

    /// Whether it was measured, on whatever servers.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        match self {
            Self::Model => false,
            Self::Measured(_) => true,
        }
    }

    /// The share of sessions that a pause expires.
    #[must_use]
    pub fn expired_share(&self, setting: &ExpirySettings, pause_ms: f64) -> f64 {
        let (none, all) = self.limits_ms(setting);
        match self {
            _ if pause_ms <= none => 0.0,
            _ if pause_ms >= all => 1.0,
            Self::Model => setting.expired_share(pause_ms),
            Self::Measured(fitted) => logistic(fitted.a + fitted.b * z(setting, pause_ms)),
        }
    }

    /// The pause that expires every other session.
    #[must_use]
    pub fn midpoint_ms(&self, setting: &ExpirySettings) -> f64 {
        setting.midpoint_ms() + self.shift() * setting.spread_ms()
    }

    /// Shorter pauses expire none, and longer ones all. A logistic curve never gets there, and short pauses are many: where the
    /// model says that it cannot be, and nothing that was measured speaks against it, it is cut off.
    #[must_use]
    pub fn limits_ms(&self, setting: &ExpirySettings) -> (f64, f64) {
        let (none, all) = setting.limits_ms();
        let Self::Measured(fitted) = self else { return (none, all) };
        let at = |z: f64| setting.midpoint_ms() + z * setting.spread_ms();
        let (shift, late) = (self.shift() * setting.spread_ms(), LATE_OF_T * setting.timeout_ms);
        let none = none + shift.min(0.0) - late;
        // What a follower heard of a session may be half a tick late too.
        let all = all + shift.max(0.0) + late + setting.tick_ms / 2.0;
        (none.min(at(fitted.seen.0)), all.max(at(fitted.seen.1)))
    }

    /// Another curve that may as well be the true one.
    pub(super) fn draw(&self, rng: &mut ChaCha8Rng) -> Self {
        let Self::Measured(fitted) = self else { return Self::Model };
        let [[aa, ab], [_, bb]] = fitted.covariance;
        let first = aa.sqrt();
        let (cross, rest) = if first > 0.0 { (ab / first, bb - ab * ab / aa) } else { (0.0, bb) };
        for _ in 0..DRAWS_MAX {
            let (one, other) = (normal(rng), normal(rng));
            let (a, b) = (fitted.a + first * one, fitted.b + cross * one + rest.max(0.0).sqrt() * other);
            if b > 0.0 {
                return Self::Measured(LogisticCurve { a, b, ..fitted.clone() });
            }
        }
        self.clone()
    }

    /// How far the midpoint lies beyond the model's, in standard deviations of the model.
    fn shift(&self) -> f64 {
        match self {
            Self::Model => 0.0,
            Self::Measured(fitted) => -fitted.a / fitted.b,
        }
    }
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Fisher's information.
fn information(points: &[(f64, f64)], beta: [f64; 2]) -> [[f64; 2]; 2] {
    points.iter().fold([[0.0; 2]; 2], |sum, (z, _)| {
        let p = logistic(beta[0] + beta[1] * z);
        let w = p * (1.0 - p);
        [[sum[0][0] + w, sum[0][1] + w * z], [sum[1][0] + w * z, sum[1][1] + w * z * z]]
    })
}

fn determinant(m: [[f64; 2]; 2]) -> f64 {
    m[0][0] * m[1][1] - m[0][1] * m[1][0]
}

fn inverse(m: [[f64; 2]; 2]) -> Option<[[f64; 2]; 2]> {
    let d = determinant(m);
    let inverse = [[m[1][1] / d, -m[0][1] / d], [-m[1][0] / d, m[0][0] / d]];
    (d > 0.0 && inverse.iter().flatten().all(|value| value.is_finite())).then_some(inverse)
}

/// The logarithm of the likelihood times Jeffreys' prior.
fn penalised(points: &[(f64, f64)], beta: [f64; 2]) -> f64 {
    let each = points.iter().map(|(z, y)| {
        let eta = beta[0] + beta[1] * z;
        // ln(1 + e^η) without overflow.
        y * eta - (eta.max(0.0) + (-eta.abs()).exp().ln_1p())
    });
    each.sum::<f64>() + determinant(information(points, beta)).ln() / 2.0
}

/// Where that is greatest. None where it is not found.
fn maximum(points: &[(f64, f64)]) -> Option<[f64; 2]> {
    let mut beta = [0.0, 1.0];
    let mut best = penalised(points, beta);
    for _ in 0..STEPS_MAX {
        let inverse = inverse(information(points, beta))?;
        let score = points.iter().fold([0.0; 2], |score, (z, y)| {
            let p = logistic(beta[0] + beta[1] * z);
            let leverage = p * (1.0 - p) * (inverse[0][0] + 2.0 * z * inverse[0][1] + z * z * inverse[1][1]);
            let residual = y - p + leverage * (0.5 - p);
            [score[0] + residual, score[1] + residual * z]
        });
        let mut step = inverse.map(|row| row[0] * score[0] + row[1] * score[1]);
        let longest = step[0].abs().max(step[1].abs());
        if longest > STEP_MAX {
            step = step.map(|part| part * STEP_MAX / longest);
        }
        for _ in 0..HALVINGS_MAX {
            let next = penalised(points, [beta[0] + step[0], beta[1] + step[1]]);
            if next >= best {
                best = next;
                break;
            }
            step = step.map(|part| part / 2.0);
        }
        beta = [beta[0] + step[0], beta[1] + step[1]];
        if step[0].abs().max(step[1].abs()) < STEP_MIN {
            break;
        }
    }
    beta.iter().all(|part| part.is_finite()).then_some(beta)
}

/// By how much the covariance grows if only injections are independent (Liang and Zeger 1986), at least 1.
fn design_effect<'a>(
    injections: impl Iterator<Item = &'a Vec<(f64, f64)>>,
    beta: [f64; 2],
    naive: [[f64; 2]; 2],
) -> f64 {
    let mut middle = [[0.0; 2]; 2];
    for injection in injections {
        let score = injection.iter().fold([0.0; 2], |score, (z, y)| {
            let residual = y - logistic(beta[0] + beta[1] * z);
            [score[0] + residual, score[1] + residual * z]
        });
        for (i, row) in middle.iter_mut().enumerate() {
            row.iter_mut().enumerate().for_each(|(j, cell)| *cell += score[i] * score[j]);
        }
    }
    let times =
        |a: [[f64; 2]; 2], b: [[f64; 2]; 2]| [0, 1].map(|i| [0, 1].map(|j| a[i][0] * b[0][j] + a[i][1] * b[1][j]));
    let robust = times(times(naive, middle), naive);
    [0, 1].map(|i| robust[i][i] / naive[i][i]).into_iter().fold(1.0, f64::max)
}

#[cfg(test)]
mod tests;
