//! What is asked of an embedded ensemble, and why it may not be had.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::super::server_options::ServerOptions;

/// Descriptors of the process that belong to no session.
pub(super) const OVERHEAD: u64 = 256;

/// What is asked of an embedded ensemble.
#[derive(Clone, Debug)]
pub struct EmbeddedOptions {
    /// Neither a disk nor a heap is theirs, and followers join at once.
    pub servers: ServerOptions,
    /// The most sessions at a time.
    pub sessions: u64,
    /// Ports are this and the following ones. None: any free ports.
    pub base_port: Option<u16>,
    /// How long the servers may take until all of them serve.
    pub start_within: Duration,
    /// The `hustings` executable, which is also the servers'. Tests are another executable and must name it.
    pub exe: PathBuf,
    /// Completes the sentence "chosen because …".
    pub why: String,
}

impl EmbeddedOptions {
    /// Such servers, any sessions.
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
    #[error(
        "{sessions} sessions need {needed} descriptors in the one process of the embedded servers (2 x {sessions} + {OVERHEAD}), \
         and a process may have {limit}; use --ensemble local or --ensemble docker, fewer candidates, or raise the hard limit \
         (ulimit -Hn)"
    )]
    Descriptors { sessions: u64, needed: u64, limit: u64 },
    #[error("the embedded servers could not be stopped: {0}")]
    Stop(io::Error),
}
