//! The servers under test, of any kind, behind one trait.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use futures::future::LocalBoxFuture;
use hustings_record::words::plural;
use hustings_record::{EnsembleKind, Holdings, ServerMetrics};

pub mod control;
pub mod docker;
pub mod embedded;
pub mod external;
pub mod four_letter;
pub mod lists;
pub mod local;
pub mod log;
pub(crate) mod look;
pub mod server_options;
mod serving;
pub mod start;

pub use control::ServerControl;
use four_letter::FourLetterError;

use crate::files::write_error::if_full;
use crate::links::{ExternalToxiproxy, LinkError};
use crate::recording::archive::AddSegment;

/// A started ensemble. Servers are numbered from 1, in the order of [`servers`](Self::servers).
///
/// [`stop`](Self::stop) it when done: that is awaited and bounded. Dropping it is the last resort.
pub trait Ensemble {
    /// Client addresses of servers 1 to n.
    fn servers(&self) -> Vec<SocketAddr>;

    /// The same servers as the links' proxies reach them: `host:port` of servers 1 to n.
    fn upstreams(&self) -> Vec<String> {
        self.servers().iter().map(ToString::to_string).collect()
    }

    /// The Toxiproxy in front of its servers; None: the run provides its own links.
    fn toxiproxy(&self) -> Option<ExternalToxiproxy> {
        None
    }

    /// ZooKeeper's tick in milliseconds, as the servers report it; None if the run set it.
    fn tick_ms(&self) -> Option<u64> {
        None
    }

    /// Least and greatest session timeout that every server grants, in milliseconds; None if the run set them.
    fn timeout_bounds_ms(&self) -> Option<(u64, u64)> {
        None
    }

    /// Numbers and pids of those servers that run as processes of their own that this process can look at.
    fn processes(&self) -> Vec<(u32, u32)> {
        Vec::new()
    }

    /// Faults on its servers; None for external servers.
    fn control(&self) -> Option<&dyn ServerControl>;

    /// The whole log of server `server` so far; each line begins with its time (RFC 3339, UTC). None if the log is not
    /// accessible.
    fn log(&self, server: u32) -> LocalBoxFuture<'_, Result<Option<String>, EnsembleError>>;

    /// The kind of ensemble.
    fn kind(&self) -> EnsembleKind;

    /// ZooKeeper's version as reported, as `3.8.0`.
    fn version(&self) -> &str;

    /// One line for people: its properties, and why it was chosen.
    fn describe(&self) -> String;

    /// A warning that readers of its results need first.
    fn caveat(&self) -> Option<&str> {
        None
    }

    /// Reply of server `server` to a four-letter word, within a bounded time.
    fn ask(&self, server: u32, word: &'static str) -> LocalBoxFuture<'_, Result<String, EnsembleError>>;

    /// Numeric lines of `mntr` of every server, by server, all requested at once.
    ///
    /// The future fails if any server does not reply: counters of a part of an ensemble cannot be reconciled with
    /// anything.
    fn metrics(&self) -> LocalBoxFuture<'_, Result<BTreeMap<u32, ServerMetrics>, EnsembleError>> {
        Box::pin(async move {
            let ids = 1..=u32::try_from(self.servers().len()).unwrap_or(u32::MAX);
            let asked = ids.map(|id| async move {
                let text = self.ask(id, "mntr").await?;
                let metrics = four_letter::parse_mntr(&text);
                if metrics.is_empty() {
                    let reply = four_letter::shown(text.lines().next().unwrap_or_default());
                    let source = FourLetterError::Refused { word: "mntr", reply };
                    return Err(EnsembleError::Ask { server: id, source });
                }
                Ok((id, metrics))
            });
            futures::future::try_join_all(asked).await.map(|all| all.into_iter().collect())
        })
    }

