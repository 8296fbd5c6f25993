//! Which groups fell together: for each injection that left sessions to expire, in how many groups the loss was noticed, tick by
//! tick.

use super::canvas::{Align, Canvas, DrawResult, Figure, PlotError, Stroke, figure};
use super::chart::{Chart, ChartScope};
use super::palette::BLUE;
use super::scale::{Scale, ScaleKind};
use crate::render::{clean, format};
use crate::summary::{CellSummary, CorrelatedExpiry};
use hustings_record::numbers::{to_i32, whole_i32};

pub(super) const CHART: Chart = Chart {
    heading: "Groups that fell together",
    about: "A lane for each injection that left sessions to expire, a bar for each of the servers' ticks in which the loss of a leader \
            was first noticed, as high as many groups it was in. Sessions that end in one tick end at once: their groups are \
            without a leader together, and one injection is one piece of evidence.",
    draw: ChartScope::Cell(draw),
};

const LANES_MAX: usize = 12;
const WIDTH: i32 = 860;
const LEFT: i32 = 150;
const RIGHT: i32 = WIDTH - 130;
const TOP: i32 = 34;
const LANE: i32 = 44;
const BAR_MAX: i32 = 32;

fn draw(cell: &CellSummary) -> Result<Vec<Figure>, PlotError> {
    let correlated_expiries: Vec<&CorrelatedExpiry> = cell
        .correlated_expiries
        .iter()
        .filter(|correlated_expiry| correlated_expiry.groups > 1)
        .take(LANES_MAX)
        .collect();
    if correlated_expiries.is_empty() {
        return Ok(Vec::new());
    }
    let bottom = TOP + LANE * i32::try_from(correlated_expiries.len()).unwrap_or(0);
    let title = "Groups that lost their leader to one injection".to_owned();
    let figure = figure(title, words(&correlated_expiries), (WIDTH, bottom + 52), |canvas| {
        let ends = correlated_expiries.iter().flat_map(|correlated_expiry| {
            correlated_expiry.noticed.iter().map(|&(tick, _)| (tick + 1) as f64 * correlated_expiry.tick as f64)
        });
        let x = Scale::new(ScaleKind::Linear, 0.0, ends.fold(1.0, f64::max), (LEFT, RIGHT));
        canvas.times(&x, (TOP, bottom))?;
        for (i, correlated_expiry) in correlated_expiries.iter().enumerate() {
            lane(canvas, &x, correlated_expiry, TOP + LANE * to_i32(i))?;
        }
        canvas.foot((LEFT, RIGHT), bottom, "time since the first of these leads was lost")
    })?;
    Ok(vec![figure])
}

fn lane(canvas: &Canvas<'_>, x: &Scale, correlated_expiry: &CorrelatedExpiry, top: i32) -> DrawResult {
    let foot = top + LANE - 4;
    canvas.line((LEFT, foot), (RIGHT, foot), Stroke::grid())?;
    let name = format!("{} +{}", correlated_expiry.kind.name(), format::duration(correlated_expiry.at));
    canvas.text((LEFT - 8, foot - 10), &clean::short(&name, 18), Align::Right, false)?;
    for &(tick, groups) in &correlated_expiry.noticed {
        let at = |ticks: u64| x.at(ticks as f64 * correlated_expiry.tick as f64);
        let height = whole_i32((f64::from(BAR_MAX) * groups as f64 / correlated_expiry.groups.max(1) as f64).ceil());
        let (from, to) = (at(tick), at(tick.saturating_add(1)));
        canvas.bar((from, foot - height.clamp(1, BAR_MAX)), (to.max(from + 2), foot), BLUE, 1.0)?;
    }
    let share =
        format!("{} of {}", format::count(correlated_expiry.most_together()), format::count(correlated_expiry.groups));
    canvas.text((RIGHT + 8, foot - 20), &share, Align::Left, false)?;
    canvas.text((RIGHT + 8, foot - 5), "in one tick", Align::Left, false)
}

fn words(correlated_expiries: &[&CorrelatedExpiry]) -> String {
    let one = |correlated_expiry: &&CorrelatedExpiry| {
        format!(
            "{} at +{}: {}, at most {} in one tick, {} never noticed",
            correlated_expiry.kind.name(),
            format::duration(correlated_expiry.at),
            format::plural(correlated_expiry.groups, "group", "groups"),
            format::count(correlated_expiry.most_together()),
            format::count(correlated_expiry.never)
        )
    };
    format!("{}.", correlated_expiries.iter().map(one).collect::<Vec<_>>().join("; "))
}
