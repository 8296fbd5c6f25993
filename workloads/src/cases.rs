//! The cases of broken recipes as cells, to be simulated together with their schedules.

use crate::recipes::{Case, RecipeKind};
use crate::scenario::{Cell, Scenario, ScenarioError};

impl Case {
    /// The cell for one of the case's two recipes. [`Simulation`](crate::simulation::Simulation) takes it together with
    /// the schedule.
    ///
    /// # Errors
    /// When this is not a valid scenario, which is an error in the case.
    pub fn cell(&self, recipe: RecipeKind) -> Result<Cell, ScenarioError> {
        let Self { name, candidates, servers, timeout_ms, tick_ms, step_down, run_ms, .. } = self;
        let text = format!(
            "name = \"{name}\"\nallow_broken = true\n\
             [ensemble]\nservers = {servers}\ntick_ms = {tick_ms}\n\
             [election]\nrecipe = \"{recipe}\"\nstep_down = \"{step_down}\"\nsession_timeout_ms = {timeout_ms}\n\
             groups = 1\nhosts = {candidates}\ncandidates_per_group = {candidates}\n\
             [phases]\ndrain_ms = {run_ms}\ndrain_max_ms = {run_ms}\n\
             [[expect]]\noverlap = \"excused\"\nstale_writes = \"excused\"\nunplanned = \"excused\"\n"
        );
        Ok(Scenario::parse(&text, name, &[])?.cells().remove(0))
    }
}

#[cfg(test)]
mod tests {
    use crate::recipes::cases;

    #[test]
    fn every_case_makes_a_cell_for_both_its_recipes() {
        for case in cases() {
            for recipe in std::iter::once(case.recipe).chain(case.sound) {
                let cell = case.cell(recipe).unwrap_or_else(|error| panic!("{}: {error}", case.name));
                assert_eq!((cell.recipe.clone(), cell.step_down), (recipe.into(), case.step_down));
                assert_eq!(
                    (cell.candidates(), cell.timeout_granted_ms()),
                    (u64::from(case.candidates), case.timeout_ms)
                );
            }
        }
    }
}
