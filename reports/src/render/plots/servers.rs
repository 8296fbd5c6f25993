//! The states of the ensemble's servers, a lane per server, over the share of the groups with a leader; and the same
//! lanes for the pictures of single groups.

use super::bands::Bands;
use super::bars::{BarFill, sample_name};
use super::canvas::{Align, Canvas, DrawResult, Figure, INK, PlotError, Stroke, figure};
use super::chart::{Chart, ChartScope};
use super::palette::{BLUE, GREEN, GREY, PURPLE, SKY};
use super::scale::{Scale, ScaleKind};
use crate::render::format;
use crate::summary::{CellSummary, ServerBar, ServerWatchSection, WriteProbes};
use hustings_record::numbers::{to_i32, whole_i32};
use hustings_record::{Nanos, ServerState};

pub(super) const CHART: Chart = Chart {
    heading: "States of the servers over time",
    about: "A lane for each server, as it answered when it was asked; below, the share of the groups that somebody led. Dark \
            blue leads, light blue follows, purple and hatched says that it does not serve, grey gave no answer, an empty \
            frame is down. The lane below them, where probes wrote: vermillion and hatched while no write was acknowledged. \
            Orange bands: faults on servers.",
    draw: ChartScope::Cell(draw),
};

const SERVERS_MAX: usize = 15;
const WIDTH: i32 = 860;
const LEFT: i32 = 190;
const RIGHT: i32 = WIDTH - 24;
const TOP: i32 = 66;
const LANE: i32 = 24;
/// Height of the lane of writes.
const WRITES: i32 = 18;
const BAR: i32 = 14;
const SHARE: i32 = 80;
/// An outage shorter than this share of the picture gets a second, closer picture.
const CLOSER_BELOW: f64 = 0.1;
const CLOSER_MAX: usize = 3;

fn draw(cell: &CellSummary) -> Result<Vec<Figure>, PlotError> {
    let Some(watch) = cell.ensemble.watch.as_ref().filter(|watch| watch.to > watch.from) else { return Ok(Vec::new()) };
    if cell.ensemble.states.is_empty() {
        return Ok(Vec::new());
    }
    let whole = (watch.from, watch.to);
    let mut figures = vec![ServersView { cell, watch, window: whole }.draw("The servers of the ensemble".into())?];
    for (i, election) in cell.ensemble.elections.iter().enumerate() {
        let (from, to) = (election.lost.0, election.ended.map_or(election.lost.1, |ended| ended.1));
        let (from, to) = election.writes.map_or((from, to), |gap| (from.min(gap.from), to.max(gap.to)));
        let length = to.saturating_sub(from);
        if figures.len() > CLOSER_MAX || length == 0 || length as f64 > CLOSER_BELOW * (whole.1 - whole.0) as f64 {
            continue;
        }
        let margin = length.saturating_mul(2);
        let window = (from.saturating_sub(margin).max(whole.0), to.saturating_add(margin).min(whole.1));
        if window.0 < window.1 {
            figures.push(ServersView { cell, watch, window }.draw(format!("Election {}, closer", i + 1))?);
        }
    }
    Ok(figures)
}

/// Lanes of server states, and of the probes' writes, on somebody's time axis.
pub(super) struct Lanes<'a> {
    bars: &'a [ServerBar],
    writes: Option<&'a WriteProbes>,
    servers: Vec<u32>,
    window: (Nanos, Nanos),
}

impl<'a> Lanes<'a> {
    pub(super) fn new(cell: &'a CellSummary, window: (Nanos, Nanos)) -> Self {
        let bars = &cell.ensemble.states;
        let mut servers: Vec<u32> = bars.iter().map(|bar| bar.server).collect();
        servers.sort_unstable();
        servers.dedup();
        servers.truncate(SERVERS_MAX);
        let writes = cell.ensemble.watch.as_ref().and_then(|watch| watch.writes.as_ref());
        Self { bars, writes, servers, window }
    }

