//! How many other candidates a leader's loss wakes, against the size of the group: the herd effect, or its absence.

use std::collections::{BTreeMap, BTreeSet};

use plotters::style::RGBColor;

use super::canvas::{Align, Canvas, Dash, DrawResult, Figure, INK, PlotError, Stroke, figure};
use super::chart::{Chart, ChartScope};
use super::palette::Palette;
use super::scale::{Scale, ScaleKind};
use crate::render::{clean, format};
use crate::summary::Summary;
use hustings_record::numbers::{to_i32, whole};

pub(super) const CHART: Chart = Chart {
    heading: "Fan-out",
    about: "Wake-ups of other candidates by one leader loss, by watches of any kind, against the number of candidates in a \
            group; who is woken twice counts twice. A dot is a cell's median, its whisker runs from the least to the most. \
            Dashed lines: one, and everybody else. Recipes stand side by side, and a line joins the medians of one that was run \
            at several sizes; one without watches wakes nobody and is not shown.",
    draw: ChartScope::Run(draw),
};

const WIDTH: i32 = 860;
const LEFT: i32 = 64;
const RIGHT: i32 = WIDTH - 120;
const TOP: i32 = 40;
const BOTTOM: i32 = TOP + 280;
/// Up to this many sizes get their own labels; beyond that, the axis has round ticks.
const SIZES_MAX: usize = 8;
const DODGE: i32 = 10;

struct Point {
    size: u32,
    woken: (u64, u64, u64),
}

fn draw(summary: &Summary) -> Result<Vec<Figure>, PlotError> {
    let palette = Palette::of(summary);
    let mut recipes: BTreeMap<String, (RGBColor, Vec<Point>)> = BTreeMap::new();
    for cell in &summary.cells {
        if let Some(woken) = cell.fan_out.woken {
            let name = cell.info.recipe.clone();
            let entry = recipes.entry(name).or_insert_with_key(|name| (palette.recipe(name), Vec::new()));
            entry.1.push(Point { size: cell.info.candidates_per_group, woken });
        }
    }
    if recipes.is_empty() {
        return Ok(Vec::new());
    }
    let legend_rows = i32::try_from(recipes.len()).unwrap_or(0);
    let height = BOTTOM + 58 + 20 * legend_rows;
    let title = "Wake-ups per leader loss".to_owned();
    let figure = figure(title, words(&recipes), (WIDTH, height), |canvas| {
        let sizes: BTreeSet<u32> = recipes.values().flat_map(|(_, points)| points).map(|p| p.size).collect();
        let (x, y) = scales(&recipes, &sizes);
        axes(canvas, &x, &y, &sizes)?;
        for (i, (name, (colour, points))) in recipes.iter().enumerate() {
            let i = to_i32(i);
            let shift = DODGE * i - DODGE * (legend_rows - 1) / 2;
            let at = BOTTOM + 64 + 20 * i;
            canvas.dot((LEFT + 6, at), 5, *colour)?;
            canvas.text((LEFT + 20, at), &clean::short(name, 60), Align::Left, false)?;
            let path: Vec<(i32, i32)> =
                medians(points).iter().map(|&(size, woken)| (x.at(size.into()) + shift, y.at(woken as f64))).collect();
            if path.len() > 1 {
                canvas.path(path, Stroke::new(*colour, 2))?;
            }
            for point in points {
                let (least, median, most) = point.woken;
                let at = x.at(point.size.into()) + shift;
                canvas.line((at, y.at(least as f64)), (at, y.at(most as f64)), Stroke::new(*colour, 2))?;
                canvas.dot((at, y.at(median as f64)), 5, *colour)?;
            }
        }
        Ok(())
    })?;
    Ok(vec![figure])
}

/// At each size, the median of the medians: the lower one of two in the middle.
fn medians(points: &[Point]) -> Vec<(u32, u64)> {
    let mut by_size: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for point in points {
        by_size.entry(point.size).or_default().push(point.woken.1);
    }
    let middle = |(size, mut medians): (u32, Vec<u64>)| {
        medians.sort_unstable();
        medians.get(medians.len().saturating_sub(1) / 2).map(|&median| (size, median))
    };
    by_size.into_iter().filter_map(middle).collect()
}

fn words(recipes: &BTreeMap<String, (RGBColor, Vec<Point>)>) -> String {
    let recipes: Vec<String> = recipes
        .iter()
        .map(|(name, (_, points))| {
            let points: BTreeSet<(u32, u64)> = points.iter().map(|p| (p.size, p.woken.1)).collect();
            let points: Vec<String> =
                points.into_iter().take(40).map(|(size, woken)| format!("{woken} of {size}")).collect();
            format!("{}: {}", clean::short(name, 60), points.join(", "))
        })
        .collect();
    format!("Median wake-ups against candidates in a group. {}.", recipes.join("; "))
}

fn scales(recipes: &BTreeMap<String, (RGBColor, Vec<Point>)>, sizes: &BTreeSet<u32>) -> (Scale, Scale) {
    let (low, high) = (sizes.first().copied().unwrap_or(1), sizes.last().copied().unwrap_or(1));
    let most = recipes.values().flat_map(|(_, points)| points).map(|p| p.woken.2).max().unwrap_or(0);
    let most = (most as f64).max(f64::from(high) * 1.4).max(1.0);
    (
        Scale::new(ScaleKind::Log, f64::from(low) / 1.4, f64::from(high) * 1.4, (LEFT, RIGHT)),
        Scale::new(ScaleKind::LogWithZero, 0.0, most * 1.05, (BOTTOM, TOP)),
    )
}

fn axes(canvas: &Canvas<'_>, x: &Scale, y: &Scale, sizes: &BTreeSet<u32>) -> DrawResult {
    let labelled = |tick: f64| (tick, format::count(whole(tick)));
    canvas.levels(y, (LEFT, RIGHT), y.ticks().into_iter().map(labelled))?;
    let ticks: Vec<f64> =
        if sizes.len() <= SIZES_MAX { sizes.iter().map(|&size| f64::from(size)).collect() } else { x.ticks() };
    canvas.columns(x, (TOP, BOTTOM), ticks.into_iter().map(labelled))?;
    canvas.foot((LEFT, RIGHT), BOTTOM, "candidates in a group (logarithmic)")?;

    let pen = Stroke::new(INK, 1).dash(Dash::Dashed);
    canvas.line((LEFT, y.at(1.0)), (RIGHT, y.at(1.0)), pen)?;
    canvas.text((RIGHT + 8, y.at(1.0)), "one", Align::Left, false)?;
    let (low, high) = (sizes.first().copied().unwrap_or(1), sizes.last().copied().unwrap_or(1));
    let (low, high) = (f64::from(low) / 1.4, f64::from(high) * 1.4);
    let others = |share: f64| low * (high / low).powf(share);
    let curve = (0..=40).map(|i| others(f64::from(i) / 40.0)).map(|size| (x.at(size), y.at((size - 1.0).max(0.0))));
    canvas.path(curve.collect(), pen)?;
    // Kept clear of the label below it where both lines end close together.
    let end = y.at(high - 1.0).min(y.at(1.0) - 18);
    canvas.text((RIGHT + 8, end), "all others", Align::Left, false)
}
