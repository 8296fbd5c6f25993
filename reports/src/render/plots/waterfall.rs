//! One real failover of each cell, the one in the middle, step by step: a bar a step, each beginning where the one before it ended,
//! and the floor: when the session could expire at the earliest, or, without a session to wait for, what the messages alone take.

use std::collections::BTreeMap;

use plotters::style::RGBColor;

use super::bars::BarFill;
use super::canvas::{Align, Canvas, Dash, DrawResult, Figure, INK, PlotError, Stroke, chars_in, figure, text_width};
use super::chart::{Chart, ChartScope};
use super::palette::{BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION};
use super::scale::{Scale, ScaleKind};
use crate::render::differing_parameters::{Axis, DifferingParameters};
use crate::render::{clean, format};
use crate::summary::{CellSummary, FailoverTimeline, Summary};
use hustings_record::Nanos;
use hustings_record::numbers::{to_i32, whole, whole_i32};

pub(super) const CHART: Chart = Chart {
    heading: "Where the time goes",
    about: "One real failover of each cell, step by step: the one in the middle, for half of them were no longer. Time 0 is the \
            loss of the lead. Heard of last: of a session that is left to expire, its last sign of life. T runs out: until its \
            session could expire at the earliest, which is T's price and nobody's fault. Release: of a resignation, until its \
            deletion was sent. Noticed: until the first watcher was told. Spread: until the last one was. Decided: until the \
            grant. Acts: until the first accepted write. The dashed line is the floor: before it nobody can know that a session \
            is over; without a session to wait for, it is when a deletion is told and the group listed with no election at all, \
            at the median, and before that nobody can well be granted the lead.",
    draw: ChartScope::Configurations(draw),
};

/// Cells in one figure.
const BLOCKS_MAX: usize = 9;
/// The longest failover of a figure, in lengths of its shortest.
const SCALE_MAX: Nanos = 20;
/// Detection is this much longer than all that follows: what follows gets a figure of its own.
const SQUEEZED: Nanos = 30;
const WIDTH: i32 = 900;
const LEFT: i32 = 118;
/// Room for the figures behind the bars.
const RIGHT: i32 = WIDTH - 90;
const TOP: i32 = 34;
const HEAD: i32 = 22;
const ROW: i32 = 16;
const BAR: i32 = 11;
const GAP: i32 = 12;

/// A cell with its failover in the middle.
type WaterfallEntry<'a> = (&'a CellSummary, FailoverTimeline);

fn draw(summary: &Summary) -> Result<Vec<Figure>, PlotError> {
    let mut faults: BTreeMap<&str, Vec<WaterfallEntry<'_>>> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for cell in &summary.cells {
        let Some(timeline) = cell.failover.course else { continue };
        let entries = faults.entry(&cell.info.fault).or_default();
        if entries.is_empty() {
            order.push(&cell.info.fault);
        }
        entries.push((cell, timeline));
    }
    let mut figures = Vec::new();
    for fault in order {
        let apart = DifferingParameters::of(faults[fault].iter().map(|(cell, _)| *cell));
        let parts = parts(&faults[fault]);
        for (i, part) in parts.iter().enumerate() {
            let suffix = if parts.len() > 1 { format!(" ({} of {})", i + 1, parts.len()) } else { String::new() };
            let name = clean::short(fault, 40);
            figures.push(
                WaterfallChart::new(part, &apart, AxisStart::Loss)
                    .draw(format!("A failover in steps: {name}{suffix}"))?,
            );
            if squeezed(part) {
                let title = format!("The same from the first notification on: {name}{suffix}");
                figures.push(WaterfallChart::new(part, &apart, AxisStart::Told).draw(title)?);
            }
        }
    }
    Ok(figures)
}

fn end_of(timeline: &FailoverTimeline) -> Nanos {
    timeline.written.unwrap_or(0).max(timeline.granted)
}

/// Cells that one scale does justice to: a slow recipe must not squeeze the others into a few pixels.
fn parts<'a>(entries: &[WaterfallEntry<'a>]) -> Vec<Vec<WaterfallEntry<'a>>> {
    let mut parts = Vec::new();
    let mut rest = entries.to_vec();
    while let Some(shortest) = rest.iter().map(|(_, timeline)| end_of(timeline).max(1)).min() {
        let limit = shortest.saturating_mul(SCALE_MAX);
        let (fits, longer): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|(_, timeline)| end_of(timeline).max(1) <= limit);
        parts.extend(fits.chunks(BLOCKS_MAX).map(<[_]>::to_vec));
        rest = longer;
    }
    parts
}

/// Whether noticing takes so long that nothing can be seen of what comes after it.
fn squeezed(entries: &[WaterfallEntry<'_>]) -> bool {
    let told = entries.iter().filter_map(|(_, timeline)| timeline.told).max().unwrap_or(0);
    let after = entries.iter().filter_map(|(_, timeline)| Some(end_of(timeline).saturating_sub(timeline.told?))).max();
    after.is_some_and(|after| after.saturating_mul(SQUEEZED) < told)
}

/// Where the time axis begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AxisStart {
    Loss,
    Told,
}

