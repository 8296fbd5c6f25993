//! What the strikes of a cell share: who is placed where, which server a session is at, how busy the machine was. It shows in how
//! far apart the cells of one side lie, and no number of strikes in them makes it smaller.

use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// The 1 − alpha interval of how far the new side's cells lie above the base's, by Student's two-sample t on the logarithms of
/// their medians, in the unit of these. None where a side has fewer than two cells, which tell nothing of luck, or where a median
/// has no logarithm.
pub(super) fn interval(base: &[f64], new: &[f64], alpha: f64) -> Option<(f64, f64)> {
    let of = |medians: &[f64]| -> Option<Side> {
        let logs: Vec<f64> = medians.iter().map(|median| median.ln()).collect();
        (logs.len() >= 2 && logs.iter().all(|log| log.is_finite())).then(|| Side::of(&logs))
    };
    let (base, new) = (of(base)?, of(new)?);
    let freedom = base.cells + new.cells - 2.0;
    let variance = (base.squares + new.squares) / freedom;
    let error = (variance * (base.cells.recip() + new.cells.recip())).sqrt();
    let wide = error * StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(1.0 - alpha / 2.0);
    let apart = new.mean - base.mean;
    let above = |log: f64| base.mean.exp() * log.exp_m1();
    Some((above(apart - wide), above(apart + wide)))
}

/// The cells of one side, by their logarithms.
struct Side {
    cells: f64,
    mean: f64,
    /// Of how far each lies from the mean, all together.
    squares: f64,
}

impl Side {
    fn of(logs: &[f64]) -> Self {
        let cells = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / cells;
        Self { cells, mean, squares: logs.iter().map(|log| (log - mean).powi(2)).sum() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cell_a_side_tells_nothing_of_its_luck() {
        assert_eq!(interval(&[1.0], &[1.0, 1.1], 0.05), None);
        assert_eq!(interval(&[1.0, 0.0], &[1.0, 1.1], 0.05), None, "nothing has no logarithm");
    }

    #[test]
    fn cells_that_scatter_leave_a_wide_interval_and_cells_that_agree_a_narrow_one() {
        let (low, high) = interval(&[100.0, 150.0, 110.0, 140.0], &[120.0, 160.0, 100.0, 150.0], 0.05).unwrap();
        assert!(low < -20.0 && high > 30.0, "{low} {high}");
        let (low, high) = interval(&[100.0, 101.0, 99.0, 100.0], &[120.0, 121.0, 119.0, 120.0], 0.05).unwrap();
        assert!(low > 18.0 && high < 22.0, "{low} {high}");
    }

    /// By the textbook: means 2 and 3, variance 1 on both sides, four each; t of 6 degrees is 2.447.
    #[test]
    fn the_interval_is_student_s() {
        let side = |mean: f64| [-1.0, -1.0, 1.0, 1.0].map(|d: f64| (mean + d * 0.75_f64.sqrt()).exp());
        let (low, high) = interval(&side(2.0), &side(3.0), 0.05).unwrap();
        let logs = [low, high].map(|above| (above / 2.0_f64.exp()).ln_1p());
        let wide = 2.446_912 * 0.5_f64.sqrt();
        assert!((logs[0] - (1.0 - wide)).abs() < 1e-5 && (logs[1] - (1.0 + wide)).abs() < 1e-5, "{logs:?}");
    }
}
