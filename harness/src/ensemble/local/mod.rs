//! A local ensemble: real ZooKeeper servers as child JVMs of this process, on free ports of 127.0.0.1, with folders of
//! their own. Nothing of the system's ZooKeeper is used but its jars.

mod config;
mod control;
mod install;
mod log;
mod options;
mod ports;
mod quorum_links;
mod server;

use std::cell::RefCell;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::future::LocalBoxFuture;
use hustings_record::EnsembleKind;

pub(super) use config::LOGBACK;
pub use install::{Install, InstallLocations, Layout};
pub use options::LocalOptions;
pub use ports::count_free;
pub(crate) use ports::reserve_row;
pub(super) use ports::{check_free, count as port_count};

use super::serving::{self, StartingServers};
use super::{Ensemble, EnsembleError, ServerControl, four_letter, server_name};
use crate::files::workdir::WorkDir;
use crate::links::{LinkError, Mesh};
use crate::recording::archive::AddSegment;
use ports::Ports;
use server::{Launcher, ServerProcess};

/// How often a start is tried again with other ports when another process took one between the choice and the bind.
const PORT_ATTEMPTS_MAX: u32 = 5;
/// How long a four-letter word may take: a loaded server on a busy machine answers late.
const ASK_WITHIN: Duration = Duration::from_secs(10);

/// Child JVMs, stopped by [`Ensemble::stop`]; dropped, they are killed without being waited for.
#[derive(Debug)]
pub struct LocalEnsemble {
    servers: RefCell<Vec<ServerProcess>>,
    /// The links between the servers, if they have any.
    mesh: Option<Mesh>,
    launcher: Launcher,
    folder: PathBuf,
    version: String,
    described: String,
}

impl LocalEnsemble {
    /// Starts the servers and waits until every one of them serves. Everything is put under `work`, and every child is
    /// noted there.
    ///
    /// Call it on a thread that lives as long as the process (the main thread, or a test's): the kernel ties the
    /// children's life to the *thread* that started them.
    ///
    /// # Errors
    /// When Java or ZooKeeper is missing, a port of an asked base is taken, a server dies, or they do not serve in time.
    /// Nothing is left behind then.
    pub async fn start(options: LocalOptions, work: &WorkDir) -> Result<Self, EnsembleError> {
        options.servers.check()?;
        let install = Install::find(&options.places)?;
        let mut attempt = 1;
        loop {
            let ports = ports::reserve(options.servers.count, options.quorum_links, options.base_port, attempt)?;
            match Self::start_on(&options, &install, &ports, work).await {
                Err(error) if options.base_port.is_none() && attempt < PORT_ATTEMPTS_MAX && lost_a_port(&error) => {
                    tracing::info!("another process took a port while the ensemble was starting: trying other ports");
                    attempt += 1;
                }
                done => return done,
            }
        }
    }

    async fn start_on(
        options: &LocalOptions,
        install: &Install,
        ports: &Ports,
        work: &WorkDir,
    ) -> Result<Self, EnsembleError> {
        // A run may start several ensembles, one after the other.
        static COUNT: AtomicU32 = AtomicU32::new(1);
        let folder = work.path().join(format!("ensemble-{}", COUNT.fetch_add(1, Ordering::Relaxed)));
        let children = work.children().map_err(|source| EnsembleError::Io {
            what: "open the notes on children in",
            path: work.path().to_owned(),
            source,
        })?;
        let mut ensemble = Self {
            servers: RefCell::default(),
            mesh: None,
            launcher: Launcher { options: options.clone(), install: install.clone(), children },
            folder,
            version: String::new(),
            described: String::new(),
        };
        let started = ensemble.start_servers(ports).await;
        if let Err(error) = started {
            // The first error is the one to tell; what cannot be cleaned now is cleaned by the run's folder going.
            let _ = ensemble.stop().await;
            return Err(error);
        }
        Ok(ensemble)
    }

    async fn start_servers(&mut self, ports: &Ports) -> Result<(), EnsembleError> {
        let Launcher { options, install, .. } = &self.launcher;
        if !ports.links.is_empty() {
            self.mesh = Some(Mesh::start(&options.exe, quorum_links::ways(ports)).await?);
        }
        for (id, own) in (1..).zip(&ports.servers) {
            let folder = self.folder.join(format!("server-{id}"));
            config::write(&folder, id, ports, options)?;
            self.servers.get_mut().push(ServerProcess::spawn(id, own.client, folder, &self.launcher)?);
        }
        let srvr = serving::wait_until_serving(self.servers.get_mut(), options.start_within).await?;
        let version = four_letter::version(&srvr).or_else(|| install.version.clone());
        self.version = version.unwrap_or_else(|| "unknown".to_owned());
        self.described = format!(
            "local: {} ZooKeeper {} server{} on 127.0.0.1{}, {}; chosen because {}",
            options.servers.count,
            self.version,
            if options.servers.count == 1 { "" } else { "s" },
            if self.mesh.is_some() { " with links between them" } else { "" },
            install.describe(),
            options.why
        );
        Ok(())
    }

