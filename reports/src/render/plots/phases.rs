//! The phases of a failover at their medians, a bar a cell: release, detect, then decide with the spread of the watches within
//! it, then act. Medians do not add up, so the median failover has a mark of its own.

use std::collections::BTreeMap;

use super::canvas::{Align, Canvas, Drawn, Figure, INK, Pen, PlotError, chars_in, figure, text_width};
use super::chart::{Chart, Draw};
use super::palette::{BLUE, GREEN, GREY, ORANGE, PURPLE, SKY};
use super::scale::{Kind, Scale};
use crate::render::{clean, format};
use crate::summary::{CellSummary, Distribution, Summary};
use hustings_record::Nanos;

pub(super) const CHART: Chart = Chart {
    heading: "Where the time goes",
    about: "The phases of a failover, each at its median: release (of a resignation: belief ended → deletion sent), detect \
            (lead lost or released → first watcher notified), decide (→ grant), act (→ first accepted write). \
            Spread (first → last watcher notified) runs at the same time as decide and is hatched within it. Medians of \
            phases do not add up to the median of the whole; the black mark is the median failover. A phase too short to \
            be seen is drawn one pixel wide.",
    draw: Draw::Configurations(draw),
};

const ROWS_MAX: usize = 20;
/// Longest bar of a plot, in lengths of its shortest.
const SCALE_MAX: u64 = 20;
/// Detection is this much longer than all that follows: what follows gets a plot of its own.
const SQUEEZED: u64 = 30;
const WIDTH: i32 = 940;
const LEFT: i32 = 8;
const RIGHT: i32 = WIDTH - 24;
const TOP: i32 = 36;
const ROW: i32 = 46;
const BAR: i32 = 16;

fn draw(summary: &Summary) -> Result<Vec<Figure>, PlotError> {
    let mut faults: BTreeMap<&str, Vec<&CellSummary>> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for cell in summary.cells.iter().filter(|cell| median(cell.failover.whole.as_ref()).is_some()) {
        let cells = faults.entry(&cell.info.fault).or_default();
        if cells.is_empty() {
            order.push(&cell.info.fault);
        }
        cells.push(cell);
    }
    let mut figures = Vec::new();
    for fault in order {
        let parts = parts(&faults[fault]);
        for (i, part) in parts.iter().enumerate() {
            let suffix = if parts.len() > 1 { format!(" ({} of {})", i + 1, parts.len()) } else { String::new() };
            let title = format!("Phases at their medians: {}{suffix}", clean::short(fault, 40));
            figures.push(draw_part(title, part, From::Fault)?);
            if squeezed(part) {
                let title = format!("The same after detection: {}{suffix}", clean::short(fault, 40));
                figures.push(draw_part(title, part, From::Detection)?);
            }
        }
    }
    Ok(figures)
}

/// Where the bars begin.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Fault,
    Detection,
}

/// Whether detection takes so long that nothing can be seen of what comes after it.
fn squeezed(cells: &[&CellSummary]) -> bool {
    let detect = cells.iter().filter_map(|cell| median(cell.failover.detect.as_ref())).max().unwrap_or(0);
    let after = cells.iter().map(|cell| end_of(cell, From::Detection)).max().unwrap_or(0);
    after.saturating_mul(SQUEEZED) < detect
}

/// Cells that one scale does justice to: a slow recipe must not squeeze the others into a few pixels.
fn parts<'a>(cells: &[&'a CellSummary]) -> Vec<Vec<&'a CellSummary>> {
    let mut parts = Vec::new();
    let mut rest = cells.to_vec();
    while let Some(shortest) = rest.iter().map(|cell| end_of(cell, From::Fault)).min() {
        let limit = shortest.saturating_mul(SCALE_MAX);
        let (fits, longer): (Vec<_>, Vec<_>) = rest.into_iter().partition(|cell| end_of(cell, From::Fault) <= limit);
        parts.extend(fits.chunks(ROWS_MAX).map(<[_]>::to_vec));
        rest = longer;
    }
    parts
}

fn draw_part(title: String, cells: &[&CellSummary], from: From) -> Result<Figure, PlotError> {
    let bottom = TOP + ROW * i32::try_from(cells.len()).unwrap_or(0);
    let rows: Vec<String> = cells.iter().map(|cell| format!("{}: {}", label(cell, cells), values(cell))).collect();
    let about = format!("A bar for each cell. {}.", rows.join("; "));
    figure(title, about, (WIDTH as u32, (bottom + 92) as u32), |canvas| {
        let x_title = match from {
            From::Fault => "time since the lead was lost",
            From::Detection => "time since the first watcher was notified",
        };
        let longest = cells.iter().map(|cell| end_of(cell, from)).max().unwrap_or(1);
        let x = Scale::new(Kind::Linear, 0.0, longest as f64, (LEFT, RIGHT));
        for tick in x.ticks() {
            let at = x.at(tick);
            for row in 0..cells.len() as i32 {
                // Beside the bars only, so that no line runs through the words above them.
                let top = TOP + ROW * row + 20;
                canvas.line((at, top), (at, TOP + ROW * (row + 1)), Pen::grid())?;
            }
            let half = text_width(&format::tick(tick)) / 2;
            canvas.text((at.max(half), bottom + 14), &format::tick(tick), Align::Middle, false)?;
        }
        canvas.line((LEFT, bottom), (RIGHT, bottom), Pen::new(INK, 1))?;
        canvas.text(((LEFT + RIGHT) / 2, bottom + 36), x_title, Align::Middle, false)?;
        for (i, cell) in cells.iter().enumerate() {
            let at = TOP + ROW * i as i32;
            let values = values(cell);
            let room = chars_in(RIGHT - LEFT - 12).saturating_sub(values.chars().count());
            canvas.text((LEFT, at + 10), &clean::short(&label(cell, cells), room), Align::Left, false)?;
            canvas.text((RIGHT, at + 10), &values, Align::Right, false)?;
            bars(canvas, cell, &x, at + 24, from)?;
        }
        legend(canvas, bottom + 70)
    })
}

