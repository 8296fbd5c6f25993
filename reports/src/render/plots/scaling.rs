//! Effect of a group's size on a recipe: failover and requests against the candidates in a group, recipes overlaid.
//! Wake-ups have a chart of their own.

use std::collections::{BTreeMap, BTreeSet};

use super::canvas::{Align, Canvas, DrawResult, Figure, PlotError, Stroke, figure};
use super::chart::{Chart, ChartScope};
use super::palette::Palette;
use super::scale::{Scale, ScaleKind};
use crate::render::differing_parameters::{Axis, DifferingParameters};
use crate::render::{clean, format};
use crate::summary::{CellSummary, Summary};
use hustings_record::numbers::{to_i32, whole};

pub(super) const CHART: Chart = Chart {
    heading: "How it grows with the group",
    about: "Against the number of candidates in a group, both axes logarithmic: a line that stays level belongs to a recipe that \
            does not mind. A dot is a cell's median; its whisker ends at the 90th percentile of failovers, and at the most of \
            requests. Lines join the dots of a recipe, through the lower of the middle ones where a size was run several times. \
            Whom a loss wakes is under Fan-out.",
    draw: ChartScope::Run(draw),
};

const WIDTH: i32 = 860;
const LEFT: i32 = 78;
const RIGHT: i32 = WIDTH - 24;
const TOP: i32 = 40;
const BOTTOM: i32 = TOP + 260;
const LEGEND_ROW: i32 = 20;

/// A quantity that is drawn against the size.
struct ScalingMeasure {
    title: &'static str,
    kind: ScaleKind,
    /// Median, and the end of its whisker.
    of: fn(&CellSummary) -> Option<(f64, f64)>,
    written: fn(f64) -> String,
}

const MEASURES: [ScalingMeasure; 2] = [
    ScalingMeasure {
        title: "Failover",
        kind: ScaleKind::Log,
        of: |cell| {
            let whole = cell.failover.whole.as_ref()?;
            let p50 = whole.p50? as f64;
            Some((p50, whole.p90.map_or(p50, |p90| p90 as f64)))
        },
        written: format::tick,
    },
    ScalingMeasure {
        title: "Requests per loss of a leader",
        kind: ScaleKind::LogWithZero,
        of: |cell| cell.fan_out.requests.map(|(median, most)| (median as f64, most as f64)),
        written: |n| format::count(whole(n)),
    },
];

struct Dot {
    size: u32,
    median: f64,
    end: f64,
}

type Recipes<'a> = BTreeMap<&'a str, Vec<Dot>>;

fn draw(summary: &Summary) -> Result<Vec<Figure>, PlotError> {
    let palette = Palette::of(summary);
    let groups = groups(summary);
    let apart = DifferingParameters::of(groups.iter().filter_map(|group| group.first().copied()));
    let mut figures = Vec::new();
    for measure in &MEASURES {
        for group in &groups {
            let Some(&first) = group.first() else { continue };
            let recipes = recipes(group, measure);
            if recipes.values().all(|dots| sizes(dots).len() < 2) {
                continue;
            }
            let further = apart.parts(first, &[Axis::Recipe, Axis::Candidates, Axis::Fault]);
            let further: String = further.into_iter().map(|part| format!(", {part}")).collect();
            let title = format!("{}: {}{further}", measure.title, clean::short(&first.info.fault, 40));
            figures.push(draw_one(title, measure, &recipes, &palette)?);
        }
    }
    Ok(figures)
}

/// Cells that differ only in recipe and size, as far as it matters. In the order of the run.
fn groups(summary: &Summary) -> Vec<Vec<&CellSummary>> {
    let mut groups: Vec<(String, Vec<&CellSummary>)> = Vec::new();
    for cell in summary.cells.iter().filter(|cell| cell.info.has_candidates()) {
        let info = &cell.info;
        let t = cell.timeout_ms.unwrap_or(info.timeout_asked_ms);
        let sizes = (info.groups.len(), info.servers, info.tick_ms);
        let key = format!("{:?}", (&info.fault, t, info.step_down, info.fencing, info.sessions, sizes));
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, cells)) => cells.push(cell),
            None => groups.push((key, vec![cell])),
        }
    }
    groups.into_iter().map(|(_, cells)| cells).collect()
}

