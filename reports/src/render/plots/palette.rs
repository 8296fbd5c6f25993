//! Colours that colour-blind readers can tell apart (Okabe and Ito), kept the same in every plot of a page: a colour for
//! a recipe, a dash for a step-down policy.

use hustings_record::StepDown;
use std::collections::BTreeMap;

use plotters::style::RGBColor;

use super::canvas::Dash;
use crate::summary::Summary;

pub(crate) const BLUE: RGBColor = RGBColor(0, 114, 178);
pub(crate) const SKY: RGBColor = RGBColor(86, 180, 233);
pub(crate) const GREEN: RGBColor = RGBColor(0, 158, 115);
pub(crate) const ORANGE: RGBColor = RGBColor(230, 159, 0);
pub(crate) const VERMILLION: RGBColor = RGBColor(213, 94, 0);
pub(crate) const PURPLE: RGBColor = RGBColor(204, 121, 167);
/// A pale blue for what is there and does not act.
pub(crate) const PALE: RGBColor = RGBColor(214, 232, 244);
pub(crate) const GREY: RGBColor = RGBColor(130, 130, 130);

/// The order in which recipes get theirs. Sky comes late: it is close to blue for many.
const ORDER: [RGBColor; 6] = [BLUE, VERMILLION, ORANGE, GREEN, PURPLE, SKY];

/// Recipes that every run knows keep their colour from run to run.
const KNOWN: [&str; 4] = ["predecessor-watch", "naive", "lock-race", "poll-race"];

pub(crate) struct Palette(BTreeMap<String, RGBColor>);

impl Palette {
    pub(crate) fn of(summary: &Summary) -> Self {
        let mut colours: BTreeMap<String, RGBColor> = BTreeMap::new();
        for (name, colour) in KNOWN.iter().zip(ORDER) {
            colours.insert((*name).to_owned(), colour);
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

pub(crate) fn step_down(policy: StepDown) -> Dash {
    match policy {
        StepDown::OnDisconnect => Dash::Solid,
        StepDown::OnExpiry => Dash::Dashed,
        StepDown::After(_) => Dash::Dotted,
    }
}
