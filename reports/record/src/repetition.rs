//! Which repetition a cell is, where its configuration was run several times.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Limit on the repetitions of a cell in a run.
pub const REPETITIONS_MAX: u32 = 1_000;

/// A cell's place among the repetitions of one configuration in one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Repetition {
    /// Name of the configuration: that of the scenario's cell, which its first repetition bears too.
    pub of: String,
    /// Number of this one, from 1.
    pub number: u32,
    /// How many were planned.
    pub count: u32,
    /// How many there may be of all cells, where the planned ones do not tell enough. Undecided cells share the time of
    /// those beyond the planned ones, so that one of them may have more. 0 where that was not recorded.
    #[serde(default)]
    pub at_most: u32,
}

impl Repetition {
    /// Its number in words: `repetition 2 of 5`, or `further repetition 6` beyond the planned ones.
    #[must_use]
    pub fn words(&self) -> String {
        let Self { number, count, .. } = self;
        if number > count { format!("further repetition {number}") } else { format!("repetition {number} of {count}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_beyond_the_planned_ones_are_further_ones() {
        let words = |number| Repetition { of: String::new(), number, count: 5, at_most: 40 }.words();
        assert_eq!([words(5), words(6)], ["repetition 5 of 5", "further repetition 6"]);
    }
}
