//! Random numbers of statistics that draw: seeded, so that the same figures come out again.

use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;

/// A draw from the standard normal distribution (Box and Muller 1958).
pub fn normal(rng: &mut ChaCha8Rng) -> f64 {
    // In (0, 1], so that it has a logarithm.
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.random::<f64>()).cos()
}

#[cfg(test)]
mod tests {
    use rand_chacha::rand_core::SeedableRng;

    use super::*;

    #[test]
    fn draws_are_standard_normal() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let all: Vec<f64> = (0..100_000).map(|_| normal(&mut rng)).collect();
        let share = |test: fn(f64) -> bool| all.iter().filter(|x| test(**x)).count() as f64 / all.len() as f64;
        for (seen, due) in
            [(share(|x| x < -1.644_854), 0.05), (share(|x| x < 0.0), 0.5), (share(|x| x < 1.0), 0.841_345)]
        {
            assert!((seen - due).abs() < 0.006, "{seen} and not {due}");
        }
    }
}
