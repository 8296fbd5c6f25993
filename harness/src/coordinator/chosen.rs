//! What is run: some cells of a scenario, alone or compared with those of another.

use std::path::PathBuf;

use anyhow::anyhow;
use hustings_workloads::scenario::{Cell, Scenario, sides};

/// Cells of a scenario.
#[derive(Clone)]
pub struct Chosen {
    pub scenario: Scenario,
    /// Names of the cells that are run.
    pub only: Vec<String>,
    /// The scenario's text as it was given, and resolved.
    pub verbatim: String,
    pub resolved: String,
}

/// What they are compared with: the base.
#[derive(Clone)]
pub struct Against {
    pub chosen: Chosen,
    /// What its hosts are started from.
    pub exe: PathBuf,
}

impl Chosen {
    fn cells(&self, scenario: &Scenario) -> Vec<Cell> {
        scenario.cells().into_iter().filter(|cell| self.only.contains(&cell.name)).collect()
    }

    /// The cells of a run, with each scenario as `corrected` has it; the sides of a pair stand beside each other.
    ///
    /// # Errors
    /// A cell has none to be compared with.
    pub fn all(
        &self,
        against: Option<&Against>,
        corrected: impl Fn(&Scenario) -> Scenario,
    ) -> anyhow::Result<Vec<Cell>> {
        let own = self.cells(&corrected(&self.scenario));
        let Some(Against { chosen, .. }) = against else { return Ok(own) };
        sides(&chosen.cells(&corrected(&chosen.scenario)), &own).map_err(|problem| anyhow!("{problem}"))
    }
}
