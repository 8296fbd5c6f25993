//! A canvas in pixels: plotters' SVG back end with the few strokes that the charts need, and the finished figure with
//! its title and description for screen readers.
//!
//! The back end cannot express two things, so they are drawn as marks and replaced afterwards: ink in the page's text
//! colour (light and dark), and dashes. Text cannot forge a mark, since the back end escapes its quotes.

use std::fmt::Write as _;

use plotters::coord::Shift;
use plotters::prelude::{Circle, DrawingArea, IntoDrawingArea, PathElement, Rectangle, SVGBackend, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontStyle, IntoFont, RGBColor, ShapeStyle, TextStyle};

use super::scale::Scale;
use crate::render::{clean, format};
use hustings_record::numbers::{to_usize, whole, whole_i32};

/// The page's text colour.
pub(crate) const INK: RGBColor = RGBColor(1, 1, 1);
const INK_MARK: &str = "\"#010101\"";
const DASHED_ALPHA: f64 = 0.991;
const DOTTED_ALPHA: f64 = 0.992;

/// The back end divides font sizes by this.
const FONT_SCALE: f64 = 1.24;

/// Mean width of a character of a sans-serif font, as a share of its size; on the wide side, so that nothing is clipped.
const CHAR_WIDTH: f64 = 0.58;

pub(crate) const TEXT_PX: i32 = 13;
pub(crate) const TITLE_PX: i32 = 15;

#[derive(Debug, thiserror::Error)]
#[error("the plotting library refused a stroke: {0}")]
pub struct PlotError(String);

pub(crate) type DrawResult = Result<(), PlotError>;

/// A finished picture.
pub(crate) struct Figure {
    pub(crate) title: String,
    /// What it shows, in words.
    pub(crate) about: String,
    pub(crate) size: (u32, u32),
    body: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Dash {
    Solid,
    Dashed,
    Dotted,
}

#[derive(Clone, Copy)]
pub(crate) struct Stroke {
    pub(crate) colour: RGBColor,
    pub(crate) alpha: f64,
    pub(crate) width: u32,
    pub(crate) dash: Dash,
}

impl Stroke {
    pub(crate) fn new(colour: RGBColor, width: u32) -> Self {
        Self { colour, alpha: 1.0, width, dash: Dash::Solid }
    }

    /// Thin and faint, for grids.
    pub(crate) fn grid() -> Self {
        Self { alpha: 0.18, ..Self::new(INK, 1) }
    }

    pub(crate) fn dash(self, dash: Dash) -> Self {
        Self { dash, ..self }
    }