/// A step, from one moment to a later one.
struct WaterfallStep {
    name: &'static str,
    from: f64,
    to: f64,
    colour: RGBColor,
    hatched: bool,
}

/// What is drawn of one cell.
struct Block {
    label: String,
    steps: Vec<WaterfallStep>,
    floor: Option<f64>,
}

impl Block {
    fn new(cell: &CellSummary, timeline: &FailoverTimeline, label: String, begin: AxisStart) -> Self {
        let mut steps = steps(timeline);
        let messages = cell.failover.floor.as_ref().and_then(|floor| floor.p50);
        let expires = cell.info.fault_kind.facts().lets_sessions_expire;
        let mut floor = floor(timeline, expires, messages).map(|floor| floor as f64);
        if begin == AxisStart::Told {
            let told = timeline.told.unwrap_or(timeline.granted) as f64;
            steps.retain(|step| step.from >= told);
            steps.iter_mut().for_each(|step| (step.from, step.to) = (step.from - told, step.to - told));
            floor = None;
        }
        let label = match begin {
            AxisStart::Loss => {
                let floor =
                    floor.map_or_else(String::new, |floor| format!(", floor {}", format::duration(whole(floor))));
                format!("{label}: {} to the grant{floor}", format::duration(timeline.granted))
            }
            AxisStart::Told => label,
        };
        Self { label, steps, floor }
    }
}

fn steps(timeline: &FailoverTimeline) -> Vec<WaterfallStep> {
    let mut steps = Vec::new();
    let mut now = 0;
    let mut until = |name, to: Nanos, colour| {
        let to = to.max(now);
        steps.push(WaterfallStep { name, from: now as f64, to: to as f64, colour, hatched: false });
        now = to;
    };
    if let Some(released) = timeline.released.filter(|&released| released > 0) {
        until("release", released, PURPLE);
    }
    let noticed = timeline.told.unwrap_or(timeline.granted);
    if let Some(due) = timeline.due {
        until("T runs out", due.min(noticed), PALE_GREY);
    }
    match timeline.told {
        Some(told) => {
            until("noticed", told, SKY);
            until("decided", timeline.granted, BLUE);
        }
        // Nobody waits to be told, or nobody was in time.
        None => until("granted", timeline.granted, BLUE),
    }
    if let Some(written) = timeline.written {
        until("acts", written, GREEN);
    }
    if let Some((told, last)) = timeline.told.zip(timeline.last_told).filter(|(told, last)| last > told) {
        let at = steps.iter().position(|step| step.name == "decided").unwrap_or(steps.len());
        let (from, to) = (told as f64, last as f64);
        steps.insert(at, WaterfallStep { name: "spread", from, to, colour: ORANGE, hatched: true });
    }
    if let Some(before) = timeline.touched_before {
        let (name, colour, hatched) = ("heard of last", GREY, true);
        steps.insert(0, WaterfallStep { name, from: -(before as f64), to: 0.0, colour, hatched });
    }
    steps
}

/// What is nobody's doing.
const PALE_GREY: RGBColor = RGBColor(180, 186, 192);

/// The floor, in time since the loss. It has two meanings.
///
/// - The session had to expire: when it could do so at the earliest. Before that no candidate can be notified. None where that is
///   not known, as of a client that came back. `expires`: the cell's fault leaves sessions to expire; a resigner's is none of these.
/// - Else: the release, and then the median of *delete → notified → listed* without an election (`messages`). It is no hard limit on
///   one grant, since half of those samples were shorter.
fn floor(timeline: &FailoverTimeline, expires: bool, messages: Option<Nanos>) -> Option<Nanos> {
    match timeline.due {
        None if expires && timeline.released.is_none() => None,
        None => Some(timeline.released.unwrap_or(0).saturating_add(messages?)),
        due => due,
    }
}

struct WaterfallChart {
    blocks: Vec<Block>,
    begin: AxisStart,
}

