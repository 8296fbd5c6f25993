//! Findings of the checks in simulated cells: for known bugs, for sound recipes, under random faults.

mod records;
mod simulated_cases;
mod simulated_chaos;
mod simulated_gauntlet;
mod simulated_losses;
mod simulated_mutations;
mod simulated_plans;
mod simulated_schedules;