    /// The lists (`dump`, `wchp`) of every serving server, by server, all requested at once. The two lists of one
    /// server are from two moments.
    fn holdings(&self) -> LocalBoxFuture<'_, Result<BTreeMap<u32, Holdings>, EnsembleError>> {
        Box::pin(async move {
            let ids = 1..=u32::try_from(self.servers().len()).unwrap_or(u32::MAX);
            let asked = ids.map(|id| async move {
                let dump = self.ask(id, "dump").await?;
                let watches = self.ask(id, "wchp").await?;
                Ok::<_, EnsembleError>(lists::holdings(&dump, &watches).map(|holdings| (id, holdings)))
            });
            futures::future::try_join_all(asked).await.map(|all| all.into_iter().flatten().collect())
        })
    }

    /// Fails if a process of the ensemble died without a kill fault, with its exit status and, if it has a log, the
    /// last lines. Returns the names of the processes that are stopped without a fault; of external servers, those that
    /// answer slowly.
    ///
    /// # Errors
    /// A server died ([`EnsembleError::Died`]), the process of the embedded servers, a proxy of the links between
    /// servers or the links' Toxiproxy did, an external server does not answer, or the Docker engine does not tell.
    fn check_alive(&self) -> LocalBoxFuture<'_, Result<Vec<String>, EnsembleError>>;

    /// Makes our processes that stand in for servers, or carry the links between them, record their own stalls. Each
    /// gets a segment of its own from `segment`.
    ///
    /// # Errors
    /// A segment cannot be made, or the process that is to write it does not take the order.
    fn begin_cell<'a>(&'a self, _cell: u32, _segment: AddSegment<'a>) -> LocalBoxFuture<'a, anyhow::Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Ends these segments.
    ///
    /// # Errors
    /// One of them could not be completed.
    fn end_cell(&self) -> LocalBoxFuture<'_, anyhow::Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Stops every server and removes its files. On external servers, removes only the run's own znodes. A second call
    /// does nothing.
    fn stop(&self) -> LocalBoxFuture<'_, Result<(), EnsembleError>>;
}