fn median(distribution: Option<&Distribution>) -> Option<Nanos> {
    distribution.and_then(|d| d.p50)
}

fn end_of(cell: &CellSummary, from: From) -> Nanos {
    let part = |d: &Option<Distribution>| median(d.as_ref()).unwrap_or(0);
    let after = part(&cell.failover.decide).max(part(&cell.failover.spread));
    let granted = match from {
        From::Fault => {
            let detected = part(&cell.failover.release).saturating_add(part(&cell.failover.detect));
            detected.saturating_add(after).max(part(&cell.failover.whole))
        }
        From::Detection => after,
    };
    granted.saturating_add(part(&cell.failover.act)).max(1)
}

fn label(cell: &CellSummary, neighbours: &[&CellSummary]) -> String {
    let t = |cell: &CellSummary| cell.timeout_ms.unwrap_or(cell.info.timeout_asked_ms);
    let n = |cell: &CellSummary| cell.info.candidates_per_group;
    let mut text = super::comparison::label(cell, &[]);
    if neighbours.iter().any(|other| t(other) != t(cell)) {
        text.push_str(&format!(", T = {}", format::setting_ms(t(cell))));
    }
    if neighbours.iter().any(|other| n(other) != n(cell)) {
        text.push_str(&format!(", {} a group", n(cell)));
    }
    text
}

fn values(cell: &CellSummary) -> String {
    let part =
        |name: &str, d: &Option<Distribution>| median(d.as_ref()).map(|ns| format!("{name} {}", format::duration(ns)));
    let parts = [
        part("failover", &cell.failover.whole),
        part("release", &cell.failover.release),
        part("detect", &cell.failover.detect),
        part("decide", &cell.failover.decide),
        part("spread", &cell.failover.spread),
        part("act", &cell.failover.act),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(", ")
}

fn bars(canvas: &Canvas<'_>, cell: &CellSummary, x: &Scale, top: i32, begin: From) -> Drawn {
    let failover = median(cell.failover.whole.as_ref()).unwrap_or(0);
    let span = |from: Nanos, length: Nanos| {
        let (a, b) = (x.at(from as f64), x.at(from.saturating_add(length) as f64));
        ((a, top), (b.max(a + 1), top + BAR))
    };
    let granted = match (median(cell.failover.detect.as_ref()), median(cell.failover.decide.as_ref())) {
        (Some(detect), Some(decide)) => {
            let release = median(cell.failover.release.as_ref()).filter(|_| begin == From::Fault).unwrap_or(0);
            let detect = if begin == From::Fault { detect } else { 0 };
            for (after, length, colour) in [(0, release, PURPLE), (release, detect, SKY)] {
                if length > 0 {
                    let (from, to) = span(after, length);
                    canvas.bar(from, to, colour, 1.0)?;
                }
            }
            let detected = release.saturating_add(detect);
            let (from, to) = span(detected, decide);
            canvas.bar(from, to, BLUE, 1.0)?;
            if let Some(spread) = median(cell.failover.spread.as_ref()) {
                let (from, to) = span(detected, spread);
                let from = (from.0, top + BAR - 6);
                canvas.bar(from, to, ORANGE, 1.0)?;
                canvas.hatch(from, to, Pen::new(INK, 1))?;
            }
            detected.saturating_add(decide)
        }
        _ if begin == From::Detection => return Ok(()),
        _ => {
            let (from, to) = span(0, failover);
            canvas.bar(from, to, GREY, 0.6)?;
            failover
        }
    };
    if let Some(act) = median(cell.failover.act.as_ref()) {
        let (from, to) = span(granted, act);
        canvas.bar(from, to, GREEN, 1.0)?;
    }
    if begin == From::Detection {
        return Ok(());
    }
    let at = x.at(failover as f64);
    canvas.line((at, top - 4), (at, top + BAR + 4), Pen::new(INK, 2))
}

fn legend(canvas: &Canvas<'_>, at: i32) -> Drawn {
    let mut left = LEFT;
    let parts = [
        ("release", PURPLE, 1.0, false),
        ("detect", SKY, 1.0, false),
        ("decide", BLUE, 1.0, false),
        ("spread", ORANGE, 1.0, true),
        ("act", GREEN, 1.0, false),
        ("not split", GREY, 0.6, false),
    ];
    for (name, colour, alpha, hatched) in parts {
        canvas.bar((left, at - 6), (left + 18, at + 6), colour, alpha)?;
        if hatched {
            canvas.hatch((left, at - 6), (left + 18, at + 6), Pen::new(INK, 1))?;
        }
        canvas.text((left + 26, at), name, Align::Left, false)?;
        left += 26 + text_width(name) + 24;
    }
    canvas.line((left + 6, at - 9), (left + 6, at + 9), Pen::new(INK, 2))?;
    canvas.text((left + 18, at), "median failover", Align::Left, false)
}
