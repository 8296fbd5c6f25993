//! The selection for a run: some cells of a scenario, alone or compared with those of another.

use std::path::PathBuf;

use anyhow::anyhow;
use hustings_workloads::scenario::{Cell, Scenario, sides};

/// Selected cells of a scenario.
#[derive(Clone)]
pub struct CellSelection {
    pub scenario: Scenario,
    /// Names of the cells to run.
    pub only: Vec<String>,
    /// The scenario's text as given.
    pub verbatim: String,
}

/// The base with which they are compared.
#[derive(Clone)]
pub struct ComparisonBase {
    pub chosen: CellSelection,
    /// The executable from which its hosts are started.
    pub exe: PathBuf,
}

impl CellSelection {
    fn cells(&self, scenario: &Scenario) -> Vec<Cell> {
        scenario.cells().into_iter().filter(|cell| self.only.contains(&cell.name)).collect()
    }

    /// The cells of a run, with each scenario after `corrected`. The two sides of a pair are adjacent.
    ///
    /// # Errors
    /// A cell has no counterpart to be compared with.
    pub fn all(
        &self,
        against: Option<&ComparisonBase>,
        corrected: impl Fn(&Scenario) -> Scenario,
    ) -> anyhow::Result<Vec<Cell>> {
        let own = self.cells(&corrected(&self.scenario));
        let Some(ComparisonBase { chosen, .. }) = against else { return Ok(own) };
        sides(&chosen.cells(&corrected(&chosen.scenario)), &own).map_err(|problem| anyhow!("{problem}"))
    }
}