impl WaterfallChart {
    fn new(entries: &[WaterfallEntry<'_>], apart: &DifferingParameters, begin: AxisStart) -> Self {
        let label = |cell: &CellSummary| apart.label(cell, &[Axis::Fault]);
        let blocks = entries.iter().map(|(cell, timeline)| Block::new(cell, timeline, label(cell), begin));
        Self { blocks: blocks.filter(|block| !block.steps.is_empty()).collect(), begin }
    }

    fn draw(&self, title: String) -> Result<Figure, PlotError> {
        let rows = |block: &Block| HEAD + ROW * i32::try_from(block.steps.len()).unwrap_or(0) + GAP;
        let bottom = TOP + self.blocks.iter().map(rows).sum::<i32>();
        figure(title, self.words(), (WIDTH, bottom + 52), |canvas| {
            let clock = TimeAxis::new(&self.blocks);
            clock.ticks(canvas, bottom)?;
            let x_title = match self.begin {
                AxisStart::Loss => "time since the lead was lost",
                AxisStart::Told => "time since the first watcher was told",
            };
            canvas.text(((LEFT + RIGHT) / 2, bottom + 36), x_title, Align::Middle, false)?;
            let mut top = TOP;
            for block in &self.blocks {
                block.draw(canvas, &clock, top)?;
                top += rows(block);
            }
            Ok(())
        })
    }

    fn words(&self) -> String {
        let step = |step: &WaterfallStep| format!("{} {}", step.name, length(step));
        let block = |block: &Block| {
            let steps: Vec<String> = block.steps.iter().map(step).collect();
            format!("{} ({})", block.label, steps.join(", "))
        };
        format!("A bar for each step. {}.", self.blocks.iter().map(block).collect::<Vec<_>>().join("; "))
    }
}

fn length(step: &WaterfallStep) -> String {
    format::duration(whole(step.to - step.from))
}

/// Time from left to right; what came before the loss lies left of zero.
struct TimeAxis {
    after: Scale,
    before: f64,
    zero: i32,
}

impl TimeAxis {
    fn new(blocks: &[Block]) -> Self {
        let steps = || blocks.iter().flat_map(|block| &block.steps);
        let before = steps().map(|step| -step.from).fold(0.0, f64::max);
        let floors = blocks.iter().filter_map(|block| block.floor);
        let after = steps().map(|step| step.to).chain(floors).fold(1.0, f64::max);
        let zero = LEFT + whole_i32((f64::from(RIGHT - LEFT) * before / (before + after)).round());
        let zero = zero.clamp(LEFT, RIGHT - 1);
        Self { after: Scale::new(ScaleKind::Linear, 0.0, after, (zero, RIGHT)), before, zero }
    }

    fn at(&self, t: f64) -> i32 {
        if t >= 0.0 {
            return self.after.at(t);
        }
        let share = (t / self.before.max(1.0)).clamp(-1.0, 0.0);
        self.zero + whole_i32((share * f64::from(self.zero - LEFT)).round())
    }

    fn ticks(&self, canvas: &Canvas<'_>, bottom: i32) -> DrawResult {
        let mut free_from = i32::MIN;
        for tick in self.after.ticks() {
            let (at, label) = (self.at(tick), format::tick(tick));
            let half = text_width(&label) / 2;
            if at - half >= free_from {
                canvas.text((at, bottom + 14), &label, Align::Middle, false)?;
                free_from = at + half + 6;
            }
        }
        canvas.line((LEFT, bottom), (RIGHT, bottom), Stroke::new(INK, 1))
    }
}

impl Block {
    fn draw(&self, canvas: &Canvas<'_>, clock: &TimeAxis, top: i32) -> DrawResult {
        canvas.text((4, top + 9), &clean::short(&self.label, chars_in(WIDTH - 8)), Align::Left, false)?;
        let bottom = top + HEAD + ROW * i32::try_from(self.steps.len()).unwrap_or(0);
        // Beside the bars only, so that no line runs through the words above them.
        for tick in clock.after.ticks() {
            canvas.line((clock.at(tick), top + HEAD - 3), (clock.at(tick), bottom), Stroke::grid())?;
        }
        for (i, step) in self.steps.iter().enumerate() {
            let at = top + HEAD + ROW * to_i32(i);
            let (from, to) = (clock.at(step.from), clock.at(step.to));
            canvas.text((LEFT - 8, at + BAR / 2), step.name, Align::Right, false)?;
            let fill = BarFill::Plain(step.colour, if step.hatched { 0.7 } else { 1.0 });
            let end = fill.bar(canvas, (from, to), (at, at + BAR), 1)?;
            if step.hatched && end > from + 6 {
                canvas.hatch((from, at), (end, at + BAR), Stroke::new(INK, 1))?;
            }
            canvas.text((end + 6, at + BAR / 2), &length(step), Align::Left, false)?;
        }
        let Some(floor) = self.floor else { return Ok(()) };
        let at = clock.at(floor);
        canvas.line((at, top + HEAD - 3), (at, bottom), Stroke::new(VERMILLION, 2).dash(Dash::Dashed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_messages_take_is_no_floor_of_a_session_that_had_to_expire() {
        let timeline = FailoverTimeline { granted: 9, ..FailoverTimeline::default() };
        let (due, resigned) =
            (FailoverTimeline { due: Some(7), ..timeline }, FailoverTimeline { released: Some(3), ..timeline });
        assert_eq!(floor(&due, true, Some(2)), Some(7));
        assert_eq!(floor(&timeline, true, Some(2)), None, "when it was due is not known");
        assert_eq!([floor(&timeline, false, Some(2)), floor(&resigned, false, Some(2))], [Some(2), Some(5)]);
        assert_eq!(floor(&resigned, true, Some(2)), Some(5), "its session did not have to expire");
        assert_eq!(floor(&resigned, false, None), None);
    }
}
