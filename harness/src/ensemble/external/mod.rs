//! An ensemble that somebody else runs: looked at before it is used, never stopped, and left without a znode of the run.

mod conf;
mod entry;
mod error;
mod options;
mod server_route;
mod survey;
mod znode_cleanup;
mod znodes;

use std::cell::Cell;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures::future::LocalBoxFuture;
use hustings_record::EnsembleKind;
use hustings_record::words::first_few;

pub use error::ExternalError;
pub use znode_cleanup::{ZnodeCleanup, pending_znode_cleanup};

pub use options::ExternalOptions;
pub use survey::connections_needed;
pub use znodes::prefix;

use super::{Ensemble, EnsembleError, ServerControl, server_name};
use crate::access::Access;
use crate::files::cleanup_notes::CleanupNote;
use crate::files::workdir::WorkDir;
use crate::links::ExternalToxiproxy;
use crate::recording::archive::AddSegment;
use crate::sidecar::SidecarOrder;
use server_route::ServerRoute;
use survey::NamedServer;

/// What the tunnel's segment is called.
const WRITER: &str = "tunnel";
const ASK_WITHIN: Duration = Duration::from_secs(10);
/// A server that needs so long for the simplest answer does not run, or cannot be reached.
const SLUGGISH: Duration = Duration::from_millis(500);

/// Servers of somebody else. [`Ensemble::stop`] removes the run's znodes and leaves the servers alone.
#[derive(Debug)]
pub struct ExternalEnsemble {
    /// In the order of their ids.
    servers: Vec<NamedServer>,
    access: Access,
    way: ServerRoute,
    toxiproxy: Option<ExternalToxiproxy>,
    why: String,
    prefix: String,
    note: CleanupNote,
    stopped: Cell<bool>,
}

/// What servers of somebody else report about themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedServers {
    pub count: u32,
    pub version: String,
    /// The longest tick of any server, in milliseconds: the leader's tick counts, and any server may lead.
    pub tick_ms: u64,
    /// Least and greatest session timeout that every server grants, in milliseconds.
    pub timeout_bounds_ms: (u64, u64),
}

/// Asks servers of somebody else about themselves by four-letter words, and whether a run could use them. Opens a session
/// only to look for a root of its own, or as a user of theirs. Changes nothing there.
///
/// # Errors
/// As for [`ExternalEnsemble::connect`]. What is found once they have answered is the inner result.
pub async fn ask_servers(
    options: &ExternalOptions,
) -> Result<(ReportedServers, Result<(), ExternalError>), ExternalError> {
    let servers = survey::survey(options).await?;
    let reported = ReportedServers {
        count: u32::try_from(servers.len()).unwrap_or(u32::MAX),
        version: servers.first().map_or_else(|| "unknown".to_owned(), |server| server.version.clone()),
        tick_ms: tick_ms(&servers).unwrap_or_default(),
        timeout_bounds_ms: timeout_bounds_ms(&servers).unwrap_or_default(),
    };
    Ok((reported, check_use(options, &servers).await))
}

/// Whether a run could use servers that have answered.
async fn check_use(options: &ExternalOptions, servers: &[NamedServer]) -> Result<(), ExternalError> {
    survey::check_connections(options, servers)?;
    let access = &options.access;
    if access.chroot.is_empty() && !access.is_known() {
        return Ok(());
    }
    let way = ServerRoute::open(access, &named(servers)).map_err(ExternalError::NoTunnel)?;
    entry::look(access, (&access.connect_string(way.addrs(), ""), &names(servers))).await
}

/// Addresses and names.
fn named(servers: &[NamedServer]) -> Vec<(SocketAddr, String)> {
    servers.iter().map(|server| (server.addr, server.name.clone())).collect()
}

/// Names as they were given.
fn names(servers: &[NamedServer]) -> Vec<String> {
    servers.iter().map(|server| server.name.clone()).collect()
}

/// The leader's tick counts, and any server may lead: deadlines are set by the longest.
fn tick_ms(servers: &[NamedServer]) -> Option<u64> {
    servers.iter().map(|server| server.conf.tick_ms).max()
}

fn timeout_bounds_ms(servers: &[NamedServer]) -> Option<(u64, u64)> {
    let least = servers.iter().map(|server| server.conf.timeout_ms_min).max()?;
    let most = servers.iter().map(|server| server.conf.timeout_ms_max).min()?;
    Some((least, most))
}

impl ExternalEnsemble {
    /// Looks at the servers, notes under `work` that run `run_id` uses them, and tries whether it may: a znode is created there
    /// and deleted.
    ///
    /// # Errors
    /// A server cannot be reached, does not serve, does not allow what a run has to do or takes too few connections; or
    /// `connect` does not name all servers of one ensemble, each once, and a path that is there.
    pub async fn connect(options: ExternalOptions, work: &WorkDir, run_id: &str) -> Result<Self, EnsembleError> {
        let servers = survey::survey(&options).await?;
        survey::check_connections(&options, &servers)?;
        let ExternalOptions { access, toxiproxy, why, .. } = options;
        let named = named(&servers);
        let way = ServerRoute::open(&access, &named).map_err(ExternalError::NoTunnel)?;
        // Who is interrupted before this has no debts.
        let note = znode_cleanup::borrow(work.path(), &named, &access).map_err(|source| EnsembleError::Io {
            what: "note the ensemble in",
            path: work.path().to_owned(),
            source,
        })?;
        let prefix = prefix(run_id);
        let ensemble = Self { servers, access, way, toxiproxy, why, prefix, note, stopped: Cell::new(false) };
        let (cluster, names) = (ensemble.cluster(), names(&ensemble.servers));
        if let Err((error, left)) = entry::prove(&ensemble.access, (&cluster, &names), &ensemble.prefix).await {
            if !left {
                // A note that stays is read again, and finds nothing to remove.
                let _ = ensemble.note.remove();
            }
            return Err(error.into());
        }
        Ok(ensemble)
    }

