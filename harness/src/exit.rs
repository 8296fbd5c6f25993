//! The exit codes, and what leads to each.

use hustings_reports::verdict::Verdict;

use crate::coordinator::RunError;

/// How the program ends, for scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    Pass = 0,
    /// A verdict failed.
    Fail = 1,
    /// The command line or a file given to it is wrong.
    Usage = 2,
    /// The evidence does not reach for a verdict.
    Inconclusive = 3,
    /// Something that the harness stands on is missing or broke.
    Infrastructure = 4,
    Interrupted = 130,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl From<Verdict> for Exit {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Pass => Self::Pass,
            Verdict::Fail => Self::Fail,
            Verdict::Inconclusive => Self::Inconclusive,
        }
    }
}

/// An error on its way to the user, with the code it ends in.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    pub error: anyhow::Error,
}

impl Failure {
    /// The user can put it right on the command line or in a file.
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::Usage, error: error.into() }
    }

    /// The machine must be put right.
    pub fn infrastructure(error: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::Infrastructure, error: error.into() }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let exit = match error {
            RunError::Interrupted | RunError::StoppedAtOnce(_) => Exit::Interrupted,
            _ => Exit::Infrastructure,
        };
        Self { exit, error: error.into() }
    }
}
