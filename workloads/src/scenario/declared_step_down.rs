//! The step-down policy that a program keeps: the cell's, or always the same one.

use std::fmt;
use std::str::FromStr;

use hustings_record::StepDown;

const AS_TOLD: &str = "as-told";

/// Written `as-told`, or as a [`StepDown`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DeclaredStepDown {
    /// The policy that the cell requests.
    AsTold,
    /// This policy, whatever the cell requests.
    Always(StepDown),
}

impl DeclaredStepDown {
    /// The policy in a cell that requests `asked`.
    #[must_use]
    pub fn in_cell(self, asked: StepDown) -> StepDown {
        match self {
            Self::AsTold => asked,
            Self::Always(policy) => policy,
        }
    }
}

impl fmt::Display for DeclaredStepDown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AsTold => f.pad(AS_TOLD),
            Self::Always(policy) => policy.fmt(f),
        }
    }
}

impl FromStr for DeclaredStepDown {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == AS_TOLD {
            return Ok(Self::AsTold);
        }
        text.parse()
            .map(Self::Always)
            .map_err(|error: hustings_record::UnknownStepDown| format!("{error}, or `{AS_TOLD}`"))
    }
}

hustings_record::serde_as_text!(DeclaredStepDown);
