//! Colours that colour-blind readers can distinguish (Okabe and Ito), the same in every plot of a page: a colour for a
//! recipe, a dash for a step-down policy. Where cells of one plot differ in anything else, further colours distinguish
//! them.

use hustings_record::StepDown;
use std::collections::{BTreeMap, BTreeSet};

use plotters::style::RGBColor;

use super::canvas::Dash;
use crate::render::differing_parameters::{Axis, DifferingParameters};
use crate::summary::{CellSummary, Summary};

pub(crate) const BLUE: RGBColor = RGBColor(0, 114, 178);
pub(crate) const SKY: RGBColor = RGBColor(86, 180, 233);
pub(crate) const GREEN: RGBColor = RGBColor(0, 158, 115);
pub(crate) const ORANGE: RGBColor = RGBColor(230, 159, 0);
pub(crate) const VERMILLION: RGBColor = RGBColor(213, 94, 0);
pub(crate) const PURPLE: RGBColor = RGBColor(204, 121, 167);
/// A pale blue for things that exist and do not act.
pub(crate) const PALE: RGBColor = RGBColor(214, 232, 244);
pub(crate) const GREY: RGBColor = RGBColor(130, 130, 130);

/// The order in which recipes get their colours. Sky comes late, because many readers see it as close to blue.
const ORDER: [RGBColor; 6] = [BLUE, VERMILLION, ORANGE, GREEN, PURPLE, SKY];

/// Recipes with the same colour in all runs, in the order of their registry. The others follow in the order of a run.
pub const COLOURED_RECIPES: [&str; 4] = ["predecessor-watch", "naive", "lock-race", "poll-race"];

pub(crate) struct Palette(BTreeMap<String, RGBColor>);

impl Palette {
    pub(crate) fn of(summary: &Summary) -> Self {
        let mut colours: BTreeMap<String, RGBColor> = BTreeMap::new();
        for (name, colour) in COLOURED_RECIPES.into_iter().zip(ORDER) {
            colours.insert(name.to_owned(), colour);
        }
        for cell in &summary.cells {
            let next = ORDER[colours.len() % ORDER.len()];
            colours.entry(cell.info.recipe.clone()).or_insert(next);
        }
        Self(colours)
    }

    pub(crate) fn recipe(&self, name: &str) -> RGBColor {
        self.0.get(name).copied().unwrap_or(GREY)
    }
}

/// The line style of a cell.
pub(crate) type Style = (RGBColor, Dash);

impl Palette {
    /// Styles for the cells of one plot, in their order: all different while there are colours and dashes left.
    pub(crate) fn styles(&self, cells: &[&CellSummary]) -> Vec<Style> {
        let apart = DifferingParameters::of(cells.iter().copied());
        let recipes: BTreeSet<&str> = cells.iter().map(|cell| cell.info.recipe.as_str()).collect();
        // Colours that no recipe in this plot uses.
        let own: Vec<RGBColor> = recipes.iter().map(|recipe| self.recipe(recipe)).collect();
        let mut free = ORDER.into_iter().filter(|colour| !own.contains(colour));
        let mut colours: BTreeMap<(&str, Vec<String>), RGBColor> = BTreeMap::new();
        let mut taken: Vec<Style> = Vec::new();
        for cell in cells {
            let recipe = cell.info.recipe.as_str();
            let further = apart.parts(cell, &[Axis::Recipe, Axis::StepDown]);
            let first = colours.keys().all(|(known, _)| *known != recipe);
            let plain = || if first { self.recipe(recipe) } else { free.next().unwrap_or(GREY) };
            let wanted = (*colours.entry((recipe, further)).or_insert_with(plain), step_down(cell.info.step_down));
            let mut all = ORDER.into_iter().flat_map(|colour| DASHES.map(|dash| (colour, dash)));
            let style = if taken.contains(&wanted) { all.find(|style| !taken.contains(style)) } else { None };
            taken.push(style.unwrap_or(wanted));
        }
        taken
    }
}

const DASHES: [Dash; 3] = [Dash::Solid, Dash::Dashed, Dash::Dotted];

pub(crate) fn step_down(policy: Option<StepDown>) -> Dash {
    match policy {
        None | Some(StepDown::OnDisconnect) => Dash::Solid,
        Some(StepDown::OnExpiry) => Dash::Dashed,
        Some(StepDown::After(_)) => Dash::Dotted,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use hustings_record::{CellInfo, Fencing};

    fn cell(recipe: usize, policy: usize, fenced: bool, place: usize) -> CellSummary {
        let recipe = ["naive", "lock-race", "my-own"][recipe];
        let policy = ["on-disconnect", "on-expiry", "after=0.4", "after=0.6"][policy];
        let fencing = if fenced { Fencing::Fenced } else { Fencing::Unfenced };
        let info = serde_json::json!({
            "index": place, "name": format!("cell-{place}"), "recipe": recipe,
            "step_down": policy, "fault": "pause",
            "fault_kind": "pause", "groups": ["g"], "hosts": ["h"], "candidates_per_group": 3, "timeout_asked_ms": 1000,
            "tick_ms": 100, "servers": 3, "sessions": "per-candidate", "links": "direct",
            "fencing": fencing, "work_interval_ms": 20,
            "expect": { "overlap": "none", "overlap_of_t_max": null, "stale_writes": "none", "unplanned": "none", "fan_out": null,
                "because": "" },
            "fencing_method": "none", "poll_interval_ms": 100,
        });
        let info: CellInfo = serde_json::from_value(info).expect("a cell's parameters");
        CellSummary::of(info, Some(1_000))
    }

    fn palette() -> Palette {
        let known = COLOURED_RECIPES.into_iter().zip(ORDER).map(|(name, colour)| (name.to_owned(), colour));
        Palette(known.chain([("my-own".to_owned(), PURPLE)]).collect())
    }

    #[test]
    fn a_recipe_keeps_its_colour_and_a_policy_its_dash() {
        let cells = [cell(0, 0, true, 0), cell(0, 1, true, 1), cell(1, 1, true, 2)];
        let styles = palette().styles(&cells.iter().collect::<Vec<_>>());
        assert_eq!(styles, [(VERMILLION, Dash::Solid), (VERMILLION, Dash::Dashed), (ORANGE, Dash::Dashed)]);
    }

    proptest! {
        #[test]
        fn no_two_cells_of_a_plot_look_the_same(
            cells in prop::collection::vec((0_usize..3, 0_usize..4, any::<bool>()), 1..=8),
        ) {
            let cells: Vec<CellSummary> =
                cells.into_iter().enumerate().map(|(i, (recipe, policy, fenced))| cell(recipe, policy, fenced, i)).collect();
            let cells: Vec<&CellSummary> = cells.iter().collect();
            let styles = palette().styles(&cells);
            for (i, style) in styles.iter().enumerate() {
                prop_assert!(!styles[..i].contains(style), "{styles:?}");
            }
            let apart = DifferingParameters::of(cells.iter().copied());
            let labels: BTreeSet<String> = cells.iter().map(|cell| apart.label(cell, &[])).collect();
            prop_assert_eq!(labels.len(), cells.len());
        }
    }
}