fn recipes<'a>(group: &[&'a CellSummary], measure: &ScalingMeasure) -> Recipes<'a> {
    let mut recipes = Recipes::new();
    for cell in group {
        if let Some((median, end)) = (measure.of)(cell) {
            let dot = Dot { size: cell.info.candidates_per_group, median, end: end.max(median) };
            recipes.entry(&cell.info.recipe).or_default().push(dot);
        }
    }
    recipes
}

fn sizes(dots: &[Dot]) -> BTreeSet<u32> {
    dots.iter().map(|dot| dot.size).collect()
}

/// At each size, the median of the medians: the lower one of two in the middle.
fn line(dots: &[Dot]) -> Vec<(u32, f64)> {
    let middle = |size: u32| {
        let mut medians: Vec<f64> = dots.iter().filter(|dot| dot.size == size).map(|dot| dot.median).collect();
        medians.sort_by(f64::total_cmp);
        medians.get(medians.len().saturating_sub(1) / 2).map(|&median| (size, median))
    };
    sizes(dots).into_iter().filter_map(middle).collect()
}

fn draw_one(
    title: String,
    measure: &ScalingMeasure,
    recipes: &Recipes<'_>,
    palette: &Palette,
) -> Result<Figure, PlotError> {
    let rows = i32::try_from(recipes.len()).unwrap_or(0);
    let size = (WIDTH, BOTTOM + 58 + LEGEND_ROW * rows);
    figure(title, words(measure, recipes), size, |canvas| {
        let dots = || recipes.values().flatten();
        let low = dots().map(|dot| dot.size).min().unwrap_or(1);
        let high = dots().map(|dot| dot.size).max().unwrap_or(1);
        let least = dots().map(|dot| dot.median).fold(f64::INFINITY, f64::min);
        let most = dots().map(|dot| dot.end).fold(0.0, f64::max);
        let x = Scale::new(ScaleKind::Log, f64::from(low) / 1.3, f64::from(high) * 1.3, (LEFT, RIGHT));
        let from = if measure.kind == ScaleKind::Log { least / 1.3 } else { 0.0 };
        let y = Scale::new(measure.kind, from, most * 1.3, (BOTTOM, TOP));
        axes(canvas, &x, &y, measure, dots().map(|dot| dot.size).collect())?;
        for (i, (name, dots)) in recipes.iter().enumerate() {
            let i = to_i32(i);
            let colour = palette.recipe(name);
            let path: Vec<(i32, i32)> = line(dots).iter().map(|&(n, value)| (x.at(n.into()), y.at(value))).collect();
            if path.len() > 1 {
                canvas.path(path, Stroke::new(colour, 2))?;
            }
            // Whiskers are drawn side by side, so that none hides another.
            let shift = 4 * i - 2 * (rows - 1);
            for dot in dots {
                let at = x.at(dot.size.into());
                canvas.line(
                    (at + shift, y.at(dot.median)),
                    (at + shift, y.at(dot.end)),
                    Stroke { alpha: 0.6, ..Stroke::new(colour, 1) },
                )?;
                canvas.dot((at, y.at(dot.median)), 4, colour)?;
            }
            let at = BOTTOM + 62 + LEGEND_ROW * i;
            canvas.line((LEFT, at), (LEFT + 30, at), Stroke::new(colour, 2))?;
            canvas.dot((LEFT + 15, at), 4, colour)?;
            canvas.text((LEFT + 42, at), &clean::short(name, 60), Align::Left, false)?;
        }
        Ok(())
    })
}

fn words(measure: &ScalingMeasure, recipes: &Recipes<'_>) -> String {
    let recipe = |(name, dots): (&&str, &Vec<Dot>)| {
        let line: Vec<String> =
            line(dots).iter().map(|&(size, value)| format!("{} at {size}", (measure.written)(value))).collect();
        format!("{}: {}", clean::short(name, 60), line.join(", "))
    };
    format!(
        "{} against candidates in a group. {}.",
        measure.title,
        recipes.iter().map(recipe).collect::<Vec<_>>().join("; ")
    )
}

fn axes(canvas: &Canvas<'_>, x: &Scale, y: &Scale, measure: &ScalingMeasure, sizes: BTreeSet<u32>) -> DrawResult {
    canvas.levels(y, (LEFT, RIGHT), y.ticks().into_iter().map(|tick| (tick, (measure.written)(tick))))?;
    let sizes = sizes.into_iter().map(|size| (f64::from(size), format::count(size.into())));
    canvas.columns(x, (TOP, BOTTOM), sizes)?;
    canvas.foot((LEFT, RIGHT), BOTTOM, "candidates in a group (logarithmic)")
}
