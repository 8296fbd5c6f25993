//! The kind of ensemble that a run used.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::names;

/// What ran the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EnsembleKind {
    /// Real servers as child processes on this machine.
    Local,
    /// Real servers in containers on this machine.
    Docker,
    /// The model of a server behind ZooKeeper's wire protocol, in a process of our own.
    Embedded,
    /// Servers that somebody else runs.
    External,
    /// The model in virtual time: there was no machine, and no day.
    Simulated,
}

names! {
    EnsembleKind {
        Local = "local",
        Docker = "docker",
        Embedded = "embedded",
        External = "external",
        Simulated = "simulated",
    }
}
