//! The scenarios that ship in the binary.

use super::{Scenario, ScenarioError};

/// A scenario to start from, with every key and its meaning.
pub const TEMPLATE: &str = include_str!("../../scenarios/template.toml");

/// A scenario that ships in the binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShippedScenario {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! shipped {
    ($($name:literal)+) => {
        [$(ShippedScenario { name: $name, text: include_str!(concat!("../../scenarios/", $name, ".toml")) }),+]
    };
}

/// All shipped scenarios. A new one is a file and a line here.
pub const SHIPPED: [ShippedScenario; 13] = shipped! {
    "quick"
    "herd"
    "split-brain"
    "thousand"
    "sequential-start"
    "quorum-loss"
    "reconnect"
    "gauntlet"
    "gate"
    "pull-request"
    "pauses"
    "league"
    "million"
};

impl ShippedScenario {
    /// The scenario with this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        SHIPPED.into_iter().find(|shipped| shipped.name == name)
    }

    /// Reads it.
    ///
    /// # Errors
    /// Those that `sets` cause.
    pub fn parse(self, sets: &[String]) -> Result<Scenario, ScenarioError> {
        Scenario::parse(self.text, self.name, sets)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::adapters::ADAPTERS;
    use crate::recipes::RecipeKind;

    #[test]
    fn the_league_runs_every_sound_recipe_and_every_adapter_under_each_of_its_faults() {
        let recipes = RecipeKind::sound().map(|recipe| recipe.to_string());
        let programs = ADAPTERS.iter().map(|adapter| format!("foreign:{}", adapter.name));
        let all: BTreeSet<String> = recipes.chain(programs).collect();
        let mut by_fault: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for cell in ShippedScenario::find("league").unwrap().parse(&[]).unwrap().cells() {
            by_fault.entry(cell.fault_name).or_default().insert(cell.recipe.to_string());
        }
        assert!(by_fault.len() > 1, "{by_fault:?}");
        for (fault, run) in by_fault {
            let missing: Vec<&str> = all.difference(&run).map(String::as_str).collect();
            // Go reads the clock past the library that sets it.
            let allowed: &[&str] = if fault == "clock-step" { &["foreign:go-zookeeper-lock"] } else { &[] };
            assert_eq!(missing, allowed, "{fault}");
        }
    }
}