    pub(super) fn height(&self) -> i32 {
        let writes = if self.writes.is_some() { WRITES } else { 0 };
        LANE * i32::try_from(self.servers.len()).unwrap_or(0) + writes
    }

    /// Draws them from `top` on, with the times of the window laid out by `x` from 0 on.
    pub(super) fn draw(&self, canvas: &Canvas<'_>, x: &Scale, (left, right): (i32, i32), top: i32) -> DrawResult {
        for (i, &server) in self.servers.iter().enumerate() {
            let top = top + LANE * to_i32(i);
            canvas.line((0, top), (right, top), Stroke::grid())?;
            canvas.text((left - 10, top + LANE / 2), &format!("server {server}"), Align::Right, false)?;
            for bar in self.bars.iter().filter(|bar| bar.server == server) {
                let (from, to) = (bar.from.max(self.window.0), bar.to.min(self.window.1));
                if from < to {
                    let at = |t: Nanos| x.at((t - self.window.0) as f64);
                    let (from, to) = (at(from), at(to));
                    let top = top + (LANE - BAR) / 2;
                    fill(bar.state).bar(canvas, (from, to), (top, top + BAR), 1)?;
                }
            }
        }
        match self.writes {
            Some(writes) => self.gaps(canvas, x, (left, right), top + self.height() - WRITES, writes),
            None => Ok(()),
        }
    }

    fn gaps(
        &self,
        canvas: &Canvas<'_>,
        x: &Scale,
        (left, right): (i32, i32),
        top: i32,
        writes: &WriteProbes,
    ) -> DrawResult {
        canvas.line((0, top), (right, top), Stroke::grid())?;
        canvas.text((left - 10, top + WRITES / 2), "writes", Align::Right, false)?;
        let at = |t: Nanos| x.at((t - self.window.0) as f64);
        let began = writes.from.max(self.window.0);
        if began < self.window.1 {
            let middle = top + WRITES / 2;
            canvas.line((at(began), middle), (right, middle), Stroke { alpha: 0.6, ..Stroke::new(GREEN, 2) })?;
        }
        for &(from, to) in &writes.gaps {
            let (from, to) = (from.max(self.window.0), to.min(self.window.1));
            if from < to {
                BarFill::striped().bar(canvas, (at(from), at(to)), (top + 4, top + WRITES - 4), 2)?;
            }
        }
        Ok(())
    }

    /// What the lanes show by name, from `left` on; where it ends.
    pub(super) fn legend(&self, canvas: &Canvas<'_>, left: i32, at: i32) -> Result<i32, PlotError> {
        let mut left = legend(canvas, left, at)?;
        if self.writes.is_some() {
            BarFill::striped().bar(canvas, (left, left + 20), (at - 5, at + 5), 0)?;
            left = sample_name(canvas, left, at, "no write acknowledged")?;
        }
        Ok(left)
    }
}

fn fill(state: ServerState) -> BarFill {
    match state {
        ServerState::Leading | ServerState::Standalone => BarFill::Plain(BLUE, 1.0),
        ServerState::Following => BarFill::Plain(SKY, 0.7),
        ServerState::NotServing => BarFill::Hatched { ground: (PURPLE, 0.45), lines: Stroke::new(PURPLE, 1) },
        ServerState::Silent => BarFill::Plain(GREY, 0.6),
        ServerState::Down => BarFill::Empty(Stroke { alpha: 0.5, ..Stroke::new(INK, 1) }),
    }
}

const LEGEND: [ServerState; 5] =
    [ServerState::Leading, ServerState::Following, ServerState::NotServing, ServerState::Silent, ServerState::Down];

/// The states by name, from `left` on; where they end.
fn legend(canvas: &Canvas<'_>, mut left: i32, at: i32) -> Result<i32, PlotError> {
    for shown in LEGEND {
        left = fill(shown).sample(canvas, left, at, shown.name())?;
    }
    Ok(left)
}

