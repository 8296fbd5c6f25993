//! What the checkers find in simulated cells: of known bugs, of sound recipes, under random faults.

mod records;
mod simulated_cases;
mod simulated_chaos;
mod simulated_gauntlet;
mod simulated_losses;
mod simulated_mutations;
mod simulated_plans;
mod simulated_schedules;
