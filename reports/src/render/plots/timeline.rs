//! Who believed to lead a group, and when: a row a candidate, faults as bands behind, what must not be in a strong colour.

use std::collections::BTreeSet;

use super::bands::Names;
use super::bars::{BarFill, sample_name};
use super::canvas::{Align, Canvas, DrawResult, Figure, INK, PlotError, Stroke, chars_in, figure};
use super::chart::{Chart, ChartScope};
use super::palette::{BLUE, ORANGE, PALE, VERMILLION};
use super::scale::{Scale, ScaleKind};
use super::servers::Lanes;
use crate::render::{clean, format};
use crate::summary::{CellSummary, TermBar, Timeline};
use hustings_record::Nanos;
use hustings_record::numbers::to_i32;

pub(super) const CHART: Chart = Chart {
    heading: "Beliefs over time",
    about: "The groups most worth a look. A blue bar is a term: a candidate that believes it leads. Pale and hatched: its \
            process was stopped, so the belief was latent. Vermillion: two candidates definitely believed at once; \
            hatched where one of them was stopped. \
            Orange bands: faults. Where the servers were watched, their states stand below, and under them when no write was acknowledged. A cross is a stale write that was accepted, a ring one that the fence stopped.",
    draw: ChartScope::Cell(draw),
};

const ROWS_MAX: usize = 24;
const TERMS_MAX: usize = 2_000;
const FAULTS_MAX: usize = 500;
const WIDTH: i32 = 860;
const LEFT: i32 = 190;
const RIGHT: i32 = WIDTH - 24;
const TOP: i32 = 66;
const ROW: i32 = 30;
const BAR: i32 = 14;
const TERM: BarFill = BarFill::Plain(BLUE, 1.0);
const OVERLAP: BarFill = BarFill::Plain(VERMILLION, 1.0);
const FAULT: BarFill = BarFill::Plain(ORANGE, 0.28);
/// A definite overlap shorter than this share of the picture gets a second, closer picture.
const CLOSER_BELOW: f64 = 0.03;

fn draw(cell: &CellSummary) -> Result<Vec<Figure>, PlotError> {
    let mut figures = Vec::new();
    for timeline in cell.timelines.iter().filter(|timeline| timeline.to > timeline.from) {
        let title = format!("Group {}: {}", clean::short(&timeline.group, 40), clean::short(&timeline.because, 60));
        figures.push(TimelineView { cell, timeline, from: timeline.from, to: timeline.to }.draw(title)?);
        if let Some((from, to)) = closer(timeline) {
            let title = format!("Group {}, closer: the longest overlap", clean::short(&timeline.group, 40));
            figures.push(TimelineView { cell, timeline, from, to }.draw(title)?);
        }
    }
    Ok(figures)
}

/// A window around the longest overlap, where the whole picture is too coarse for it.
fn closer(timeline: &Timeline) -> Option<(Nanos, Nanos)> {
    let overlaps = timeline.terms.iter().flat_map(|term| &term.overlap);
    let &(from, to) = overlaps.filter(|(from, to)| to > from).max_by_key(|(from, to)| to - from)?;
    let length = to - from;
    let whole = timeline.to - timeline.from;
    let margin = length.saturating_mul(3);
    (length as f64 / (whole as f64) < CLOSER_BELOW)
        .then(|| (from.saturating_sub(margin).max(timeline.from), to.saturating_add(margin).min(timeline.to)))
}

type TimelineRow = (u16, Option<u32>);

struct TimelineView<'a> {
    cell: &'a CellSummary,
    timeline: &'a Timeline,
    from: Nanos,
    to: Nanos,
}

