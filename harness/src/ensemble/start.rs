//! Which ensemble a run gets, and its start.

use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use super::docker::{self, DockerEnsemble, DockerOptions};
use super::embedded::{EmbeddedEnsemble, EmbeddedOptions};
use super::external::{ExternalEnsemble, ExternalOptions};
use super::local::{Install, LocalEnsemble, LocalOptions, Places};
use super::{Ensemble, EnsembleError};
use crate::links::External;
use crate::workdir::WorkDir;

/// Servers of somebody else that are just starting are waited for so long.
const STARTING: Duration = Duration::from_secs(10);

/// What the user wants to run on.
#[derive(Clone, Debug)]
pub enum Wish {
    /// Local if the machine has Java and ZooKeeper, else Docker, else embedded.
    Auto(LocalWish, DockerWish),
    Local(LocalWish),
    Docker(DockerWish),
    Embedded(EmbeddedWish),
    External(ExternalWish),
}

/// Servers as child processes.
#[derive(Clone, Debug, Default)]
pub struct LocalWish {
    /// An unpacked release; None: the installed packages.
    pub zookeeper_home: Option<PathBuf>,
    pub base_port: Option<u16>,
    /// The Toxiproxy for the links; None: embedded proxies.
    pub toxiproxy: Option<External>,
}

/// Servers and Toxiproxy as containers.
#[derive(Clone, Debug)]
pub struct DockerWish {
    pub zookeeper_image: String,
    pub toxiproxy_image: String,
    pub base_port: Option<u16>,
}

/// Servers of the model, in a child process.
#[derive(Clone, Debug, Default)]
pub struct EmbeddedWish {
    pub base_port: Option<u16>,
    /// The Toxiproxy for the links; None: embedded proxies.
    pub toxiproxy: Option<External>,
}

/// Servers that somebody else runs.
#[derive(Clone, Debug)]
pub struct ExternalWish {
    /// Client addresses, as `host:port`.
    pub connect: Vec<String>,
    /// The same servers as the Toxiproxy reaches them, in the same order; None: at the same addresses.
    pub upstreams: Option<Vec<String>>,
    /// The Toxiproxy for the links; None: embedded proxies.
    pub toxiproxy: Option<External>,
}

/// What a run needs of its ensemble: the most that any of its cells asks for.
#[derive(Clone, Debug)]
pub struct Needs {
    pub servers: u32,
    pub tick_ms: u64,
    /// `initLimit` and `syncLimit`, in ticks, where the scenario tells them.
    pub init_limit: Option<u32>,
    pub sync_limit: Option<u32>,
    pub fsync: bool,
    /// Largest heap of each server, in MiB.
    pub heap_mb: u32,
    pub sessions: u64,
    /// Whether the servers' own connections are to be cut.
    pub quorum_links: bool,
    /// Links of the cell that has most; 0 if none has any.
    pub link_ports: u16,
    /// This executable, which guards local servers.
    pub exe: PathBuf,
    /// Completes the sentence "chosen because …".
    pub why: String,
}

impl Wish {
    /// The Toxiproxy that was named; it is there before the ensemble is.
    #[must_use]
    pub fn toxiproxy(&self) -> Option<&External> {
        match self {
            Self::Auto(local, _) | Self::Local(local) => local.toxiproxy.as_ref(),
            Self::Embedded(embedded) => embedded.toxiproxy.as_ref(),
            Self::External(external) => external.toxiproxy.as_ref(),
            Self::Docker(_) => None,
        }
    }

    /// How many servers run already; None where the scenario says how many are started.
    #[must_use]
    pub fn servers(&self) -> Option<u32> {
        match self {
            Self::External(external) => u32::try_from(external.connect.len()).ok(),
            _ => None,
        }
    }

    /// Whether the servers will be processes of this machine, under its limits.
    #[must_use]
    pub fn is_local(&self) -> bool {
        matches!(self, Self::Local(_))
    }

    /// Whether the servers are somebody else's, so that nothing may be done to them.
    #[must_use]
    pub fn is_external(&self) -> bool {
        matches!(self, Self::External(_))
    }

