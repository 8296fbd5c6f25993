//! Labels that distinguish cells: the parameters in which they differ, each in a few words. Tables, legends, links and
//! the terminal use these labels, and state shared parameters once.

use std::collections::BTreeSet;

use super::{clean, format};
use crate::summary::CellSummary;
use hustings_record::{ComparisonSide, Repetition, SessionUse};

/// A parameter in which cells may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axis {
    Recipe,
    StepDown,
    Fault,
    Timeout,
    Candidates,
    Groups,
    Fencing,
    Sessions,
    Servers,
    Side,
    Repetition,
    FencingMethod,
    Links,
    Paths,
    Tick,
    Hosts,
    WorkInterval,
    PollInterval,
    Rejoin,
    InitLimit,
    SyncLimit,
}

/// Parameters that readers compare: shown wherever they differ.
const MAIN: [Axis; 11] = [
    Axis::Recipe,
    Axis::StepDown,
    Axis::Fault,
    Axis::Timeout,
    Axis::Candidates,
    Axis::Groups,
    Axis::Fencing,
    Axis::Sessions,
    Axis::Servers,
    Axis::Side,
    Axis::Repetition,
];

/// Parameters that mostly follow from the others, as the tick from T: shown only where cells would look the same
/// without them.
const FURTHER: [Axis; 10] = [
    Axis::FencingMethod,
    Axis::Links,
    Axis::Paths,
    Axis::Tick,
    Axis::Hosts,
    Axis::WorkInterval,
    Axis::PollInterval,
    Axis::Rejoin,
    Axis::InitLimit,
    Axis::SyncLimit,
];

/// Parameters that are stated once for all cells where they do not differ.
const SHARED: [Axis; 7] =
    [Axis::Recipe, Axis::StepDown, Axis::Fault, Axis::Timeout, Axis::Groups, Axis::Candidates, Axis::Fencing];

impl Axis {
    /// The value in a few words; empty if it does not apply to this cell.
    fn of(self, cell: &CellSummary) -> String {
        let info = &cell.info;
        // A cell about the servers alone has no candidates to describe.
        let of_candidates = |text: String| if info.has_candidates() { text } else { String::new() };
        let ms = |name: &str, ms: u64| format!("{name} {}", format::setting_ms(ms));
        let limit = |name: &str, limit: Option<u32>| limit.map_or_else(String::new, |ticks| format!("{name} {ticks}"));
        match self {
            Self::Recipe => of_candidates(clean::short(&info.recipe, 40)),
            Self::StepDown => of_candidates(info.step_down_words()),
            Self::Fault => clean::short(&info.fault, 40),
            Self::Timeout => of_candidates(format!("T = {}", negotiated(cell))),
            Self::Candidates => of_candidates(format!("{} a group", format::count(info.candidates_per_group.into()))),
            Self::Groups => of_candidates(format::plural(info.groups.len() as u64, "group", "groups")),
            Self::Fencing => of_candidates(info.fencing.to_string()),
            Self::Sessions => of_candidates(match info.sessions {
                SessionUse::PerCandidate => "a session a candidate".into(),
                SessionUse::PerHost => "a session a host".into(),
            }),
            Self::Servers => format::plural(info.servers.into(), "server", "servers"),
            Self::Side => info.contest.as_ref().map_or_else(String::new, |contest| match contest.side {
                ComparisonSide::Base => "base".into(),
                ComparisonSide::New => "new".into(),
            }),
            Self::Repetition => info.repetition.as_ref().map_or_else(String::new, Repetition::words),
            Self::FencingMethod => of_candidates(format!("old active fenced by {}", info.fencing_method)),
            Self::Links => of_candidates(format!("links {}", info.links)),
            Self::Paths => (if info.has_equal_paths() { "by a program's paths" } else { "" }).to_owned(),
            Self::Tick => ms("tick", info.tick_ms),
            Self::Hosts => of_candidates(format::plural(info.hosts.len() as u64, "host", "hosts")),
            Self::WorkInterval => of_candidates(ms("writes every", info.work_interval_ms)),
            Self::PollInterval => of_candidates(ms("polls every", info.poll_interval_ms)),
            Self::Rejoin => {
                of_candidates(info.rejoin_after_ms.map_or_else(String::new, |after| ms("rejoins after", after)))
            }
            Self::InitLimit => limit("initLimit", info.init_limit),
            Self::SyncLimit => limit("syncLimit", info.sync_limit),
        }
    }
}

