//! What an examination found.

use hustings_record::Grade;
use serde::Serialize;

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    pub name: &'static str,
    pub need: Need,
    /// What is trusted for it.
    pub grade: Grade,
    pub result: Finding,
    /// What was seen, or why it was not looked at.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Need {
    /// Without it a program cannot take part.
    Required,
    /// It gives better evidence, or more faults that can be tried.
    Optional,
    /// What people want of it in production. It can take part without.
    Advised,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Finding {
    Passed,
    Failed,
    Untested,
}

/// Everything that an examination found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Examined {
    /// What it calls itself; empty where it said nothing.
    pub name: String,
    pub version: String,
    pub outcomes: Vec<Outcome>,
    /// In which grades verdicts on it can be had.
    pub evidence: Vec<Grade>,
    /// The last lines of its logs, where something failed.
    pub last_words: Vec<String>,
}

impl Examined {
    /// Whether it has everything that is required.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.of(Need::Required).all(|outcome| outcome.result == Finding::Passed)
            && self.of(Need::Optional).all(|outcome| outcome.result != Finding::Failed)
    }

    pub fn of(&self, need: Need) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().filter(move |outcome| outcome.need == need)
    }
}
