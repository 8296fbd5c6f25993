//! The exit codes, and what leads to each.

use hustings_record::RunState;
use hustings_reports::summary::Summary;
use hustings_reports::verdict::Verdict;

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

/// The codes in words, for whoever asks a command for help.
const CODES: &str = "Exit codes:
  0    pass; what was asked for is done
  1    a verdict failed; a search found something, or missed a known bug
  2    the command line, a scenario or another file given to it is wrong
  3    inconclusive: the evidence does not reach for a verdict
  4    infrastructure: what a run needs is missing, a record unreadable, or a file unwritable
  130  interrupted: Ctrl-C, SIGTERM, SIGQUIT, or a closed terminal";

/// A command's examples, followed by the exit codes.
#[must_use]
pub fn with_codes(examples: &str) -> String {
    format!("{examples}\n\n{CODES}")
}

impl Exit {
    /// What a record's summary comes to. A failure that was shown before the run broke off stays one.
    #[must_use]
    pub fn of(summary: &Summary) -> Self {
        Self::of_run(summary.verdict, summary.manifest.state)
    }

    /// What a verdict on a run comes to that ended like this.
    #[must_use]
    pub fn of_run(verdict: Verdict, state: RunState) -> Self {
        match (verdict, state) {
            (Verdict::Fail, _) => Self::Fail,
            (_, RunState::Aborted) => Self::Infrastructure,
            (verdict, _) => verdict.into(),
        }
    }

    /// The graver of two.
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