    /// The connect string of its clients.
    fn cluster(&self) -> String {
        self.access.connect_string(self.way.addrs(), "")
    }

    /// How clients get there, where that is not the plain way.
    fn entry(&self) -> String {
        let Access { chroot, digest, sasl, tls } = &self.access;
        let below = (!chroot.is_empty()).then(|| format!("below {chroot}"));
        let by = [(tls.is_some(), "by TLS"), (digest.is_some(), "known by digest"), (sasl.is_some(), "known by SASL")];
        let ways = by.iter().filter(|(is, _)| *is).map(|(_, how)| (*how).to_owned());
        below.into_iter().chain(ways).map(|how| format!(", {how}")).collect()
    }

    fn server(&self, server: u32) -> Result<&NamedServer, EnsembleError> {
        let at = usize::try_from(server).ok().and_then(|server| server.checked_sub(1));
        at.and_then(|at| self.servers.get(at)).ok_or(EnsembleError::NoSuchServer(server))
    }

    /// Asks a server whether it is there; gives its name if it takes too long over that to be well.
    async fn answers(&self, server: u32) -> Result<Option<String>, EnsembleError> {
        let asked = Instant::now();
        self.ask(server, "srvr").await?;
        Ok((asked.elapsed() > SLUGGISH).then(|| server_name(server)))
    }

    /// Says which id each server has, where that is not its number.
    fn ids(&self) -> String {
        let ids: Vec<u64> = self.servers.iter().map(|server| server.conf.id).collect();
        if ids.len() == 1 || ids.iter().copied().eq(1..=ids.len() as u64) {
            return String::new();
        }
        let named: Vec<String> = (1..).zip(&ids).map(|(number, id)| format!("{number} has id {id}")).collect();
        format!(" (server {})", first_few(&named))
    }
}

impl Ensemble for ExternalEnsemble {
    fn servers(&self) -> Vec<SocketAddr> {
        self.way.addrs().to_vec()
    }

    fn upstreams(&self) -> Vec<String> {
        let own =
            |(server, addr): (&NamedServer, &SocketAddr)| server.upstream.clone().unwrap_or_else(|| addr.to_string());
        self.servers.iter().zip(self.way.addrs()).map(own).collect()
    }

    fn toxiproxy(&self) -> Option<ExternalToxiproxy> {
        self.toxiproxy.clone()
    }

    fn tick_ms(&self) -> Option<u64> {
        tick_ms(&self.servers)
    }

    fn timeout_bounds_ms(&self) -> Option<(u64, u64)> {
        timeout_bounds_ms(&self.servers)
    }

    fn control(&self) -> Option<&dyn ServerControl> {
        None
    }

    fn log(&self, _server: u32) -> LocalBoxFuture<'_, Result<Option<String>, EnsembleError>> {
        Box::pin(async { Ok(None) })
    }

    fn kind(&self) -> EnsembleKind {
        EnsembleKind::External
    }

    fn version(&self) -> &str {
        self.servers.first().map_or("unknown", |server| &server.version)
    }

    fn describe(&self) -> String {
        let names = names(&self.servers);
        let s = if names.len() == 1 { "" } else { "s" };
        format!(
            "external: {} ZooKeeper {} server{s} at {}{}{}; chosen because {}",
            names.len(),
            self.version(),
            first_few(&names),
            self.ids(),
            self.entry(),
            self.why
        )
    }

    fn ask(&self, server: u32, word: &'static str) -> LocalBoxFuture<'_, Result<String, EnsembleError>> {
        Box::pin(async move {
            let at = self.server(server)?;
            let asked = server_route::ask(self.access.tls.as_ref(), (at.addr, &at.name), word, ASK_WITHIN).await;
            asked.map_err(|source| EnsembleError::Ask { server, source })
        })
    }

    fn check_alive(&self) -> LocalBoxFuture<'_, Result<Vec<String>, EnsembleError>> {
        Box::pin(async {
            let asked = (1..).zip(&self.servers).map(|(number, _)| self.answers(number));
            let names = futures::future::try_join_all(asked).await?;
            Ok(names.into_iter().flatten().collect())
        })
    }

    fn begin_cell<'a>(&'a self, cell: u32, segment: AddSegment<'a>) -> LocalBoxFuture<'a, anyhow::Result<()>> {
        Box::pin(async move {
            let Some(tunnel) = self.way.tunnel() else { return Ok(()) };
            let (writer, segment) = (WRITER.to_owned(), segment(WRITER)?);
            tunnel.record(SidecarOrder::Begin { cell, writer, segment, witnessed: None }).await
        })
    }

    fn end_cell(&self) -> LocalBoxFuture<'_, anyhow::Result<()>> {
        Box::pin(async {
            match self.way.tunnel() {
                Some(tunnel) => tunnel.record(SidecarOrder::End).await,
                None => Ok(()),
            }
        })
    }

    fn stop(&self) -> LocalBoxFuture<'_, Result<(), EnsembleError>> {
        Box::pin(async {
            if self.stopped.get() {
                return Ok(());
            }
            let removed = znodes::remove(&self.access, &self.cluster(), &self.prefix).await;
            let settled = removed.and_then(|_| self.note.remove().map_err(|e| e.to_string()));
            settled.map_err(|why| {
                let servers: Vec<SocketAddr> = self.servers.iter().map(|server| server.addr).collect();
                let servers = self.access.place(&servers);
                ExternalError::LeftBehind { prefix: self.prefix.clone(), servers, why }
            })?;
            self.stopped.set(true);
            Ok(())
        })
    }
}