/// Why there is no ensemble, or not any more.
#[derive(Debug, thiserror::Error)]
pub enum EnsembleError {
    #[error(
        "no Java found: {looked}; run ci/setup.sh, install the package default-jre-headless, or set JAVA_HOME to a Java runtime"
    )]
    NoJava { looked: String },
    #[error(
        "no ZooKeeper found: {} lacks {}; run ci/setup.sh, install the package libzookeeper-java, or give a release directory by --zookeeper-home or ZOOKEEPER_HOME",
        .place.display(), .missing.join(", ")
    )]
    NoZooKeeper { place: PathBuf, missing: Vec<String> },
    #[error(
        "{} is not a ZooKeeper release directory: it lacks {}; give the unpacked release by --zookeeper-home or ZOOKEEPER_HOME, or neither to use the installed packages",
        .home.display(), .missing.join(", ")
    )]
    BadHome { home: PathBuf, missing: Vec<String> },
    #[error("no real servers can be started here: {local}; and {docker}")]
    NothingReal { local: String, docker: String },
    #[error("an ensemble of {0} servers cannot be started here: ask for 1, 3 or 5")]
    BadSize(u32),
    #[error("a tick of {0} ms cannot be used: ask for 10 to 60,000 ms")]
    BadTick(u64),
    #[error("{name} cannot be {ticks} ticks: ask for 1 to 10,000")]
    BadLimit { name: &'static str, ticks: u32 },
    #[error(
        "port {port}, wanted as the {role} port of server {server}, cannot be used: {source}; free it, or ask for another base port"
    )]
    PortTaken { port: u16, role: &'static str, server: u32, source: io::Error },
    #[error("no free ports for {} were found: {source}", plural(u64::from(*.servers), "server", "servers"))]
    NoPorts { servers: u32, source: io::Error },
    #[error("cannot {what} {}: {source}{}", .path.display(), if_full(.source))]
    Io { what: &'static str, path: PathBuf, source: io::Error },
    #[error("server {server} died ({status}){}", log_note(.log))]
    Died { server: u32, status: String, log: String },
    #[error("server {server} did not serve within {} s: {why}{}", .within.as_secs_f64(), log_note(.log))]
    NotServing { server: u32, within: Duration, why: String, log: String },
    #[error("server {server} did not go within {} s of being killed", .within.as_secs_f64())]
    WillNotStop { server: u32, within: Duration },
    #[error("server {server} gave no answer: {source}")]
    Ask { server: u32, source: FourLetterError },
    #[error("there is no server {0} in this ensemble")]
    NoSuchServer(u32),
    #[error(transparent)]
    External(#[from] external::ExternalError),
    #[error(transparent)]
    Embedded(#[from] embedded::EmbeddedError),
    #[error(
        "no Docker engine answers at {at}: {why}; start one (the service docker, or dockerd as root), or name another by DOCKER_HOST"
    )]
    NoEngine { at: String, why: String },
    #[error(
        "this user may not use the Docker engine at {at}; add the user to the group docker and log in again, or name an engine of the user's own by DOCKER_HOST"
    )]
    EngineForbidden { at: String },
    #[error(
        "the Docker engine at {at} cannot be used: {why}; set DOCKER_HOST to an engine of this machine, like unix:///var/run/docker.sock"
    )]
    BadEngine { at: String, why: String },
    #[error(
        "the image {image} is not there and cannot be pulled: {why}; name another by {option}, or build one of this machine's own by ci/images/build.sh and name that"
    )]
    NoImage { image: String, option: &'static str, why: String },
    #[error("the Docker engine cannot {what}: {why}")]
    Engine { what: String, why: String },
    #[error(
        "the Docker engine has no network to give: {why}; `hustings clean` removes those of killed runs, `docker network prune` all unused ones"
    )]
    NoNetwork { why: String },
    #[error(
        "port {port}, wanted for the links' Toxiproxy, cannot be used: {source}; free it, or ask for another base port"
    )]
    ToxiproxyPortTaken { port: u16, source: io::Error },
    #[error("Toxiproxy died ({status}){}", log_note(.log))]
    ToxiproxyDied { status: String, log: String },
    #[error("Toxiproxy did not answer at {url} within {} s: {why}{}", .within.as_secs_f64(), log_note(.log))]
    ToxiproxySilent { url: String, within: Duration, why: String, log: String },
    #[error("{left} of this ensemble did not go within {} s; remove it by `hustings clean`", .within.as_secs_f64())]
    LeftBehind { left: String, within: Duration },
    #[error("server {server} cannot be {what}: {why}")]
    Control { server: u32, what: &'static str, why: String },
    #[error("servers {servers:?} cannot be {what}: {why}")]
    Cut { servers: Vec<u32>, what: &'static str, why: String },
    /// An action had nothing to do, and did nothing: the state that it brings about was there already.
    #[error(transparent)]
    InEffect(Box<EnsembleError>),
    #[error("the links between the servers cannot be made: {0}")]
    Links(#[from] LinkError),
}

impl EnsembleError {
    /// The same error, for an action whose effect was there already.
    pub(crate) fn in_effect(self) -> Self {
        Self::InEffect(Box::new(self))
    }

    /// The name of the process that this error reports as gone.
    #[must_use]
    pub fn gone(&self) -> Option<String> {
        match self {
            Self::Died { server, .. } | Self::Ask { server, .. } => Some(server_name(*server)),
            Self::ToxiproxyDied { .. } => Some("toxiproxy".to_owned()),
            Self::Embedded(embedded::EmbeddedError::Died { .. }) => Some(embedded::WRITER.to_owned()),
            Self::Links(error) => error.gone(),
            _ => None,
        }
    }
}

/// A server's name in lists of processes.
pub(crate) fn server_name(server: u32) -> String {
    format!("server {server}")
}

fn log_note(log: &str) -> String {
    if log.is_empty() { "; it logged nothing".to_owned() } else { format!("; its last log lines:\n{log}") }
}