    /// Pids of those of servers 1 to n that run.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        self.processes().into_iter().map(|(_, pid)| pid).collect()
    }

    /// The names of those that do not run, though nobody meant it.
    fn look_at_processes(&self) -> Result<Vec<String>, EnsembleError> {
        let mut idle = self.mesh.as_ref().map_or(Ok(Vec::new()), Mesh::check_alive)?;
        for server in self.servers.borrow_mut().iter_mut() {
            server.check_alive()?;
            if server.is_idle() {
                idle.push(server_name(server.id));
            }
        }
        Ok(idle)
    }

    /// Pids of the proxies that carry the links between the servers.
    #[must_use]
    pub fn link_pids(&self) -> Vec<u32> {
        self.mesh.as_ref().map(Mesh::pids).unwrap_or_default()
    }

    /// Where the servers keep their configuration, data and logs.
    #[must_use]
    pub fn folder(&self) -> &std::path::Path {
        &self.folder
    }
}

impl StartingServers for Vec<ServerProcess> {
    fn addrs(&self) -> Vec<SocketAddr> {
        self.iter().map(|server| server.addr).collect()
    }

    async fn check_alive(&mut self) -> Result<(), EnsembleError> {
        self.iter_mut().try_for_each(ServerProcess::check_alive)
    }

    async fn log_tail(&self, server: u32) -> String {
        self.iter().find(|s| s.id == server).map(ServerProcess::log_tail).unwrap_or_default()
    }
}

impl Ensemble for LocalEnsemble {
    fn servers(&self) -> Vec<SocketAddr> {
        self.servers.borrow().iter().map(|s| s.addr).collect()
    }

    fn kind(&self) -> EnsembleKind {
        EnsembleKind::Local
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn describe(&self) -> String {
        self.described.clone()
    }

    fn processes(&self) -> Vec<(u32, u32)> {
        self.servers.borrow().iter().filter_map(|server| Some((server.id, server.pid()?))).collect()
    }

    fn ask(&self, server: u32, word: &'static str) -> LocalBoxFuture<'_, Result<String, EnsembleError>> {
        Box::pin(async move {
            let addr = self.servers.borrow().iter().find(|s| s.id == server).map(|s| s.addr);
            let addr = addr.ok_or(EnsembleError::NoSuchServer(server))?;
            four_letter::ask(addr, word, ASK_WITHIN).await.map_err(|source| EnsembleError::Ask { server, source })
        })
    }

    fn control(&self) -> Option<&dyn ServerControl> {
        Some(self)
    }

    fn log(&self, server: u32) -> LocalBoxFuture<'_, Result<Option<String>, EnsembleError>> {
        Box::pin(async move {
            let path = self.servers.borrow().iter().find(|s| s.id == server).map(ServerProcess::log_path);
            let path = path.ok_or(EnsembleError::NoSuchServer(server))?;
            let from = path.clone();
            // A long one takes a moment, which this thread has not.
            let read = tokio::task::spawn_blocking(move || log::read(&from)).await;
            let read = read.map_err(std::io::Error::other).flatten();
            read.map(Some).map_err(|source| EnsembleError::Io { what: "read", path, source })
        })
    }

    fn check_alive(&self) -> LocalBoxFuture<'_, Result<Vec<String>, EnsembleError>> {
        Box::pin(std::future::ready(self.look_at_processes()))
    }

    fn begin_cell<'a>(&'a self, cell: u32, segment: AddSegment<'a>) -> LocalBoxFuture<'a, anyhow::Result<()>> {
        let begun = self.mesh.as_ref().map_or(Ok(()), |mesh| mesh.begin_cell(cell, segment));
        Box::pin(std::future::ready(begun))
    }

    fn end_cell(&self) -> LocalBoxFuture<'_, anyhow::Result<()>> {
        Box::pin(std::future::ready(self.mesh.as_ref().map_or(Ok(()), Mesh::end_cell)))
    }

    fn stop(&self) -> LocalBoxFuture<'_, Result<(), EnsembleError>> {
        Box::pin(async move {
            let mut servers = self.servers.take();
            let stopped = futures::future::join_all(servers.iter_mut().map(ServerProcess::stop)).await;
            if let Some(mesh) = &self.mesh {
                mesh.end();
            }
            let removed = match fs::remove_dir_all(&self.folder) {
                Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                    Err(EnsembleError::Io { what: "remove", path: self.folder.clone(), source })
                }
                _ => Ok(()),
            };
            stopped.into_iter().chain([removed]).collect()
        })
    }
}

impl Drop for LocalEnsemble {
    fn drop(&mut self) {
        // The servers' handles kill their processes when they are dropped.
        self.servers.get_mut().clear();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Whether a server could not start because a port was taken after it had been found free.
fn lost_a_port(error: &EnsembleError) -> bool {
    match error {
        EnsembleError::Died { log, .. } | EnsembleError::NotServing { log, .. } => {
            log.contains("Address already in use")
        }
        // The proxy says so when it cannot listen.
        EnsembleError::Links(LinkError::Refused { status, .. }) => *status == 500,
        _ => false,
    }
}