struct ServersView<'a> {
    cell: &'a CellSummary,
    watch: &'a ServerWatchSection,
    window: (Nanos, Nanos),
}

impl ServersView<'_> {
    fn draw(&self, title: String) -> Result<Figure, PlotError> {
        let lanes = Lanes::new(self.cell, self.window);
        let groups = self.cell.info.groups.len();
        let shares = groups > 0 && !self.watch.led.is_empty();
        let lanes_end = TOP + lanes.height();
        let bottom = if shares { lanes_end + SHARE + 14 } else { lanes_end };
        figure(title, self.words(), (WIDTH, bottom + 82), |canvas| {
            let length = self.window.1.saturating_sub(self.window.0);
            let x = Scale::new(ScaleKind::Linear, 0.0, length as f64, (LEFT, RIGHT));
            let bands = Bands { x: &x, window: self.window, right: RIGHT, top: TOP, bottom };
            bands.draw(canvas, self.watch.faults.iter().map(|fault| (fault.kind, (fault.from, fault.to))))?;
            canvas.times(&x, (TOP, bottom))?;
            lanes.draw(canvas, &x, (LEFT, RIGHT), TOP)?;
            if shares {
                self.shares(canvas, &x, (lanes_end + 14, bottom), groups)?;
            }
            let since = match self.window.0.saturating_sub(self.watch.from) {
                0 => "time since the watch of the servers began".into(),
                later => format!("time since {} into the picture above", format::duration(later)),
            };
            canvas.foot((LEFT, RIGHT), bottom, &since)?;
            let left = lanes.legend(canvas, 8, bottom + 64)?;
            if shares {
                BarFill::Plain(GREEN, 0.5).sample(canvas, left, bottom + 64, "groups led")?;
            }
            Ok(())
        })
    }

    fn words(&self) -> String {
        let outages = self.cell.ensemble.elections.iter().map(|e| format::duration(e.outage.1)).collect::<Vec<_>>();
        let outages = if outages.is_empty() { "none".into() } else { outages.join(", ") };
        let longest = self.watch.writes.as_ref().and_then(|writes| writes.longest.as_ref());
        let gap = longest.map_or_else(String::new, |gap| {
            format!(
                "; longest time without an acknowledged write: {}",
                format::duration(gap.to.saturating_sub(gap.from))
            )
        });
        format!(
            "States of the servers over {}: {}{gap}; without a serving quorum, at most: {outages}. The same is told in the \
             table above.",
            format::duration(self.window.1.saturating_sub(self.window.0)),
            format::plural(self.cell.ensemble.elections.len() as u64, "election", "elections"),
        )
    }

    /// A step for every change, from nobody leads (at the foot) to every group is led.
    fn shares(&self, canvas: &Canvas<'_>, x: &Scale, (top, foot): (i32, i32), groups: usize) -> DrawResult {
        canvas.text((LEFT - 10, (top + foot) / 2), "groups led", Align::Right, false)?;
        canvas.text((LEFT - 10, top + 6), "all", Align::Right, false)?;
        canvas.text((LEFT - 10, foot - 6), "none", Align::Right, false)?;
        canvas.line((LEFT, top), (RIGHT, top), Stroke::grid())?;
        let led = &self.watch.led;
        let first = led.partition_point(|step| step.0 <= self.window.0);
        let mut now = first.checked_sub(1).map_or(0, |before| led[before].1);
        let mut from = self.window.0;
        let ends = led[first..].iter().copied().take_while(|step| step.0 < self.window.1);
        for (t, next) in ends.chain([(self.window.1, 0)]) {
            let at = |t: Nanos| x.at(t.saturating_sub(self.window.0) as f64);
            let height = whole_i32((f64::from(foot - top) * (now as f64 / groups as f64).min(1.0)).round());
            if height > 0 && at(t) > at(from) {
                canvas.bar((at(from), foot - height), (at(t), foot), GREEN, 0.5)?;
            }
            (from, now) = (t.max(from), next);
        }
        Ok(())
    }
}
