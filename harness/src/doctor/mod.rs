//! The preflight: checks whether this machine can execute `hustings run`. A new check is one function and one line of
//! the registry.

mod docker;
mod java;
mod limits;
mod machine;
mod watch;

use std::path::PathBuf;

use serde::Serialize;

pub use watch::{WatchReport, watch};

use crate::ensemble::local::InstallLocations;
use crate::files::workdir::temp_root;
use crate::process::working_directory;

/// The places that the checks examine.
#[derive(Clone, Debug)]
pub struct Context {
    pub places: InstallLocations,
    pub temp_root: PathBuf,
}

impl Context {
    /// Taken from the environment of this process.
    #[must_use]
    pub fn from_env() -> Self {
        Self { places: InstallLocations::from_env(), temp_root: temp_root() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    Ok,
    /// For information only.
    Info,
    /// Runs work, but measurements may suffer.
    Warning,
    /// Runs do not work.
    Failed,
}

/// Result of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DoctorFinding {
    pub check: &'static str,
    pub status: Status,
    pub found: String,
    /// What the user can do. Present for every warning and failure.
    pub remedy: Option<String>,
}

/// A finding without its check's name.
struct CheckFinding {
    status: Status,
    found: String,
    remedy: Option<String>,
}

impl CheckFinding {
    fn ok(found: impl Into<String>) -> Self {
        Self { status: Status::Ok, found: found.into(), remedy: None }
    }

    fn info(found: impl Into<String>) -> Self {
        Self { status: Status::Info, found: found.into(), remedy: None }
    }

    fn warning(found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { status: Status::Warning, found: found.into(), remedy: Some(remedy.into()) }
    }

    fn failed(found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { status: Status::Failed, found: found.into(), remedy: Some(remedy.into()) }
    }
}

type Check = fn(&Context) -> CheckFinding;

const CHECKS: [(&str, Check); 10] = [
    ("java", java::java),
    ("zookeeper", java::zookeeper),
    ("docker", docker::docker),
    ("descriptors", limits::descriptors),
    ("ports", limits::ports),
    ("temp space", machine::temp_space),
    ("memory", machine::memory),
    ("cpu", machine::cpu),
    ("clock", machine::clock),
    ("left-overs", machine::left_overs),
];

/// The check before all others: without a working directory no other program starts, and each of them would be blamed.
const DIRECTORY: &str = "directory";

/// Runs every check. None takes longer than a few seconds.
#[must_use]
pub fn examine(context: &Context) -> Vec<DoctorFinding> {
    let named = |check: &'static str, finding: CheckFinding| {
        let CheckFinding { status, found, remedy } = finding;
        DoctorFinding { check, status, found, remedy }
    };
    if let Err(gone) = working_directory::check() {
        return vec![named(DIRECTORY, CheckFinding::failed(gone.to_string(), working_directory::REMEDY))];
    }
    CHECKS.into_iter().map(|(name, check)| named(name, check(context))).collect()
}

/// The warning of the check of the processors, on one line. `None`: the machine has enough, and is idle.
#[must_use]
pub fn load_warning() -> Option<String> {
    let CheckFinding { status, found, remedy } = machine::cpu(&Context::from_env());
    (status >= Status::Warning).then(|| format!("{found}; {}", remedy.unwrap_or_default()))
}

/// Whether `hustings run` can work.
#[must_use]
pub fn can_run(findings: &[DoctorFinding]) -> bool {
    findings.iter().all(|finding| finding.status < Status::Failed)
}

#[cfg(test)]
mod tests {
    use super::{Context, Status, can_run, examine};
    use crate::ensemble::local::InstallLocations;

    #[test]
    fn a_machine_without_java_is_warned_and_every_warning_has_a_remedy() {
        let root = tempfile::tempdir().expect("a temp dir");
        let findings = examine(&Context { places: InstallLocations::default(), temp_root: root.path().to_owned() });
        assert!(can_run(&findings), "on embedded servers");
        for finding in &findings {
            assert_eq!(finding.status >= Status::Warning, finding.remedy.is_some(), "{finding:?}");
        }
        let warned = |name| findings.iter().any(|f| f.check == name && f.status == Status::Warning);
        assert!(warned("java") && warned("zookeeper"));
    }
}
