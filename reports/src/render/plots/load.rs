//! Load of the servers: a panel per figure, a line per server, with faults as bands behind.

use super::bands::Bands;
use super::canvas::{Align, Canvas, Dash, DrawResult, Figure, INK, PlotError, Stroke, figure, text_width};
use super::chart::{Chart, ChartScope};
use super::palette::{BLUE, GREEN, PURPLE, VERMILLION};
use super::scale::{Scale, ScaleKind};
use crate::render::format;
use crate::summary::{CellSummary, Load, LoadPoint};
use hustings_record::Nanos;
use hustings_record::numbers::{to_i32, whole};
use plotters::style::RGBColor;

pub(super) const CHART: Chart = Chart {
    heading: "The servers' own counters over time",
    about: "As the servers told by `mntr`, once a second: packets that clients sent, requests that were not answered yet, open \
            connections (the question itself is one), armed watches. A line for each server; one that stopped, or did not \
            answer, has a gap. Between the dashed verticals: the measured window; before it, candidates enrol. Orange bands: \
            faults.",
    draw: ChartScope::Cell(draw),
};

const WIDTH: i32 = 860;
const LEFT: i32 = 190;
const RIGHT: i32 = WIDTH - 24;
const TOP: i32 = 66;
const PANEL: i32 = 76;
const GAP: i32 = 12;
/// Answers further apart than this are not joined by a line.
const SILENT: Nanos = 3_500_000_000;
const SERVERS_MAX: usize = 9;
/// The line style of a server, by its place among them.
const STYLES: [(RGBColor, Dash); 9] = [
    (BLUE, Dash::Solid),
    (VERMILLION, Dash::Solid),
    (GREEN, Dash::Solid),
    (BLUE, Dash::Dashed),
    (VERMILLION, Dash::Dashed),
    (GREEN, Dash::Dashed),
    (PURPLE, Dash::Solid),
    (PURPLE, Dash::Dashed),
    (PURPLE, Dash::Dotted),
];

struct Panel {
    name: &'static str,
    of: fn(&LoadPoint) -> Option<f64>,
}

const PANELS: [Panel; 4] = [
    Panel { name: "packets a second", of: |point| point.received_per_s },
    Panel { name: "requests waiting", of: |point| point.outstanding },
    Panel { name: "connections", of: |point| point.connections },
    Panel { name: "watches", of: |point| point.watches },
];

fn draw(cell: &CellSummary) -> Result<Vec<Figure>, PlotError> {
    let Some(load) = cell.load.as_ref().filter(|load| load.to > load.from) else { return Ok(Vec::new()) };
    let told = |panel: &&Panel| load.servers.values().flatten().any(|point| (panel.of)(point).is_some());
    let panels: Vec<&Panel> = PANELS.iter().filter(told).collect();
    let bottom = TOP + (PANEL + GAP) * i32::try_from(panels.len()).unwrap_or(0);
    let drawn = figure("Load of the servers".into(), words(load, &panels), (WIDTH, bottom + 82), |canvas| {
        let x = Scale::new(ScaleKind::Linear, 0.0, (load.to - load.from) as f64, (LEFT, RIGHT));
        let bands = Bands { x: &x, window: (load.from, load.to), right: RIGHT, top: TOP, bottom };
        bands.draw(canvas, load.faults.iter().map(|fault| (fault.kind, (fault.from, fault.to))))?;
        canvas.times(&x, (TOP, bottom))?;
        for edge in [load.measured.0, load.measured.1].into_iter().filter(|&edge| load.from < edge && edge < load.to) {
            let at = x.at((edge - load.from) as f64);
            canvas.line((at, TOP), (at, bottom), Stroke::new(INK, 1).dash(Dash::Dashed))?;
        }
        for (i, panel) in panels.iter().enumerate() {
            let top = TOP + (PANEL + GAP) * to_i32(i);
            self::panel(canvas, load, panel, &x, (top, top + PANEL))?;
        }
        canvas.foot((LEFT, RIGHT), bottom, "time since the servers were first asked")?;
        legend(canvas, load, bottom + 64)
    })?;
    Ok(vec![drawn])
}

