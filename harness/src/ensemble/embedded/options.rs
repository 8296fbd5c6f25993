//! Options of an embedded ensemble, and its errors.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::super::server_options::ServerOptions;

/// Descriptors of the process that belong to no session.
pub(super) const OVERHEAD: u64 = 256;

/// Options of an embedded ensemble.
#[derive(Clone, Debug)]
pub struct EmbeddedOptions {
    /// They have no disk and no heap, and followers join at once.
    pub servers: ServerOptions,
    /// Maximum number of simultaneous sessions.
    pub sessions: u64,
    /// First port; the following ones are used, too. None: any free ports.
    pub base_port: Option<u16>,
    /// Deadline for all servers to serve.
    pub start_within: Duration,
    /// The `hustings` executable, which also runs the servers. Tests run in another executable and must name it.
    pub exe: PathBuf,
    /// Completes the sentence "chosen because …".
    pub why: String,
}

impl EmbeddedOptions {
    /// These servers, without a bound on sessions.
    #[must_use]
    pub fn new(servers: ServerOptions, exe: PathBuf) -> Self {
        Self {
            servers,
            sessions: 0,
            base_port: None,
            start_within: Duration::from_secs(30),
            exe,
            why: "it was asked for".to_owned(),
        }
    }
}

/// Why there is no embedded ensemble, or not any more.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedError {
    #[error("the embedded servers could not be started ({} embedded): {why}", .exe.display())]
    Start { exe: PathBuf, why: String },
    #[error("the process of the embedded servers died ({status}); its standard error says why")]
    Died { status: String },
    #[error("the process of the embedded servers did not answer an earlier order, and gets no further ones")]
    Unanswered,
    #[error(
        "{sessions} sessions need {needed} descriptors in the one process of the embedded servers (2 x {sessions} + {OVERHEAD}), \
         and a process may have {limit}; use --ensemble local or --ensemble docker, fewer candidates, or raise the hard limit \
         (ulimit -Hn)"
    )]
    Descriptors { sessions: u64, needed: u64, limit: u64 },
    #[error("the embedded servers could not be stopped: {0}")]
    Stop(io::Error),
}
