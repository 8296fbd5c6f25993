//! Horizontal bars over a time axis, and the samples of a legend.

use plotters::style::RGBColor;

use super::canvas::{Align, Canvas, DrawResult, PlotError, Stroke, text_width};
use super::palette::{PALE, VERMILLION};

/// How a bar is filled.
#[derive(Clone, Copy)]
pub(super) enum BarFill {
    /// A colour and its opacity.
    Plain(RGBColor, f64),
    /// Hatched and framed by `lines`, on a ground of its own: it looks the same on a light page and on a dark one.
    Hatched { ground: (RGBColor, f64), lines: Stroke },
    /// A frame alone.
    Empty(Stroke),
}

impl BarFill {
    /// A part that must be seen: vermillion stripes on a pale ground.
    pub(super) fn striped() -> Self {
        Self::Hatched { ground: (PALE, 1.0), lines: Stroke::new(VERMILLION, 2) }
    }

    /// Draws a bar from one pixel to another. It is at least `width_min` wide, so that the shortest is seen.
    /// Returns its right end.
    pub(super) fn bar(
        self,
        canvas: &Canvas<'_>,
        (from, to): (i32, i32),
        (top, bottom): (i32, i32),
        width_min: i32,
    ) -> Result<i32, PlotError> {
        let end = to.max(from + width_min);
        self.fill(canvas, (from, top), (end, bottom))?;
        Ok(end)
    }

    fn fill(self, canvas: &Canvas<'_>, from: (i32, i32), to: (i32, i32)) -> DrawResult {
        match self {
            Self::Plain(colour, alpha) => canvas.bar(from, to, colour, alpha),
            Self::Hatched { ground: (colour, alpha), lines } => {
                canvas.bar(from, to, colour, alpha)?;
                canvas.hatch(from, to, lines)?;
                canvas.frame(from, to, Stroke { width: 1, ..lines })
            }
            Self::Empty(pen) => canvas.frame(from, to, pen),
        }
    }

    /// Draws a sample for the legend, with its name. Returns where the next one begins.
    pub(super) fn sample(self, canvas: &Canvas<'_>, left: i32, at: i32, name: &str) -> Result<i32, PlotError> {
        self.bar(canvas, (left, left + 20), (at - 6, at + 6), 0)?;
        sample_name(canvas, left, at, name)
    }
}

/// Writes the name of a sample. Returns where the next one begins.
pub(super) fn sample_name(canvas: &Canvas<'_>, left: i32, at: i32, name: &str) -> Result<i32, PlotError> {
    canvas.text((left + 27, at), name, Align::Left, false)?;
    Ok(left + 27 + text_width(name) + 12)
}
