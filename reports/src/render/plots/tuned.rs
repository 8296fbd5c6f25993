//! How long a session timeout should be, in two pictures: which pauses expire a session, and what each timeout costs.

use super::canvas::{Align, Canvas, Dash, DrawResult, Figure, INK, PlotError, Stroke, chars_in, figure, text_width};
use super::palette::{BLUE, GREY, ORANGE, VERMILLION};
use super::scale::{Scale, ScaleKind};
use crate::render::advice::{TRADE_OFFS, rate, yours};
use crate::render::clean;
use crate::render::format::{duration, setting_ms, share};
use crate::tune::{Advice, Band, ExpirySettings, TimeoutRow};
use hustings_record::numbers::whole;

const WIDTH: i32 = 860;
const LEFT: i32 = 84;
const RIGHT: i32 = WIDTH - 24;
const TOP: i32 = 44;
const BOTTOM: i32 = TOP + 260;
const LEGEND_ROW: i32 = 20;
/// Longer pauses than this, in T, expire everything.
const OF_T_MAX: f64 = 1.6;
const STEPS: i32 = 320;
/// Rates below one a week need room on a logarithmic axis.
const THOUSAND: f64 = 1e3;

/// Which pauses expire a session of the recommended timeout; and what was measured, at the timeout that it was measured with.
pub(crate) fn expiry(advice: &Advice, measured: &[Band]) -> Result<Figure, PlotError> {
    let timeout = advice.recommended.timeout_ms;
    let setting = ExpirySettings::of(advice.client, timeout as f64, advice.tick_ms as f64, advice.reconnect_ms);
    let title = format!("Share of sessions that a pause expires, T = {}", setting_ms(timeout));
    let midpoint = advice.curve.midpoint_ms(&setting) / setting.timeout_ms;
    let points: Vec<String> = measured
        .iter()
        .map(|band| format!("{} of {} at {}", band.expired, band.sessions, of_t(middle(band))))
        .collect();
    let told =
        if points.is_empty() { "nothing was measured".to_owned() } else { format!("measured: {}", points.join(", ")) };
    let about = format!("From none to all of them, half at {}; {told}.", of_t(midpoint));
    let rows = 1 + 2 * i32::from(!measured.is_empty());
    figure(title, about, (WIDTH, BOTTOM + 58 + LEGEND_ROW * rows), |canvas| {
        let x = Scale::new(ScaleKind::Linear, 0.0, OF_T_MAX, (LEFT, RIGHT));
        let y = Scale::new(ScaleKind::Linear, 0.0, 1.0, (BOTTOM, TOP));
        grid(canvas, &x, &y, of_t, share, "length of the pause, in T")?;
        let path = |of: &dyn Fn(f64) -> f64| -> Vec<(i32, i32)> {
            let steps = (0..=STEPS).map(|i| f64::from(i) / f64::from(STEPS) * OF_T_MAX);
            steps.map(|at| (x.at(at), y.at(of(at)))).collect()
        };
        let own = |at: f64| advice.curve.expired_share(&setting, at * setting.timeout_ms);
        canvas.path(path(&own), Stroke::new(BLUE, 2))?;
        let mut legend = Legend::new(canvas);
        legend.line(Stroke::new(BLUE, 2), &format!("with T = {} and your client", setting_ms(timeout)))?;
        if !measured.is_empty() {
            let fitted = measured.iter().map(|band| (x.at(middle(band)), y.at(band.fitted))).collect();
            let pen = Stroke::new(VERMILLION, 2).dash(Dash::Dashed);
            canvas.path(fitted, pen)?;
            legend.line(pen, "the same fit, at the timeout that was measured with")?;
            for band in measured {
                let at = x.at(middle(band));
                canvas.line(
                    (at, y.at(band.low)),
                    (at, y.at(band.high)),
                    Stroke { alpha: 0.6, ..Stroke::new(INK, 1) },
                )?;
                canvas.dot((at, y.at(band.expired as f64 / band.sessions.max(1) as f64)), 4, ORANGE)?;
            }
            legend.dot("measured there, with its 95 % interval")?;
        }
        Ok(())
    })
}

