//! Distributions as cumulative curves on a logarithmic time axis: the share of the samples that took at most this long.
//! A curve that ends below 100 % has censored samples; a faint line shows what is missing.

use plotters::style::RGBColor;

use super::canvas::{Align, Canvas, Dash, DrawResult, Figure, INK, PlotError, Stroke, chars_in, figure, text_width};
use super::scale::{Scale, ScaleKind};
use crate::render::{clean, format};
use crate::summary::Distribution;
use hustings_record::Nanos;

pub(crate) struct Curve<'a> {
    pub(crate) label: String,
    pub(crate) colour: RGBColor,
    pub(crate) dash: Dash,
    pub(crate) distribution: &'a Distribution,
}

pub(crate) struct Plot<'a> {
    pub(crate) title: String,
    pub(crate) x_title: &'static str,
    pub(crate) curves: Vec<Curve<'a>>,
    /// A time that gets a line of its own.
    pub(crate) mark: Option<(Nanos, &'static str)>,
}

const WIDTH: i32 = 860;
const LEFT: i32 = 64;
const RIGHT: i32 = WIDTH - 24;
const TOP: i32 = 58;
const BOTTOM: i32 = TOP + 260;
const LEGEND_ROW: i32 = 20;

impl Plot<'_> {
    pub(crate) fn draw(&self) -> Result<Figure, PlotError> {
        let rows: usize = self.curves.iter().map(|curve| curve.legend_rows().len()).sum();
        let height = BOTTOM + 56 + LEGEND_ROW * i32::try_from(rows).unwrap_or(0);
        figure(self.title.clone(), self.words(), (WIDTH, height), |canvas| {
            let x = self.x_scale();
            let y = Scale::new(ScaleKind::Linear, 0.0, 1.0, (BOTTOM, TOP));
            self.axes(canvas, &x, &y)?;
            let mut at = BOTTOM + 62;
            for curve in &self.curves {
                curve.draw(canvas, &x, &y)?;
                at = curve.legend(canvas, at)?;
            }
            Ok(())
        })
    }

    fn words(&self) -> String {
        let curves: Vec<String> = self
            .curves
            .iter()
            .map(|c| format!("{}: median {}", c.label, format::duration_or_hidden(c.distribution.p50)))
            .collect();
        format!("Cumulative distribution on a logarithmic time axis. {}.", curves.join("; "))
    }

    fn x_scale(&self) -> Scale {
        let points = || self.curves.iter().flat_map(|c| &c.distribution.curve).map(|&(ns, _)| ns as f64);
        let low = points().fold(f64::INFINITY, f64::min);
        let high = points().fold(0.0, f64::max);
        Scale::new(ScaleKind::Log, low / 1.15, high * 1.15, (LEFT, RIGHT))
    }

    fn axes(&self, canvas: &Canvas<'_>, x: &Scale, y: &Scale) -> DrawResult {
        let shares = [(0.0, "0"), (0.25, "25 %"), (0.5, "50 %"), (0.75, "75 %"), (0.9, "90 %"), (1.0, "100 %")];
        canvas.levels(y, (LEFT, RIGHT), shares.into_iter().map(|(share, label)| (share, label.to_owned())))?;
        canvas.times(x, (TOP, BOTTOM))?;
        canvas.foot((LEFT, RIGHT), BOTTOM, self.x_title)?;
        if let Some((ns, name)) = self.mark
            && x.holds(ns as f64)
        {
            let at = x.at(ns as f64);
            let label = format!("{name} = {}", format::tick(ns as f64));
            canvas.line((at, TOP - 4), (at, BOTTOM), Stroke::new(INK, 1).dash(Dash::Dotted))?;
            let half = text_width(&label) / 2;
            canvas.text((at.clamp(LEFT + half, RIGHT - half), TOP - 12), &label, Align::Middle, false)?;
        }
        Ok(())
    }
}

impl Curve<'_> {
    fn draw(&self, canvas: &Canvas<'_>, x: &Scale, y: &Scale) -> DrawResult {
        let mut points = Vec::with_capacity(self.distribution.curve.len() * 2 + 1);
        let mut level = y.at(0.0);
        for &(ns, share) in &self.distribution.curve {
            let at = x.at(ns as f64);
            points.push((at, level));
            level = y.at(share);
            points.push((at, level));
        }
        points.dedup();
        let Some(&end) = points.last() else { return Ok(()) };
        canvas.path(points, Stroke::new(self.colour, 2).dash(self.dash))?;
        if self.distribution.censored > 0 {
            canvas.line(end, (RIGHT, end.1), Stroke { alpha: 0.45, ..Stroke::new(self.colour, 1) })?;
        }
        canvas.dot(end, 3, self.colour)
    }

    /// Label and figures: on two rows where one row does not hold both, since a cut label does not identify a curve.
    fn legend_rows(&self) -> Vec<String> {
        let d = self.distribution;
        let mut figures =
            format!("p50 {}, {}, n {}", format::duration_or_hidden(d.p50), format::tail(d), format::count(d.n));
        if d.censored > 0 {
            figures.push_str(&format!(" and {} not ended", format::count(d.censored)));
        }
        if d.void > 0 {
            figures.push_str(&format!(", {} void by a stall", format::count(d.void)));
        }
        let room = chars_in(WIDTH - LEFT - 44);
        let both = format!("{}: {figures}", self.label);
        if both.chars().count() <= room { vec![both] } else { vec![clean::short(&self.label, room), figures] }
    }

    /// Draws the entry, and returns where the next one begins.
    fn legend(&self, canvas: &Canvas<'_>, mut at: i32) -> Result<i32, PlotError> {
        canvas.line((LEFT, at), (LEFT + 34, at), Stroke::new(self.colour, 3).dash(self.dash))?;
        for row in self.legend_rows() {
            canvas.text((LEFT + 44, at), &row, Align::Left, false)?;
            at += LEGEND_ROW;
        }
        Ok(at)
    }
}