    fn style(self) -> ShapeStyle {
        let alpha = match self.dash {
            Dash::Solid => self.alpha,
            Dash::Dashed => DASHED_ALPHA,
            Dash::Dotted => DOTTED_ALPHA,
        };
        ShapeStyle { color: self.colour.mix(alpha), filled: false, stroke_width: self.width }
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Align {
    Left,
    Middle,
    Right,
}

pub(crate) struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
}

type Point = (i32, i32);

/// Draws a figure of this width and height in pixels with `strokes`.
pub(crate) fn figure(
    title: String,
    about: String,
    (width, height): (i32, i32),
    strokes: impl FnOnce(&Canvas<'_>) -> DrawResult,
) -> Result<Figure, PlotError> {
    let pixels = |length: i32| u32::try_from(length).unwrap_or(0);
    let size = (pixels(width), pixels(height));
    let mut drawing = String::new();
    {
        let canvas = Canvas { area: SVGBackend::with_string(&mut drawing, size).into_drawing_area() };
        canvas.text((0, 16), &clean::short(&title, chars_of(TITLE_PX, width)), Align::Left, true)?;
        strokes(&canvas)?;
        canvas.area.present().map_err(failed)?;
    }
    // `Figure::svg` writes a new outer element.
    let inner = drawing.split_once('>').map_or("", |(_, rest)| rest);
    let inner = inner.trim_end().strip_suffix("</svg>").unwrap_or(inner);
    let body = inner
        .replace(INK_MARK, "\"currentColor\"")
        .replace(&format!("opacity=\"{DASHED_ALPHA}\""), "stroke-dasharray=\"7 4\"")
        .replace(&format!("opacity=\"{DOTTED_ALPHA}\""), "stroke-dasharray=\"2 3\"")
        .replace(" opacity=\"1\"", "");
    Ok(Figure { title, about, size, body })
}

/// Characters of text that fit into `width` pixels.
pub(crate) fn chars_in(width: i32) -> usize {
    chars_of(TEXT_PX, width)
}

/// The same of text that is `px` pixels high.
fn chars_of(px: i32, width: i32) -> usize {
    to_usize(whole(f64::from(width) / (f64::from(px) * CHAR_WIDTH)))
}

impl Figure {
    /// The whole element. `id` must be unique within the page.
    pub(crate) fn svg(&self, id: &str) -> String {
        let (width, height) = self.size;
        let mut svg = String::with_capacity(self.body.len() + 512);
        let _ = write!(
            svg,
            "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\">\
             <title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>",
            escape(&self.title),
            escape(&self.about)
        );
        svg.push_str(&self.body);
        svg.push_str("</svg>");
        svg
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

fn failed(error: impl std::fmt::Display) -> PlotError {
    PlotError(error.to_string())
}

/// Pixels that `text` takes at most, roughly.
pub(crate) fn text_width(text: &str) -> i32 {
    whole_i32((text.chars().count() as f64 * f64::from(TEXT_PX) * CHAR_WIDTH).ceil())
}

impl Canvas<'_> {
    pub(crate) fn line(&self, from: Point, to: Point, pen: Stroke) -> DrawResult {
        self.path(vec![from, to], pen)
    }

    pub(crate) fn path(&self, points: Vec<Point>, pen: Stroke) -> DrawResult {
        self.area.draw(&PathElement::new(points, pen.style())).map_err(failed)
    }

    pub(crate) fn bar(&self, from: Point, to: Point, colour: RGBColor, alpha: f64) -> DrawResult {
        self.area.draw(&Rectangle::new([from, to], colour.mix(alpha).filled())).map_err(failed)
    }

    pub(crate) fn frame(&self, from: Point, to: Point, pen: Stroke) -> DrawResult {
        self.area.draw(&Rectangle::new([from, to], pen.style())).map_err(failed)
    }

    pub(crate) fn dot(&self, at: Point, radius: i32, colour: RGBColor) -> DrawResult {
        self.area.draw(&Circle::new(at, radius, colour.filled())).map_err(failed)
    }

    pub(crate) fn ring(&self, at: Point, radius: i32, pen: Stroke) -> DrawResult {
        self.area.draw(&Circle::new(at, radius, pen.style())).map_err(failed)
    }

    /// A cross with arms of `arm` pixels.
    pub(crate) fn cross(&self, (x, y): Point, arm: i32, pen: Stroke) -> DrawResult {
        self.line((x - arm, y - arm), (x + arm, y + arm), pen)?;
        self.line((x - arm, y + arm), (x + arm, y - arm), pen)
    }

    /// One line of text, vertically centred at `at.1`.
    pub(crate) fn text(&self, at: Point, text: &str, align: Align, bold: bool) -> DrawResult {
        let px = if bold { TITLE_PX } else { TEXT_PX };
        self.area.draw(&Text::new(text, at, text_style(px, align, bold))).map_err(failed)
    }

    /// A vertical grid line at each round time, with its label below.
    pub(crate) fn times(&self, x: &Scale, (top, bottom): (i32, i32)) -> DrawResult {
        for tick in x.ticks() {
            let at = x.at(tick);
            self.line((at, top), (at, bottom), Stroke::grid())?;
            self.text((at, bottom + 14), &format::tick(tick), Align::Middle, false)?;
        }
        Ok(())
    }

    /// A vertical grid line at each of these values, with its label below where there is room for it.
    pub(crate) fn columns(
        &self,
        x: &Scale,
        (top, bottom): (i32, i32),
        columns: impl Iterator<Item = (f64, String)>,
    ) -> DrawResult {
        let mut free_from = i32::MIN;
        for (value, label) in columns {
            let (at, half) = (x.at(value), text_width(&label) / 2);
            self.line((at, top), (at, bottom), Stroke::grid())?;
            if at - half >= free_from {
                self.text((at, bottom + 14), &label, Align::Middle, false)?;
                free_from = at + half + 6;
            }
        }
        Ok(())
    }

    /// A horizontal grid line at each of these values, with its label on the left.
    pub(crate) fn levels(
        &self,
        y: &Scale,
        (left, right): (i32, i32),
        levels: impl Iterator<Item = (f64, String)>,
    ) -> DrawResult {
        for (value, label) in levels {
            self.line((left, y.at(value)), (right, y.at(value)), Stroke::grid())?;
            self.text((left - 8, y.at(value)), &label, Align::Right, false)?;
        }
        Ok(())
    }

    /// The line at the foot of a chart, and the name of its axis below.
    pub(crate) fn foot(&self, (left, right): (i32, i32), bottom: i32, name: &str) -> DrawResult {
        self.line((left, bottom), (right, bottom), Stroke::new(INK, 1))?;
        self.text(((left + right) / 2, bottom + 36), name, Align::Middle, false)
    }

    /// A diagonal hatching of the rectangle, for parts that must be distinguishable without colour.
    pub(crate) fn hatch(&self, (x0, y0): Point, (x1, y1): Point, pen: Stroke) -> DrawResult {
        let height = y1 - y0;
        let mut at = x0 - height + 3;
        while at < x1 {
            let (from, to) = (at.max(x0), (at + height).min(x1));
            self.line((from, y1 - (from - at)), (to, y1 - (to - at)), pen)?;
            at += 6;
        }
        Ok(())
    }
}

fn text_style(px: i32, align: Align, bold: bool) -> TextStyle<'static> {
    let h_pos = match align {
        Align::Left => HPos::Left,
        Align::Middle => HPos::Center,
        Align::Right => HPos::Right,
    };
    let style = if bold { FontStyle::Bold } else { FontStyle::Normal };
    let font = ("sans-serif", f64::from(px) * FONT_SCALE, style).into_font();
    TextStyle::from(font).color(&INK).pos(Pos::new(h_pos, VPos::Center))
}
