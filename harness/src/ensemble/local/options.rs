//! What is asked of a local ensemble.

use std::path::PathBuf;
use std::time::Duration;

use super::super::server_options::ServerOptions;
use super::Places;

#[derive(Clone, Debug)]
pub struct LocalOptions {
    pub servers: ServerOptions,
    /// Whether servers reach each other over links, which a cut needs.
    pub quorum_links: bool,
    /// Client ports are this and the following ones, then quorum ports, then election ports, then those
    /// of links. None: any free ports.
    pub base_port: Option<u16>,
    /// How long the servers may take until all of them serve.
    pub start_within: Duration,
    /// Where Java and ZooKeeper are looked for.
    pub places: Places,
    /// The `hustings` executable, which guards the JVMs. Tests are another executable and must name it.
    pub exe: PathBuf,
    /// Completes the sentence "chosen because …".
    pub why: String,
    /// Lines added to the end of server 1's configuration, for tests that need one that does not start.
    pub extra_config: String,
}

impl LocalOptions {
    /// Such servers, found by the environment, guarded by `exe`.
    #[must_use]
    pub fn new(servers: ServerOptions, exe: PathBuf) -> Self {
        Self {
            servers,
            quorum_links: false,
            base_port: None,
            start_within: Duration::from_secs(60),
            places: Places::from_env(),
            exe,
            why: "it was asked for".to_owned(),
            extra_config: String::new(),
        }
    }
}
