//! The verdict of a check, a cell or a run. Verdicts are merged by taking the worst.

/// `Pass < Inconclusive < Fail`.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    #[default]
    Pass,
    /// The evidence does not reach: no verification, a stalled harness, bounds too wide.
    Inconclusive,
    Fail,
}

impl Verdict {
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        self.max(other)
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Pass => "pass",
            Self::Inconclusive => "inconclusive",
            Self::Fail => "fail",
        })
    }
}
