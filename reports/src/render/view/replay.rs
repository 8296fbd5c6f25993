//! The replay's part of the page: groups of the record step by step, ready for the script. All words are made here; the script
//! shows them, and has words of its own for free play alone.

use minijinja::Value;
use serde::Serialize;

use super::replay_events::{ReplayState, ViewChange};
use crate::render::{clean, format, script};
use crate::replay::{Replay, WalkThrough, WalkThroughKind};
use crate::summary::{CellSummary, Summary};
use hustings_record::{CellInfo, FanOut};

/// The section of the page.
#[derive(Serialize)]
pub(crate) struct ReplaySection {
    /// How many groups of the record there are to replay.
    groups: usize,
    data: Value,
    script: Value,
}

/// What the script is given.
#[derive(Serialize)]
struct Data {
    stories: Vec<ReplayView>,
}

/// One group of the record.
#[derive(Serialize)]
struct ReplayView {
    title: String,
    about: String,
    names: Vec<String>,
    walks: Vec<WalkThroughView>,
    steps: Vec<ShownReplay>,
    /// What is not shown.
    more: String,
}

/// A walk-through: its steps, both ends included.
#[derive(Serialize)]
struct WalkThroughView {
    kind: WalkThroughKind,
    title: &'static str,
    from: usize,
    to: usize,
}

#[derive(Serialize)]
struct ShownReplay {
    /// Milliseconds since the first step.
    at: f64,
    when: String,
    text: String,
    set: Vec<ViewChange>,
    /// Who is told something in this step.
    told: Vec<usize>,
}

impl ReplaySection {
    pub(super) fn new(summary: &Summary) -> Self {
        let cell = |replay: &Replay| summary.cells.iter().find(|cell| cell.info.index == replay.cell);
        let known = summary.replays.iter().filter_map(|replay| Some(replay_view(replay, cell(replay)?)));
        let stories: Vec<ReplayView> = known.collect();
        Self { groups: stories.len(), data: script::data(&Data { stories }), script: script::element() }
    }
}

fn replay_view(replay: &Replay, cell: &CellSummary) -> ReplayView {
    let info = &cell.info;
    let (recipe, group) = (clean::short(&info.recipe, 40), clean::short(&replay.group, 40));
    let mut fold = ReplayState::new(replay, info);
    let steps = replay.steps.iter().map(|step| {
        let (text, set, told) = fold.take(&step.what);
        ShownReplay { at: step.at as f64 / 1e6, when: hustings_record::words::moment(step.at), text, set, told }
    });
    let steps: Vec<ShownReplay> = steps.collect();
    let walks = replay.walks.iter().filter(|walk| walk.from <= walk.to && walk.to < steps.len());
    ReplayView {
        title: format!("{recipe}, {}: {group}, cell {}", clean::short(&info.fault, 40), clean::short(&info.name, 60)),
        about: about(cell),
        names: fold.names.clone(),
        walks: walks.map(|walk| part(walk, info)).collect(),
        more: more(replay),
        steps,
    }
}

fn part(walk: &WalkThrough, info: &CellInfo) -> WalkThroughView {
    let title = match (walk.kind, info.leader_wakes()) {
        (WalkThroughKind::JoinAndElect, _) => "Join and elect",
        (WalkThroughKind::LeaderDies, Some(FanOut::One | FanOut::Two)) => "Leader dies, no herd",
        (WalkThroughKind::LeaderDies, Some(FanOut::AllOthers)) => "Leader dies, the herd",
        (WalkThroughKind::LeaderDies, Some(FanOut::None) | None) => "Leader dies",
        (WalkThroughKind::MiddleDies, _) => "A middle one dies",
    };
    WalkThroughView { kind: walk.kind, title, from: walk.from, to: walk.to }
}

fn about(cell: &CellSummary) -> String {
    let t = cell.timeout_ms.map_or_else(String::new, |ms| format!("T = {}, ", format::setting_ms(ms)));
    let watches = match cell.info.leader_wakes() {
        Some(FanOut::One) => "the znode before its own",
        Some(FanOut::Two) => "the two znodes before its own, of which one is drawn",
        Some(FanOut::AllOthers) => "the znode that the lead rests on",
        Some(FanOut::None) => "this recipe watches nothing, and looks from time to time",
        None => "which is not recorded of this recipe, so that no watch is drawn",
    };
    format!(
        "{t}step-down: {}. The record says when a candidate waits with its watch armed and when a watch fired; whom it watches \
         is known only when the servers list their watches, else drawn by definition: {watches}.",
        cell.info.step_down_words()
    )
}

fn more(replay: &Replay) -> String {
    let mut more = Vec::new();
    if replay.others > 0 {
        more.push(format!("{} of the group are not shown", format::plural(replay.others, "candidate", "candidates")));
    }
    if replay.left_out > 0 {
        more.push(format!("{} follow in the record", format::plural(replay.left_out, "step", "steps")));
    }
    if more.is_empty() { String::new() } else { format!("{}.", more.join("; ")) }
}