    /// What is asked for, with `Auto` decided, and why: completes the sentence "chosen because …".
    ///
    /// # Errors
    /// A release or a Toxiproxy that was named cannot be used.
    pub async fn choose(self) -> Result<(Self, String), EnsembleError> {
        match self {
            Self::Auto(local, docker) => auto(local, docker).await,
            asked => Ok((asked, "it was asked for".to_owned())),
        }
    }
}

async fn auto(local: LocalWish, docker: DockerWish) -> Result<(Wish, String), EnsembleError> {
    let missing = match Install::find(&places(&local)) {
        Ok(_) => {
            let why = "this machine has Java and ZooKeeper, and servers without containers come first";
            return Ok((Wish::Local(local), why.to_owned()));
        }
        // A release that was named is meant.
        Err(error) if local.zookeeper_home.is_some() || local.toxiproxy.is_some() => return Err(error),
        Err(error) => error,
    };
    match docker::fetch(&docker.zookeeper_image, &docker.toxiproxy_image).await {
        Ok(engine) => {
            let why = format!("{engine} can run it, and local servers cannot be started ({missing})");
            Ok((Wish::Docker(docker), why))
        }
        Err(error) => {
            let why = format!("nothing else can be started here: {missing}; and {error}");
            Ok((Wish::Embedded(EmbeddedWish { base_port: local.base_port, toxiproxy: None }), why))
        }
    }
}

/// Starts the ensemble, or connects to it. Temporary files and notes for `hustings clean` go to `work`.
///
/// # Errors
/// As for the ensemble's own start.
pub async fn start(wish: &Wish, needs: Needs, work: &WorkDir, run_id: &str) -> Result<Rc<dyn Ensemble>, EnsembleError> {
    Ok(match wish {
        Wish::Auto(local, _) | Wish::Local(local) => {
            Rc::new(LocalEnsemble::start(local_options(local, needs), work).await?)
        }
        Wish::Docker(docker) => Rc::new(DockerEnsemble::start(docker_options(docker, needs), work, run_id).await?),
        Wish::Embedded(embedded) => Rc::new(EmbeddedEnsemble::start(embedded_options(embedded, needs), work).await?),
        Wish::External(external) => {
            let options = ExternalOptions {
                connect: external.connect.clone(),
                upstreams: external.upstreams.clone(),
                toxiproxy: external.toxiproxy.clone(),
                sessions: needs.sessions,
                within: STARTING,
                why: needs.why,
            };
            Rc::new(ExternalEnsemble::connect(options, work, run_id).await?)
        }
    })
}

fn embedded_options(embedded: &EmbeddedWish, needs: Needs) -> EmbeddedOptions {
    EmbeddedOptions {
        servers: needs.servers,
        tick_ms: needs.tick_ms,
        sync_limit: needs.sync_limit,
        sessions: needs.sessions,
        base_port: embedded.base_port,
        why: needs.why,
        ..EmbeddedOptions::new(needs.exe)
    }
}

fn docker_options(docker: &DockerWish, needs: Needs) -> DockerOptions {
    DockerOptions {
        servers: needs.servers,
        tick_ms: needs.tick_ms,
        init_limit: needs.init_limit,
        sync_limit: needs.sync_limit,
        fsync: needs.fsync,
        heap_mb: needs.heap_mb,
        zookeeper_image: docker.zookeeper_image.clone(),
        toxiproxy_image: docker.toxiproxy_image.clone(),
        link_ports: needs.link_ports,
        base_port: docker.base_port,
        why: needs.why,
        ..DockerOptions::new()
    }
}

fn places(local: &LocalWish) -> Places {
    Places { zookeeper_home: local.zookeeper_home.clone(), ..Places::from_env() }
}

fn local_options(local: &LocalWish, needs: Needs) -> LocalOptions {
    LocalOptions {
        servers: needs.servers,
        tick_ms: needs.tick_ms,
        init_limit: needs.init_limit,
        sync_limit: needs.sync_limit,
        quorum_links: needs.quorum_links,
        fsync: needs.fsync,
        heap_mb: needs.heap_mb,
        base_port: local.base_port,
        places: places(local),
        why: needs.why,
        ..LocalOptions::new(needs.exe)
    }
}
