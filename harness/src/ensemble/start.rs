//! Which ensemble a run gets, and its start.

use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use super::docker::{self, DockerEnsemble, DockerOptions};
use super::embedded::{EmbeddedEnsemble, EmbeddedOptions};
use super::external::{ExternalEnsemble, ExternalError, ExternalOptions, ReportedServers, ask_servers};
use super::local::{self, Install, InstallLocations, LocalEnsemble, LocalOptions};
use super::server_options::ServerOptions;
use super::{Ensemble, EnsembleError};
use crate::access::Access;
use crate::files::workdir::WorkDir;
use crate::links::ExternalToxiproxy;

/// Servers of somebody else that are just starting are waited for so long.
const STARTING: Duration = Duration::from_secs(10);
/// The same for a dry run, which starts nothing.
const STARTING_DRY: Duration = Duration::from_secs(1);

/// What the user wants to run on.
#[derive(Clone, Debug)]
pub enum EnsembleRequest {
    /// Local if the machine has Java and ZooKeeper, else Docker, else embedded, unless it must be `real`.
    Auto {
        local: LocalRequest,
        docker: DockerRequest,
        real: bool,
    },
    Local(LocalRequest),
    Docker(DockerRequest),
    Embedded(EmbeddedRequest),
    External(ExternalRequest),
}

/// Servers as child processes.
#[derive(Clone, Debug, Default)]
pub struct LocalRequest {
    /// An unpacked release; None: the installed packages.
    pub zookeeper_home: Option<PathBuf>,
    pub base_port: Option<u16>,
    /// The Toxiproxy for the links; None: embedded proxies.
    pub toxiproxy: Option<ExternalToxiproxy>,
}

impl LocalRequest {
    /// Whether local servers are meant, so that nothing else may stand in for them.
    fn is_named(&self) -> bool {
        self.zookeeper_home.is_some() || self.toxiproxy.is_some()
    }
}

/// Servers and Toxiproxy as containers.
#[derive(Clone, Debug)]
pub struct DockerRequest {
    pub zookeeper_image: String,
    pub toxiproxy_image: String,
    pub base_port: Option<u16>,
}

/// Servers of the model, in a child process.
#[derive(Clone, Debug, Default)]
pub struct EmbeddedRequest {
    pub base_port: Option<u16>,
    /// The Toxiproxy for the links; None: embedded proxies.
    pub toxiproxy: Option<ExternalToxiproxy>,
}

/// Servers that somebody else runs.
#[derive(Clone, Debug)]
pub struct ExternalRequest {
    /// Client addresses, as `host:port`.
    pub connect: Vec<String>,
    /// The same servers as the Toxiproxy reaches them, in the same order; None: at the same addresses.
    pub upstreams: Option<Vec<String>>,
    /// The Toxiproxy for the links; None: embedded proxies.
    pub toxiproxy: Option<ExternalToxiproxy>,
    /// What its clients need.
    pub access: Access,
}

impl ExternalRequest {
    fn options(&self, (sessions, group_size): (u64, u64), within: Duration, why: String) -> ExternalOptions {
        ExternalOptions {
            connect: self.connect.clone(),
            upstreams: self.upstreams.clone(),
            toxiproxy: self.toxiproxy.clone(),
            access: self.access.clone(),
            sessions,
            group_size,
            within,
            why,
        }
    }

    /// Asks the servers about themselves, for a run with this many sessions and groups of at most this size. Changes
    /// nothing there.
    ///
    /// # Errors
    /// As for [`ask_servers`].
    pub async fn ask(
        &self,
        sessions: u64,
        group_size: u64,
    ) -> Result<(ReportedServers, Result<(), ExternalError>), ExternalError> {
        ask_servers(&self.options((sessions, group_size), STARTING_DRY, String::new())).await
    }
}

/// What a run needs of its ensemble: the most that any of its cells asks for.
#[derive(Clone, Debug)]
pub struct EnsembleRequirements {
    pub servers: ServerOptions,
    pub sessions: u64,
    pub group_size: u64,
    /// Whether the servers' own connections are to be cut.
    pub quorum_links: bool,
    /// Links of the cell that has most; 0 if none has any.
    pub link_ports: u16,
    /// This executable, which guards local servers.
    pub exe: PathBuf,
    /// Completes the sentence "chosen because …".
    pub why: String,
}

impl EnsembleRequest {
    /// The Toxiproxy that was named; it is there before the ensemble is.
    #[must_use]
    pub fn toxiproxy(&self) -> Option<&ExternalToxiproxy> {
        match self {
            Self::Auto { local, .. } | Self::Local(local) => local.toxiproxy.as_ref(),
            Self::Embedded(embedded) => embedded.toxiproxy.as_ref(),
            Self::External(external) => external.toxiproxy.as_ref(),
            Self::Docker(_) => None,
        }
    }

    /// What clients of its servers need; nothing where the run starts them.
    #[must_use]
    pub fn access(&self) -> Access {
        match self {
            Self::External(external) => external.access.clone(),
            Self::Auto { .. } | Self::Local(_) | Self::Embedded(_) | Self::Docker(_) => Access::default(),
        }
    }

    /// How many servers run already; None where the scenario says how many are started.
    #[must_use]
    pub fn servers(&self) -> Option<u32> {
        match self {
            Self::External(external) => u32::try_from(external.connect.len()).ok(),
            Self::Auto { .. } | Self::Local(_) | Self::Embedded(_) | Self::Docker(_) => None,
        }
    }