impl TimelineView<'_> {
    fn draw(&self, title: String) -> Result<Figure, PlotError> {
        let (rows, left_out) = self.rows();
        let rows_end = TOP + ROW * i32::try_from(rows.len().max(1)).unwrap_or(1);
        let lanes = Lanes::new(self.cell, (self.from, self.to));
        let bottom = rows_end + lanes.height();
        let lines = if lanes.height() > 0 { 1 } else { 0 };
        let about = self.words(left_out);
        figure(title, about, (WIDTH, bottom + 82 + 24 * lines), |canvas| {
            let length = self.to.saturating_sub(self.from);
            let x = Scale::new(ScaleKind::Linear, 0.0, length as f64, (LEFT, RIGHT));
            self.faults(canvas, &x, &rows, rows_end)?;
            canvas.times(&x, (TOP, bottom))?;
            for (i, &(host, candidate)) in rows.iter().enumerate() {
                let top = row_top(i);
                canvas.line((0, top), (RIGHT, top), Stroke::grid())?;
                canvas.text((LEFT - 10, top + ROW / 2), &self.row_name(host, candidate), Align::Right, false)?;
            }
            lanes.draw(canvas, &x, (LEFT, RIGHT), rows_end)?;
            canvas.line((LEFT, rows_end), (RIGHT, rows_end), Stroke::new(INK, 1))?;
            let since = match self.from.saturating_sub(self.timeline.from) {
                0 => "time since the picture begins".into(),
                later => format!("time since {} into the picture above", format::duration(later)),
            };
            canvas.foot((LEFT, RIGHT), bottom, &since)?;
            for term in self.timeline.terms.iter().take(TERMS_MAX) {
                if let Some(row) = rows.iter().position(|&row| row == (term.host, Some(term.candidate))) {
                    self.term(canvas, &x, term, row_top(row) + (ROW - BAR) / 2)?;
                }
            }
            self.stale_writes(canvas, &x, &rows)?;
            if lines > 0 {
                lanes.legend(canvas, 8, bottom + 64 + 24)?;
            }
            legend(canvas, bottom + 64)
        })
    }

    /// The rows to draw, and how many there was no room for. Hosts without a term get a row if a fault or a write names them.
    fn rows(&self) -> (Vec<TimelineRow>, usize) {
        let mut rows: BTreeSet<TimelineRow> =
            self.timeline.terms.iter().map(|term| (term.host, Some(term.candidate))).collect();
        let faults = self.timeline.faults.iter().filter_map(|fault| fault.host);
        for host in faults.chain(self.timeline.stale_writes.iter().map(|&(_, host, _)| host)) {
            if rows.range((host, None)..=(host, Some(u32::MAX))).next().is_none() {
                rows.insert((host, None));
            }
        }
        let left_out = rows.len().saturating_sub(ROWS_MAX);
        (rows.into_iter().take(ROWS_MAX).collect(), left_out)
    }

    fn row_name(&self, host: u16, candidate: Option<u32>) -> String {
        let name = self.cell.info.hosts.get(usize::from(host)).map_or("", String::as_str);
        let name = if name.is_empty() { &format!("host {host}") } else { name };
        let candidate = candidate.map_or_else(String::new, |candidate| format!(" #{candidate}"));
        let room = chars_in(LEFT - 10).saturating_sub(candidate.len());
        format!("{}{candidate}", clean::short(name, room))
    }

    fn words(&self, left_out: usize) -> String {
        let overlaps = self.timeline.terms.iter().map(|term| term.overlap.len()).sum::<usize>();
        let more =
            if left_out > 0 { format!(", {left_out} candidates more without room for a row") } else { String::new() };
        format!(
            "Beliefs over {}: {}, {}, {}, {}{more}. The same is told in the table below.",
            format::duration(self.to.saturating_sub(self.from)),
            format::plural(self.timeline.terms.len() as u64, "term", "terms"),
            format::plural(self.timeline.faults.len() as u64, "fault", "faults"),
            format::plural(overlaps as u64, "overlapping part", "overlapping parts"),
            format::plural(self.timeline.stale_writes.len() as u64, "stale write", "stale writes"),
        )
    }

    /// Pixels of what is seen of a span, or None where the picture does not reach it.
    fn span(&self, x: &Scale, (from, to): (Nanos, Nanos)) -> Option<(i32, i32)> {
        let (from, to) = (from.max(self.from), to.min(self.to));
        (from <= to).then(|| (x.at((from - self.from) as f64), x.at((to - self.from) as f64)))
    }

    fn faults(&self, canvas: &Canvas<'_>, x: &Scale, rows: &[TimelineRow], bottom: i32) -> DrawResult {
        let mut names = Names::new(RIGHT, TOP);
        for fault in self.timeline.faults.iter().take(FAULTS_MAX) {
            let Some((from, to)) = self.span(x, (fault.from, fault.to)) else { continue };
            let hit = |&(host, _): &TimelineRow| fault.host.is_none_or(|only| only == host);
            for (i, _) in rows.iter().enumerate().filter(|(_, row)| hit(row)) {
                let top = row_top(i);
                FAULT.bar(canvas, (from, to), (top, top + ROW), 2)?;
            }
            names.begin(canvas, fault.kind, from, bottom)?;
        }
        Ok(())
    }

    fn term(&self, canvas: &Canvas<'_>, x: &Scale, term: &TermBar, top: i32) -> DrawResult {
        let Some(led) = self.span(x, (term.from, term.to)) else { return Ok(()) };
        let (slim, wide) = ((top, top + BAR), (top - 3, top + BAR + 3));
        TERM.bar(canvas, led, slim, 2)?;
        for span in term.latent.iter().filter_map(|&part| self.span(x, part)) {
            latent().bar(canvas, span, slim, 1)?;
        }
        for &part in &term.overlap {
            if let Some(span) = self.span(x, part) {
                OVERLAP.bar(canvas, span, wide, 3)?;
            }
            for span in self.latent_within(part).filter_map(|latent| self.span(x, latent)) {
                BarFill::striped().bar(canvas, span, wide, 1)?;
            }
        }
        Ok(())
    }

    /// The parts of an overlap in which one of those that share it was stopped.
    fn latent_within(&self, (from, to): (Nanos, Nanos)) -> impl Iterator<Item = (Nanos, Nanos)> {
        let sharing = self.timeline.terms.iter().filter(move |term| term.from <= from && to <= term.to);
        let parts = sharing.flat_map(|term| &term.latent).map(move |&(a, b)| (a.max(from), b.min(to)));
        parts.filter(|(a, b)| a < b)
    }

    fn stale_writes(&self, canvas: &Canvas<'_>, x: &Scale, rows: &[TimelineRow]) -> DrawResult {
        let mut marks: BTreeSet<(i32, usize, bool)> = BTreeSet::new();
        for &(at, host, fenced) in &self.timeline.stale_writes {
            let led = self.timeline.terms.iter().find(|t| t.host == host && (t.from..=t.to).contains(&at));
            let row = led
                .and_then(|term| rows.iter().position(|&row| row == (host, Some(term.candidate))))
                .or_else(|| rows.iter().position(|&(other, _)| other == host));
            if let (Some((px, _)), Some(row)) = (self.span(x, (at, at)), row) {
                // Marks are thinned to what can be told apart.
                marks.insert((px / 4 * 4, row, fenced));
            }
        }
        for (px, row, fenced) in marks {
            stale_mark(canvas, (px, row_top(row) + ROW / 2), fenced)?;
        }
        Ok(())
    }
}

fn row_top(row: usize) -> i32 {
    TOP + ROW * to_i32(row)
}

fn latent() -> BarFill {
    BarFill::Hatched { ground: (PALE, 1.0), lines: Stroke::new(BLUE, 1) }
}

fn stale_mark(canvas: &Canvas<'_>, at: (i32, i32), fenced: bool) -> DrawResult {
    if fenced { canvas.ring(at, 4, Stroke::new(INK, 2)) } else { canvas.cross(at, 5, Stroke::new(INK, 2)) }
}

fn legend(canvas: &Canvas<'_>, at: i32) -> DrawResult {
    let mut left = 8;
    let bars = [
        ("term", TERM),
        ("latent", latent()),
        ("overlap", OVERLAP),
        ("latent overlap", BarFill::striped()),
        ("fault", FAULT),
    ];
    for (name, fill) in bars {
        left = fill.sample(canvas, left, at, name)?;
    }
    for (name, fenced) in [("stale write accepted", false), ("write fenced off", true)] {
        stale_mark(canvas, (left + 10, at), fenced)?;
        left = sample_name(canvas, left, at, name)?;
    }
    Ok(())
}
