//! What the checkers find in simulated cells: of known bugs, of sound recipes, under random faults.

mod simulated_cases;
mod simulated_chaos;
mod simulated_gauntlet;
mod simulated_schedules;