    /// The first port of `--base-port`, and how many in a row the servers and links of a run take from there on. `None`:
    /// any free ports. `links`: of the cell that has most; `between`: whether servers reach each other over links, too.
    #[must_use]
    pub fn ports(&self, servers: u32, links: u32, between: bool) -> Option<(u16, u32)> {
        match self {
            Self::Auto { local: own, .. } | Self::Local(own) => {
                let count = local::port_count(servers, between);
                Some((own.base_port?, u32::try_from(count).unwrap_or(u32::MAX)))
            }
            Self::Docker(docker) => Some((docker.base_port?, docker::port_count(servers, links))),
            Self::Embedded(embedded) => Some((embedded.base_port?, servers)),
            Self::External(_) => None,
        }
    }

    /// Whether the servers will be processes of this machine, under its limits.
    #[must_use]
    pub fn is_local(&self) -> bool {
        match self {
            Self::Local(_) => true,
            Self::Auto { .. } | Self::Embedded(_) | Self::Docker(_) | Self::External(_) => false,
        }
    }

    /// Whether the servers will be containers, with a Toxiproxy of their own.
    #[must_use]
    pub fn is_docker(&self) -> bool {
        matches!(self, Self::Docker(_))
    }

    /// Whether the servers are somebody else's, so that nothing may be done to them.
    #[must_use]
    pub fn is_external(&self) -> bool {
        matches!(self, Self::External(_))
    }

    /// Whether this machine has what local servers need, if they are asked for. Starts nothing.
    ///
    /// # Errors
    /// As for [`Install::find`].
    pub fn check_install(&self) -> Result<(), EnsembleError> {
        match self {
            Self::Local(local) => Install::find(&places(local)).map(|_| ()),
            Self::Auto { local, .. } if local.is_named() => Install::find(&places(local)).map(|_| ()),
            Self::Auto { .. } | Self::Embedded(_) | Self::Docker(_) | Self::External(_) => Ok(()),
        }
    }

    /// What is asked for, with `Auto` decided, and why: completes the sentence "chosen because …".
    ///
    /// # Errors
    /// A release or a Toxiproxy that was named cannot be used.
    pub async fn choose(self) -> Result<(Self, String), EnsembleError> {
        match self {
            Self::Auto { local, docker, real } => auto(local, docker, real).await,
            asked => Ok((asked, "it was asked for".to_owned())),
        }
    }
}

async fn auto(
    local: LocalRequest,
    docker: DockerRequest,
    real: bool,
) -> Result<(EnsembleRequest, String), EnsembleError> {
    let missing = match Install::find(&places(&local)) {
        Ok(_) => {
            let why = "this machine has Java and ZooKeeper, and servers without containers come first";
            return Ok((EnsembleRequest::Local(local), why.to_owned()));
        }
        Err(error) if local.is_named() => return Err(error),
        Err(error) => error,
    };
    match docker::fetch(&docker.zookeeper_image, &docker.toxiproxy_image).await {
        Ok(engine) => {
            let why = format!("{engine} can run it, and local servers cannot be started ({missing})");
            Ok((EnsembleRequest::Docker(docker), why))
        }
        Err(error) if real => Err(EnsembleError::NothingReal { local: missing.to_string(), docker: error.to_string() }),
        Err(error) => {
            let why = format!("nothing else can be started here: {missing}; and {error}");
            Ok((EnsembleRequest::Embedded(EmbeddedRequest { base_port: local.base_port, toxiproxy: None }), why))
        }
    }
}

/// Starts the ensemble, or connects to it. Temporary files and notes for `hustings clean` go to `work`.
///
/// # Errors
/// As for the ensemble's own start.
pub async fn start(
    request: &EnsembleRequest,
    needs: EnsembleRequirements,
    work: &WorkDir,
    run_id: &str,
) -> Result<Rc<dyn Ensemble>, EnsembleError> {
    Ok(match request {
        EnsembleRequest::Auto { local, .. } | EnsembleRequest::Local(local) => {
            Rc::new(LocalEnsemble::start(local_options(local, needs), work).await?)
        }
        EnsembleRequest::Docker(docker) => {
            Rc::new(DockerEnsemble::start(docker_options(docker, needs), work, run_id).await?)
        }
        EnsembleRequest::Embedded(embedded) => {
            Rc::new(EmbeddedEnsemble::start(embedded_options(embedded, needs), work).await?)
        }
        EnsembleRequest::External(external) => {
            let options = external.options((needs.sessions, needs.group_size), STARTING, needs.why);
            Rc::new(ExternalEnsemble::connect(options, work, run_id).await?)
        }
    })
}

fn embedded_options(embedded: &EmbeddedRequest, needs: EnsembleRequirements) -> EmbeddedOptions {
    EmbeddedOptions {
        sessions: needs.sessions,
        base_port: embedded.base_port,
        why: needs.why,
        ..EmbeddedOptions::new(needs.servers, needs.exe)
    }
}

fn docker_options(docker: &DockerRequest, needs: EnsembleRequirements) -> DockerOptions {
    DockerOptions {
        zookeeper_image: docker.zookeeper_image.clone(),
        toxiproxy_image: docker.toxiproxy_image.clone(),
        link_ports: needs.link_ports,
        base_port: docker.base_port,
        why: needs.why,
        ..DockerOptions::new(needs.servers)
    }
}

fn places(local: &LocalRequest) -> InstallLocations {
    InstallLocations { zookeeper_home: local.zookeeper_home.clone(), ..InstallLocations::from_env() }
}

fn local_options(local: &LocalRequest, needs: EnsembleRequirements) -> LocalOptions {
    LocalOptions {
        quorum_links: needs.quorum_links,
        base_port: local.base_port,
        places: places(local),
        why: needs.why,
        ..LocalOptions::new(needs.servers, needs.exe)
    }
}
