//! Maps values to pixels, with ticks at round values.

use hustings_record::numbers::whole_i32;

/// How values are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScaleKind {
    Linear,
    /// Values below 1 count as 1.
    Log,
    /// log(1 + v): like `Log`, with room for zero.
    LogWithZero,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    kind: ScaleKind,
    from: f64,
    to: f64,
    pixels: (i32, i32),
}

impl Scale {
    /// Lays `from..=to` out over `pixels`; the range is widened where it is empty.
    pub(crate) fn new(kind: ScaleKind, from: f64, to: f64, pixels: (i32, i32)) -> Self {
        let (from, to) = if from.is_finite() && to.is_finite() { (from.max(0.0), to.max(0.0)) } else { (0.0, 1.0) };
        let (from, to) = match kind {
            ScaleKind::Log => {
                let (from, to) = (from.max(1.0), to.max(1.0));
                let widen = (2.0 / (to / from).max(1.0)).max(1.0).sqrt();
                ((from / widen).max(1.0), to.max(from) * widen)
            }
            ScaleKind::Linear | ScaleKind::LogWithZero => (from, if to > from { to } else { from + 1.0 }),
        };
        Self { kind, from, to, pixels }
    }

    fn bent(&self, value: f64) -> f64 {
        match self.kind {
            ScaleKind::Linear => value,
            ScaleKind::Log => value.max(1.0).log10(),
            ScaleKind::LogWithZero => (1.0 + value.max(0.0)).log10(),
        }
    }

    /// The pixel of `value`, kept within the axis.
    pub(crate) fn at(&self, value: f64) -> i32 {
        let (low, high) = (self.bent(self.from), self.bent(self.to));
        let share = ((self.bent(value) - low) / (high - low)).clamp(0.0, 1.0);
        let share = if share.is_finite() { share } else { 0.0 };
        self.pixels.0 + whole_i32((share * f64::from(self.pixels.1 - self.pixels.0)).round())
    }

    pub(crate) fn holds(&self, value: f64) -> bool {
        (self.from..=self.to).contains(&value)
    }

    /// Round values within the range, rising: few enough for labels of some 60 pixels on a horizontal axis.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        let ticks = match self.kind {
            ScaleKind::Linear => self.even_ticks(),
            ScaleKind::Log | ScaleKind::LogWithZero => self.decade_ticks(),
        };
        if ticks.len() >= 2 { ticks } else { vec![self.from, self.to] }
    }

    fn even_ticks(&self) -> Vec<f64> {
        let room = f64::from((self.pixels.1 - self.pixels.0).abs() / 80).clamp(2.0, 10.0);
        let rough = (self.to - self.from) / room;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|&step| step >= rough).unwrap_or(rough);
        let first = (self.from / step).ceil();
        (0..24).map(|i| (first + f64::from(i)) * step).take_while(|&v| v <= self.to * (1.0 + 1e-9)).collect()
    }

    fn decade_ticks(&self) -> Vec<f64> {
        let (from, to) = (self.from.max(1.0).log10(), self.to.max(1.0).log10());
        let (low, high) = (whole_i32(from.floor()), whole_i32(to.ceil()));
        let steps: &[f64] = match to - from {
            d if d <= 0.6 => &[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
            d if d <= 1.2 => &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
            d if d <= 3.5 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let zero = (self.kind == ScaleKind::LogWithZero && self.from <= 0.0).then_some(0.0);
        let ticks = (low..=high).flat_map(|p| steps.iter().map(move |m| m * 10f64.powi(p)));
        let whole = |v: &f64| self.kind == ScaleKind::Log || v.fract() == 0.0;
        zero.into_iter().chain(ticks.filter(|v| self.holds(*v)).filter(whole)).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ticks_are_round_and_within() {
        assert_eq!(Scale::new(ScaleKind::Linear, 0.0, 10.0, (0, 400)).ticks(), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(Scale::new(ScaleKind::Log, 1e6, 1e10, (0, 400)).ticks(), [1e6, 1e7, 1e8, 1e9, 1e10]);
        assert_eq!(
            Scale::new(ScaleKind::LogWithZero, 0.0, 60.0, (0, 400)).ticks(),
            [0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0]
        );
    }

    proptest! {
        #[test]
        fn every_value_lands_on_the_axis_and_order_is_kept(
            from in 0.0f64..1e12, more in 0.0f64..1e12, a in 0.0f64..2e12, b in 0.0f64..2e12, kind in 0usize..3,
        ) {
            let scale = Scale::new([ScaleKind::Linear, ScaleKind::Log, ScaleKind::LogWithZero][kind], from, from + more, (10, 500));
            let (low, high) = (a.min(b), a.max(b));
            prop_assert!((10..=500).contains(&scale.at(low)));
            prop_assert!(scale.at(low) <= scale.at(high));
            let ticks = scale.ticks();
            prop_assert!((2..=30).contains(&ticks.len()), "{ticks:?}");
            prop_assert!(ticks.windows(2).all(|w| w[0] < w[1]), "{ticks:?}");
        }
    }
}
