//! An ensemble that somebody else runs: looked at before it is used, never stopped, and left without a znode of the run.

mod conf;
mod debt;
mod error;
mod options;
mod survey;
mod znodes;

use std::cell::Cell;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures::future::LocalBoxFuture;
use hustings_record::EnsembleKind;

pub use debt::{Debt, debt};
pub use error::ExternalError;

pub use options::ExternalOptions;
pub use znodes::prefix;

use super::{Ensemble, EnsembleError, ServerControl, four_letter, server_name};
use crate::links::External;
use crate::note::Note;
use crate::workdir::WorkDir;
use options::cluster;
use survey::Server;

const ASK_WITHIN: Duration = Duration::from_secs(10);
/// A server that needs so long for the simplest answer does not run, or cannot be reached.
const SLUGGISH: Duration = Duration::from_millis(500);

/// Servers of somebody else. [`Ensemble::stop`] removes the run's znodes and leaves the servers alone.
#[derive(Debug)]
pub struct ExternalEnsemble {
    /// In the order of their ids.
    servers: Vec<Server>,
    toxiproxy: Option<External>,
    why: String,
    prefix: String,
    note: Note,
    stopped: Cell<bool>,
}

impl ExternalEnsemble {
    /// Looks at the servers, and notes under `work` that run `run_id` uses them. Creates nothing on them.
    ///
    /// # Errors
    /// A server cannot be reached, does not serve, does not allow what a run has to ask or takes too few connections; or
    /// `connect` does not name all servers of one ensemble, each once.
    pub async fn connect(options: ExternalOptions, work: &WorkDir, run_id: &str) -> Result<Self, EnsembleError> {
        let servers = survey::survey(&options).await?;
        let addresses: Vec<SocketAddr> = servers.iter().map(|server| server.addr).collect();
        // Nothing is awaited after this: who is interrupted before has no debts.
        let note = debt::borrow(work.path(), &addresses).map_err(|source| EnsembleError::Io {
            what: "note the ensemble in",
            path: work.path().to_owned(),
            source,
        })?;
        let (toxiproxy, why, prefix) = (options.toxiproxy, options.why, prefix(run_id));
        Ok(Self { servers, toxiproxy, why, prefix, note, stopped: Cell::new(false) })
    }

    fn server(&self, server: u32) -> Result<&Server, EnsembleError> {
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
        format!(" (server {})", named.join(", "))
    }
}

impl Ensemble for ExternalEnsemble {
    fn servers(&self) -> Vec<SocketAddr> {
        self.servers.iter().map(|server| server.addr).collect()
    }

    fn upstreams(&self) -> Vec<String> {
        self.servers.iter().map(|server| server.upstream.clone()).collect()
    }

    fn toxiproxy(&self) -> Option<External> {
        self.toxiproxy.clone()
    }

    fn tick_ms(&self) -> Option<u64> {
        // The leader's tick counts, and any server may lead: promises are made by the longest.
        self.servers.iter().map(|server| server.conf.tick_ms).max()
    }

    fn timeout_bounds_ms(&self) -> Option<(u64, u64)> {
        let least = self.servers.iter().map(|server| server.conf.timeout_ms_min).max()?;
        let most = self.servers.iter().map(|server| server.conf.timeout_ms_max).min()?;
        Some((least, most))
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
        let names: Vec<&str> = self.servers.iter().map(|server| server.name.as_str()).collect();
        let s = if names.len() == 1 { "" } else { "s" };
        format!(
            "external: {} ZooKeeper {} server{s} at {}{}, run by somebody else; chosen because {}",
            names.len(),
            self.version(),
            names.join(", "),
            self.ids(),
            self.why
        )
    }

    fn ask(&self, server: u32, word: &'static str) -> LocalBoxFuture<'_, Result<String, EnsembleError>> {
        Box::pin(async move {
            let addr = self.server(server)?.addr;
            four_letter::ask(addr, word, ASK_WITHIN).await.map_err(|source| EnsembleError::Ask { server, source })
        })
    }

    fn check_alive(&self) -> LocalBoxFuture<'_, Result<Vec<String>, EnsembleError>> {
        Box::pin(async {
            let asked = (1..).zip(&self.servers).map(|(number, _)| self.answers(number));
            let names = futures::future::try_join_all(asked).await?;
            Ok(names.into_iter().flatten().collect())
        })
    }

    fn stop(&self) -> LocalBoxFuture<'_, Result<(), EnsembleError>> {
        Box::pin(async {
            if self.stopped.get() {
                return Ok(());
            }
            let servers = cluster(&self.servers());
            let removed = znodes::remove(&servers, &self.prefix).await;
            let settled = removed.and_then(|_| self.note.settle().map_err(|e| e.to_string()));
            settled.map_err(|why| ExternalError::LeftBehind { prefix: self.prefix.clone(), servers, why })?;
            self.stopped.set(true);
            Ok(())
        })
    }
}