/// Draws a panel, from zero at the foot to the largest value at the top, and names the largest of the measured window.
fn panel(canvas: &Canvas<'_>, load: &Load, panel: &Panel, x: &Scale, (top, foot): (i32, i32)) -> DrawResult {
    let (most, measured) = (largest(load, panel, |_| true), largest(load, panel, |point| load.has_measured(point)));
    let y = Scale::new(ScaleKind::Linear, 0.0, most, (foot, top));
    canvas.line((LEFT, foot), (RIGHT, foot), Stroke::grid())?;
    canvas.line((LEFT, top), (RIGHT, top), Stroke::grid())?;
    canvas.text((LEFT - 10, (top + foot) / 2), panel.name, Align::Right, false)?;
    canvas.text((LEFT - 10, top + 6), &figure_of(most), Align::Right, false)?;
    if measured < most {
        canvas.text((LEFT - 10, top + 21), &format!("measured {}", figure_of(measured)), Align::Right, false)?;
    }
    canvas.text((LEFT - 10, foot - 6), "0", Align::Right, false)?;
    let silent = SILENT.max(load.spacing() * 3);
    for (points, &(colour, dash)) in load.servers.values().zip(&STYLES) {
        let mut run: Vec<(Nanos, (i32, i32))> = Vec::new();
        for point in points {
            let Some(value) = (panel.of)(point) else { continue };
            if run.last().is_some_and(|last| point.t - last.0 > silent) {
                stroke(canvas, &run, Stroke::new(colour, 2).dash(dash))?;
                run.clear();
            }
            run.push((point.t, (x.at((point.t - load.from) as f64), y.at(value))));
        }
        stroke(canvas, &run, Stroke::new(colour, 2).dash(dash))?;
    }
    Ok(())
}

fn stroke(canvas: &Canvas<'_>, run: &[(Nanos, (i32, i32))], pen: Stroke) -> DrawResult {
    match run {
        [] => Ok(()),
        [(_, at)] => canvas.dot(*at, 2, pen.colour),
        _ => canvas.path(run.iter().map(|(_, at)| *at).collect(), pen),
    }
}

fn legend(canvas: &Canvas<'_>, load: &Load, at: i32) -> DrawResult {
    let mut left = 8;
    for (server, &(colour, dash)) in load.servers.keys().zip(&STYLES) {
        let name = format!("server {server}");
        canvas.line((left, at), (left + 24, at), Stroke::new(colour, 2).dash(dash))?;
        canvas.text((left + 31, at), &name, Align::Left, false)?;
        left += 31 + text_width(&name) + 14;
    }
    match load.servers.len().checked_sub(SERVERS_MAX) {
        None | Some(0) => Ok(()),
        Some(more) => canvas.text((left, at), &format!("and {more} more"), Align::Left, false),
    }
}

fn largest(load: &Load, panel: &Panel, is_wanted: impl Fn(&LoadPoint) -> bool) -> f64 {
    load.servers.values().flatten().filter(|point| is_wanted(point)).filter_map(panel.of).fold(0.0, f64::max)
}

fn figure_of(value: f64) -> String {
    format::count(whole(value.round()))
}

fn words(load: &Load, panels: &[&Panel]) -> String {
    let most = panels.iter().map(|panel| {
        let measured = largest(load, panel, |point| load.has_measured(point));
        let outside = largest(load, panel, |point| !load.has_measured(point));
        let more = if outside > measured { format!(" (outside of it {})", figure_of(outside)) } else { String::new() };
        format!("at most {} {}{more}", figure_of(measured), panel.name)
    });
    format!(
        "Counters of {} over {}. In the measured window of {}: {}; {}.",
        format::plural(load.servers.len() as u64, "server", "servers"),
        format::duration(load.to - load.from),
        format::duration(load.measured.1.saturating_sub(load.measured.0)),
        most.collect::<Vec<_>>().join(", "),
        format::plural(load.faults.len() as u64, "fault", "faults"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_measured_window_and_what_is_outside_of_it_are_named_apart() {
        let point = |s: Nanos, packets: f64| LoadPoint {
            t: s * 1_000_000_000,
            received_per_s: Some(packets),
            ..LoadPoint::default()
        };
        let (from, to, measured) = (0, 30_000_000_000, (10_000_000_000, 25_000_000_000));
        let servers = [(1, vec![point(2, 4_210.0), point(12, 1_060.0), point(20, 700.0)])].into();
        let load = Load { from, to, measured, servers, faults: Vec::new() };
        let words = words(&load, &[&PANELS[0]]);
        let expected = "In the measured window of 15.0 s: at most 1,060 packets a second (outside of it 4,210); ";
        assert!(words.contains(expected), "{words}");
    }
}
