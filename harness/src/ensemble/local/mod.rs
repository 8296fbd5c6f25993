//! A local ensemble: real ZooKeeper servers as child JVMs of this process, on free ports of 127.0.0.1, with folders of
//! their own. Nothing of the system's ZooKeeper is used but its jars.

mod config;
mod install;
mod options;
mod ports;
mod server;
mod serving;

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::future::LocalBoxFuture;

pub use install::{Install, Layout, Places};
pub use options::{LocalOptions, heap_mb_for};
pub use ports::{ServerPorts, count_free, reserve};

use super::{Ensemble, EnsembleError, four_letter};
use crate::workdir::WorkDir;
use server::ServerProcess;

/// How often a start is tried again with other ports when another process took one between the choice and the bind.
const PORT_ATTEMPTS_MAX: u32 = 5;
/// How long a four-letter word may take: a loaded server on a busy machine answers late.
const ASK_WITHIN: Duration = Duration::from_secs(10);

/// Child JVMs, stopped by [`Ensemble::stop`]; dropped, they are killed without being waited for.
#[derive(Debug)]
pub struct LocalEnsemble {
    servers: Vec<ServerProcess>,
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
        options.check()?;
        let install = Install::find(&options.places)?;
        let mut attempt = 1;
        loop {
            let ports = ports::reserve(options.servers, options.base_port, attempt)?;
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
        ports: &[ServerPorts],
        work: &WorkDir,
    ) -> Result<Self, EnsembleError> {
        // A run may start several ensembles, one after the other.
        static COUNT: AtomicU32 = AtomicU32::new(1);
        let folder = work.path().join(format!("ensemble-{}", COUNT.fetch_add(1, Ordering::Relaxed)));
        let mut ensemble = Self { servers: Vec::new(), folder, version: String::new(), described: String::new() };
        let started = ensemble.start_servers(options, install, ports, work).await;
        if let Err(error) = started {
            // The first error is the one to tell; what cannot be cleaned now is cleaned by the run's folder going.
            let _ = ensemble.stop().await;
            return Err(error);
        }
        Ok(ensemble)
    }

    async fn start_servers(
        &mut self,
        options: &LocalOptions,
        install: &Install,
        ports: &[ServerPorts],
        work: &WorkDir,
    ) -> Result<(), EnsembleError> {
        for (id, own) in (1..).zip(ports) {
            let folder = self.folder.join(format!("server-{id}"));
            config::write(&folder, id, ports, options)?;
            self.servers.push(ServerProcess::spawn(id, own.client, folder, options, install, work)?);
        }
        let srvr = serving::wait_until_serving(&mut self.servers, options.start_within).await?;
        let version = four_letter::version(&srvr).map(ToOwned::to_owned).or_else(|| install.version.clone());
        self.version = version.unwrap_or_else(|| "unknown".to_owned());
        self.described = format!(
            "local: {} ZooKeeper {} server{} on 127.0.0.1, {}; chosen because {}",
            options.servers,
            self.version,
            if options.servers == 1 { "" } else { "s" },
            install.describe(),
            options.why
        );
        Ok(())
    }

    /// Pids of servers 1 to n, while they run.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        self.servers.iter().filter_map(ServerProcess::pid).collect()
    }

    /// Where the servers keep their configuration, data and logs.
    #[must_use]
    pub fn folder(&self) -> &std::path::Path {
        &self.folder
    }
}

impl Ensemble for LocalEnsemble {
    fn servers(&self) -> Vec<SocketAddr> {
        self.servers.iter().map(|s| s.addr).collect()
    }

    fn kind(&self) -> &str {
        "local"
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn describe(&self) -> String {
        self.described.clone()
    }

    fn ask(&self, server: u32, word: &'static str) -> LocalBoxFuture<'_, Result<String, EnsembleError>> {
        Box::pin(async move {
            let asked = self.servers.iter().find(|s| s.id == server).ok_or(EnsembleError::NoSuchServer(server))?;
            four_letter::ask(asked.addr, word, ASK_WITHIN).await.map_err(|source| EnsembleError::Ask { server, source })
        })
    }

    fn check_alive(&mut self) -> Result<(), EnsembleError> {
        self.servers.iter_mut().try_for_each(ServerProcess::check_alive)
    }

    fn stop(&mut self) -> LocalBoxFuture<'_, Result<(), EnsembleError>> {
        Box::pin(async move {
            let stopped = futures::future::join_all(self.servers.iter_mut().map(ServerProcess::stop)).await;
            self.servers.clear();
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
        self.servers.clear();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Whether a server could not start because a port was taken after it had been found free.
fn lost_a_port(error: &EnsembleError) -> bool {
    match error {
        EnsembleError::Died { log, .. } | EnsembleError::NotServing { log, .. } => {
            log.contains("Address already in use")
        }
        _ => false,
    }
}
