//! The scenarios that ship in the binary.

use super::{Scenario, ScenarioError};

/// A scenario to start from, with every key and its meaning.
pub const TEMPLATE: &str = include_str!("../../scenarios/template.toml");

/// A scenario that ships in the binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shipped {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// All shipped scenarios. A new one is a file and a line here.
pub const SHIPPED: [Shipped; 13] = [
    Shipped { name: "quick", text: include_str!("../../scenarios/quick.toml") },
    Shipped { name: "herd", text: include_str!("../../scenarios/herd.toml") },
    Shipped { name: "split-brain", text: include_str!("../../scenarios/split-brain.toml") },
    Shipped { name: "thousand", text: include_str!("../../scenarios/thousand.toml") },
    Shipped { name: "sequential-start", text: include_str!("../../scenarios/sequential-start.toml") },
    Shipped { name: "quorum-loss", text: include_str!("../../scenarios/quorum-loss.toml") },
    Shipped { name: "reconnect", text: include_str!("../../scenarios/reconnect.toml") },
    Shipped { name: "gauntlet", text: include_str!("../../scenarios/gauntlet.toml") },
    Shipped { name: "gate", text: include_str!("../../scenarios/gate.toml") },
    Shipped { name: "pull-request", text: include_str!("../../scenarios/pull-request.toml") },
    Shipped { name: "pauses", text: include_str!("../../scenarios/pauses.toml") },
    Shipped { name: "league", text: include_str!("../../scenarios/league.toml") },
    Shipped { name: "million", text: include_str!("../../scenarios/million.toml") },
];

impl Shipped {
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