/// False failovers against the time without a leader, a point a timeout; those on the front are joined.
pub(crate) fn front(advice: &Advice) -> Result<Figure, PlotError> {
    let title = "What each timeout costs a week".to_owned();
    let told = |row: &&TimeoutRow| {
        let falsely = rate(row.false_failovers.per_week);
        format!("T = {}: {falsely} false failovers, {}", setting_ms(row.timeout_ms), lost(row))
    };
    let on_front: Vec<&TimeoutRow> = advice.rows.iter().filter(|row| row.on_front).collect();
    let about = format!(
        "Best trade-offs: {}. Recommended: {}.",
        on_front.iter().map(told).collect::<Vec<_>>().join("; "),
        setting_ms(advice.recommended.timeout_ms)
    );
    let rows = 4 + i32::from(advice.used.is_some());
    figure(title, about, (WIDTH, BOTTOM + 58 + LEGEND_ROW * rows), |canvas| {
        let most = |of: fn(&TimeoutRow) -> f64| advice.rows.iter().map(of).fold(0.0, f64::max) * THOUSAND;
        let right = most(|row| row.false_failovers.high).max(advice.acceptable_per_week * THOUSAND);
        let x = Scale::new(ScaleKind::LogWithZero, 0.0, right * 1.3, (LEFT, RIGHT));
        let least = advice.rows.iter().map(TimeoutRow::downtime_s_per_week).fold(f64::INFINITY, f64::min) * THOUSAND;
        let y = Scale::new(ScaleKind::Log, least / 1.5, most(TimeoutRow::downtime_s_per_week) * 1.5, (BOTTOM, TOP));
        let axis = "false failovers a week (logarithmic); upwards: time without a leader a week";
        grid(canvas, &x, &y, |n| rate(n / THOUSAND), |ms| duration(whole(ms * 1e6)), axis)?;
        let at = |row: &TimeoutRow| {
            (x.at(row.false_failovers.per_week * THOUSAND), y.at(row.downtime_s_per_week() * THOUSAND))
        };
        let acceptable = x.at(advice.acceptable_per_week * THOUSAND);
        let limit = Stroke::new(VERMILLION, 1).dash(Dash::Dotted);
        canvas.line((acceptable, TOP), (acceptable, BOTTOM), limit)?;
        let joined: Vec<(i32, i32)> = on_front.iter().map(|row| at(row)).collect();
        if joined.len() > 1 {
            canvas.path(joined, Stroke::new(BLUE, 1))?;
        }
        let mut free_from = i32::MIN;
        let mut rows: Vec<&TimeoutRow> = advice.rows.iter().collect();
        rows.sort_by_key(|row| at(row).0);
        for row in rows {
            let (here, bound) = (at(row), x.at(row.false_failovers.high * THOUSAND));
            canvas.line(here, (bound, here.1), Stroke { alpha: 0.35, ..Stroke::new(INK, 1) })?;
            canvas.dot(here, 4, if row.on_front { BLUE } else { GREY })?;
            let is_recommended = row.timeout_ms == advice.recommended.timeout_ms;
            if is_recommended {
                canvas.ring(here, 8, Stroke::new(VERMILLION, 2))?;
            }
            let is_yours = advice.is_used(row);
            if is_yours {
                canvas.ring(here, 12, Stroke::new(INK, 2))?;
            }
            let is_named = is_recommended || is_yours;
            let label = if is_yours { yours(row.timeout_ms) } else { setting_ms(row.timeout_ms) };
            let half = text_width(&label) / 2;
            // The recommended one and the user's own are named whatever stands beside them.
            if is_named || here.0 - half >= free_from {
                let label = clean::short(&label, chars_in(120));
                canvas.text((here.0.max(LEFT + half), here.1 - 16), &label, Align::Middle, is_named)?;
                free_from = here.0 + half + 8;
            }
        }
        let mut legend = Legend::new(canvas);
        legend.line(Stroke::new(BLUE, 1), TRADE_OFFS)?;
        legend.line(Stroke { alpha: 0.35, ..Stroke::new(INK, 1) }, "from the estimate to the upper bound (95 %)")?;
        legend.line(limit, &format!("{} a week are acceptable", rate(advice.acceptable_per_week)))?;
        legend.ring(Stroke::new(VERMILLION, 2), "recommended")?;
        if advice.used.is_some() { legend.ring(Stroke::new(INK, 2), "yours") } else { Ok(()) }
    })
}

fn lost(row: &TimeoutRow) -> String {
    format!("{} without a leader", duration(whole(row.downtime_s_per_week() * 1e9)))
}

fn middle(band: &Band) -> f64 {
    f64::midpoint(band.from, band.to)
}

fn of_t(value: f64) -> String {
    format!("{value:.2} T")
}

fn grid(
    canvas: &Canvas<'_>,
    x: &Scale,
    y: &Scale,
    across: impl Fn(f64) -> String,
    up: impl Fn(f64) -> String,
    axis: &str,
) -> DrawResult {
    canvas.levels(y, (LEFT, RIGHT), y.ticks().into_iter().map(|tick| (tick, up(tick))))?;
    canvas.columns(x, (TOP, BOTTOM), x.ticks().into_iter().map(|tick| (tick, across(tick))))?;
    canvas.foot((LEFT, RIGHT), BOTTOM, axis)
}

/// Lines below a drawing that say what is what.
struct Legend<'a, 'b> {
    canvas: &'a Canvas<'b>,
    at: i32,
}

impl<'a, 'b> Legend<'a, 'b> {
    fn new(canvas: &'a Canvas<'b>) -> Self {
        Self { canvas, at: BOTTOM + 42 }
    }

    fn row(&mut self, text: &str) -> Result<i32, PlotError> {
        self.at += LEGEND_ROW;
        self.canvas.text((LEFT + 42, self.at), text, Align::Left, false)?;
        Ok(self.at)
    }

    fn line(&mut self, pen: Stroke, text: &str) -> DrawResult {
        let at = self.row(text)?;
        self.canvas.line((LEFT, at), (LEFT + 30, at), pen)
    }

    fn dot(&mut self, text: &str) -> DrawResult {
        let at = self.row(text)?;
        self.canvas.dot((LEFT + 15, at), 4, ORANGE)
    }

    fn ring(&mut self, pen: Stroke, text: &str) -> DrawResult {
        let at = self.row(text)?;
        self.canvas.ring((LEFT + 15, at), 7, pen)
    }
}
