//! The exit codes, and the condition for each.

use hustings_record::RunState;
use hustings_reports::compare::{compared_sides, overall};
use hustings_reports::summary::Summary;
use hustings_reports::verdict::Verdict;

use crate::files::in_record::OutputInRecord;

/// The program's exit status, for scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    Pass = 0,
    /// A verdict failed.
    Fail = 1,
    /// The command line or a file given to it is wrong.
    Usage = 2,
    /// The evidence is insufficient for a verdict.
    Inconclusive = 3,
    /// A prerequisite of the harness is missing or broke.
    Infrastructure = 4,
    Interrupted = 130,
}

/// The codes in words, for help texts.
const CODES: &str = "Exit codes:
  0    pass; what was asked for is done
  1    a verdict failed; a search found something, or missed a known bug
  2    the command line, a scenario or another file is wrong; an output path is inside a record
  3    inconclusive: the evidence is insufficient for a verdict
  4    infrastructure: a run lacks something, a record is unreadable, a file unwritable or present
  130  interrupted: Ctrl-C, SIGTERM, SIGQUIT, or a closed terminal";

/// A command's examples, followed by the exit codes.
#[must_use]
pub fn with_codes(examples: &str) -> String {
    format!("{examples}\n\n{CODES}")
}

impl Exit {
    /// Exit status of a record's summary, and of the comparison of its two sides, if it has any. A failure that was
    /// found before the run was aborted still counts.
    #[must_use]
    pub fn of(summary: &Summary) -> Self {
        Self::of_run(overall(summary, compared_sides(summary).as_ref()), summary.manifest.state)
    }

    /// Exit status of a verdict on a run that ended in this state.
    #[must_use]
    pub fn of_run(verdict: Verdict, state: RunState) -> Self {
        match (verdict, state) {
            (Verdict::Fail, _) => Self::Fail,
            (_, RunState::Aborted) => Self::Infrastructure,
            (verdict, _) => verdict.into(),
        }
    }

    /// The more severe of two.
    #[must_use]
    pub fn or_worse(self, other: Self) -> Self {
        let rank = |exit| match exit {
            Self::Pass => 0,
            Self::Inconclusive => 1,
            Self::Infrastructure => 2,
            Self::Interrupted => 3,
            Self::Usage => 4,
            Self::Fail => 5,
        };
        if rank(other) > rank(self) { other } else { self }
    }
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

/// An error for the user, with its exit code.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    pub error: anyhow::Error,
}

impl Failure {
    /// The user can fix it on the command line or in a file.
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::Usage, error: error.into() }
    }

    /// The user must fix the machine.
    pub fn infrastructure(error: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::Infrastructure, error: error.into() }
    }

    /// The machine refuses an output: its folder is missing, it is taken, or it cannot be written. What is wrong with
    /// its name alone is [`usage`](Self::usage): a place in a record, or an empty path, which the parser of the command
    /// line refuses.
    pub fn output(error: impl Into<anyhow::Error>) -> Self {
        let error = error.into();
        if error.is::<OutputInRecord>() { Self::usage(error) } else { Self::infrastructure(error) }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Exit, Failure};
    use crate::recording::archive::Archive;

    #[test]
    fn an_output_in_a_record_is_a_mistake_of_the_command_line_and_a_record_in_its_place_is_not() {
        let folder = tempfile::tempdir().expect("a temp dir");
        std::fs::write(folder.path().join("manifest.json"), "{}").expect("written");
        let code_of = |out: &Path| Archive::check(out).map_err(Failure::output).expect_err("refused").exit;
        assert_eq!(code_of(&folder.path().join("events/new")), Exit::Usage);
        assert_eq!(code_of(folder.path()), Exit::Infrastructure);
    }
}
