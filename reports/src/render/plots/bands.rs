//! Faults as bands over a time axis, each named where it begins, as far as there is room.

use super::canvas::{Align, Canvas, DrawResult, Stroke, text_width};
use super::palette::ORANGE;
use super::scale::Scale;
use hustings_record::numbers::to_i32;
use hustings_record::{FaultKind, Nanos};

const BANDS_MAX: usize = 200;
const LINE: i32 = 15;

/// Where bands are drawn.
pub(super) struct Bands<'a> {
    /// Lays out times from the window's beginning on.
    pub(super) x: &'a Scale,
    pub(super) window: (Nanos, Nanos),
    pub(super) right: i32,
    pub(super) top: i32,
    pub(super) bottom: i32,
}

impl Bands<'_> {
    pub(super) fn draw(
        &self,
        canvas: &Canvas<'_>,
        faults: impl Iterator<Item = (FaultKind, (Nanos, Nanos))>,
    ) -> DrawResult {
        let mut names = Names::new(self.right, self.top);
        for (kind, (from, to)) in faults.take(BANDS_MAX) {
            let (from, to) = (from.max(self.window.0), to.min(self.window.1));
            if from > to {
                continue;
            }
            let at = |t: Nanos| self.x.at((t - self.window.0) as f64);
            let (from, to) = (at(from), at(to).max(at(from) + 2));
            canvas.bar((from, self.top), (to, self.bottom), ORANGE, 0.2)?;
            names.begin(canvas, kind, from, self.bottom)?;
        }
        Ok(())
    }
}

/// Names above a picture, in two lines.
pub(super) struct Names {
    right: i32,
    top: i32,
    free_from: [i32; 2],
}

impl Names {
    pub(super) fn new(right: i32, top: i32) -> Self {
        Self { right, top, free_from: [i32::MIN; 2] }
    }

    /// Marks the beginning of a fault, and names it if no earlier name is in the way.
    pub(super) fn begin(&mut self, canvas: &Canvas<'_>, kind: FaultKind, from: i32, bottom: i32) -> DrawResult {
        canvas.line((from, self.top - 4), (from, bottom), Stroke { alpha: 0.8, ..Stroke::new(ORANGE, 1) })?;
        let name = kind.name();
        let at = from.min(self.right - text_width(name));
        if let Some(lane) = self.free_from.iter().position(|&free| at >= free) {
            canvas.text((at, self.top - 12 - LINE * to_i32(lane)), name, Align::Left, false)?;
            self.free_from[lane] = at + text_width(name) + 6;
        }
        Ok(())
    }
}