/// The parameters in which some cells differ.
pub(crate) struct DifferingParameters {
    /// The axes that tell them apart.
    axes: Vec<Axis>,
    /// Values that several cells share on all of these: only their names tell them apart.
    twins: BTreeSet<Vec<String>>,
}

impl DifferingParameters {
    pub(crate) fn of<'a>(cells: impl IntoIterator<Item = &'a CellSummary>) -> Self {
        let cells: Vec<&CellSummary> = cells.into_iter().collect();
        // Cells about the servers alone are a different sort: their number of servers does not tell the others apart.
        let of_sort = |axis: Axis, candidates: bool| {
            let of = cells.iter().filter(|cell| cell.info.has_candidates() == candidates);
            of.map(|cell| axis.of(cell)).collect::<BTreeSet<_>>().len()
        };
        let values = |axis: Axis| of_sort(axis, true).max(of_sort(axis, false));
        let mut axes: Vec<Axis> = MAIN.into_iter().filter(|&axis| values(axis) > 1).collect();
        let classes = |axes: &[Axis]| cells.iter().map(|cell| values_of(axes, cell)).collect::<BTreeSet<_>>().len();
        for axis in FURTHER {
            let before = classes(&axes);
            if before == cells.len() {
                break;
            }
            axes.push(axis);
            if classes(&axes) == before {
                axes.pop();
            }
        }
        let mut seen = BTreeSet::new();
        let all = cells.iter().map(|cell| values_of(&axes, cell));
        let twins = all.filter(|values| !seen.insert(values.clone())).collect();
        Self { axes, twins }
    }

    /// The values that tell this cell from the others, without the axes that are shown elsewhere.
    pub(crate) fn parts(&self, cell: &CellSummary, elsewhere: &[Axis]) -> Vec<String> {
        let axes: Vec<Axis> = self.axes.iter().copied().filter(|axis| !elsewhere.contains(axis)).collect();
        let mut parts = values_of(&axes, cell);
        parts.retain(|part| !part.is_empty());
        if self.twins.contains(&values_of(&self.axes, cell)) {
            parts.push(clean::short(&cell.info.name, 60));
        }
        parts
    }

    /// The same in one line; the recipe if there are no values. A cell about the servers alone is labelled by its name.
    pub(crate) fn label(&self, cell: &CellSummary, elsewhere: &[Axis]) -> String {
        if !cell.info.has_candidates() {
            return clean::short(&cell.info.name, 60);
        }
        let parts = self.parts(cell, elsewhere);
        if parts.is_empty() { Axis::Recipe.of(cell) } else { parts.join(", ") }
    }

    /// The values that all cells share, taken from `first`, without the axes that are shown elsewhere.
    pub(crate) fn shared(&self, first: &CellSummary, elsewhere: &[Axis]) -> String {
        let same = SHARED.into_iter().filter(|axis| !self.axes.contains(axis) && !elsewhere.contains(axis));
        same.map(|axis| axis.of(first)).filter(|value| !value.is_empty()).collect::<Vec<_>>().join(", ")
    }
}

fn values_of(axes: &[Axis], cell: &CellSummary) -> Vec<String> {
    axes.iter().map(|axis| axis.of(cell)).collect()
}

/// T as negotiated, and as requested where that differs.
pub(crate) fn negotiated(cell: &CellSummary) -> String {
    let asked = format::setting_ms(cell.info.timeout_asked_ms);
    match cell.timeout_ms {
        Some(ms) if ms == cell.info.timeout_asked_ms => asked,
        Some(ms) => format!("{} (asked {asked})", format::setting_ms(ms)),
        None => format!("none (asked {asked})"),
    }
}
