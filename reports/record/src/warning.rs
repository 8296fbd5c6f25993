//! Warnings that the user should read before any figure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A warning of the run, with what it is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    pub kind: WarningKind,
    /// For people.
    pub text: String,
}

/// What a warning is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WarningKind {
    /// A model stood in for ZooKeeper: its latencies say nothing about real servers.
    Modelled,
    /// The ensemble is another than the scenario asks for, and what it has counts.
    AsFound,
    /// A session timeout that the ensemble does not grant.
    TimeoutNotGranted,
    /// The scenario says something that is probably not meant.
    Scenario,
    /// The run was aborted, and why.
    Aborted,
}

impl Warning {
    #[must_use]
    pub fn new(kind: WarningKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.text)
    }
}
