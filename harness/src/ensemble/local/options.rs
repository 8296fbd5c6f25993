//! Options of a local ensemble.

use std::path::PathBuf;
use std::time::Duration;

use super::super::server_options::ServerOptions;
use super::InstallLocations;

#[derive(Clone, Debug)]
pub struct LocalOptions {
    pub servers: ServerOptions,
    /// Whether servers reach each other over links; a cut needs that.
    pub quorum_links: bool,
    /// First client port; the following ones are the other client ports, then quorum, election and link ports. None:
    /// any free ports.
    pub base_port: Option<u16>,
    /// Deadline for all servers to serve.
    pub start_within: Duration,
    /// Search locations for Java and ZooKeeper.
    pub places: InstallLocations,
    /// The `hustings` executable, which guards the JVMs. Tests run in another executable and must name it.
    pub exe: PathBuf,
    /// Completes the sentence "chosen because …".
    pub why: String,
    /// Lines added to the end of server 1's configuration, for tests that need a server that does not start.
    pub extra_config: String,
}

impl LocalOptions {
    /// These servers, found through the environment and guarded by `exe`.
    #[must_use]
    pub fn new(servers: ServerOptions, exe: PathBuf) -> Self {
        Self {
            servers,
            quorum_links: false,
            base_port: None,
            start_within: Duration::from_secs(60),
            places: InstallLocations::from_env(),
            exe,
            why: "it was asked for".to_owned(),
            extra_config: String::new(),
        }
    }
}
