//! An embedded ensemble: servers of the model behind ZooKeeper's wire protocol, all in one child process. It needs neither
//! Java nor Docker, and is no ZooKeeper: what it shows about recipes holds as far as the model does, its latencies say
//! nothing.

mod control;
mod options;
mod orders;
mod process;

use std::cell::Cell;
use std::net::SocketAddr;
use std::time::Duration;

use futures::future::LocalBoxFuture;
use hustings_record::EnsembleKind;
use tokio::sync::Mutex;

pub use options::{EmbeddedError, EmbeddedOptions};
pub use orders::{ORDER_BYTES_MAX, OrderOutcome, ServerOrder};

use super::local::reserve_row;
use super::serving::{self, StartingServers};
use super::{Ensemble, EnsembleError, ServerControl, four_letter};
use crate::files::workdir::WorkDir;
use crate::process::limits::descriptor_limit_hard;
use crate::process::procfs::process_state;
use crate::recording::archive::AddSegment;
use crate::sidecar;
use crate::wire::serve::VERSION;
use options::OVERHEAD;
use process::EmbeddedProcess;

/// How often a start is tried again when another process took a port between the choice and the bind.
const PORT_ATTEMPTS_MAX: u32 = 5;
const ASK_WITHIN: Duration = Duration::from_secs(10);

/// Name of the process's segment.
pub(super) const WRITER: &str = "servers";

/// A child process, ended by [`Ensemble::stop`]; dropped, it is killed without being waited for.
#[derive(Debug)]
pub struct EmbeddedEnsemble {
    addresses: Vec<SocketAddr>,
    process: Mutex<Option<EmbeddedProcess>>,
    pid: Option<u32>,
    /// It has not answered an order. Its answer may still come, and would be taken for that to the next order.
    unanswered: Cell<bool>,
    stopped: Cell<bool>,
    described: String,
}

impl EmbeddedEnsemble {
    /// Starts the servers and waits until every one of them serves. The child is noted in `work`.
    ///
    /// Call it on a thread that lives as long as the process: the kernel ties the child's life to the *thread* that started
    /// it.
    ///
    /// # Errors
    /// What was asked for cannot be had, or the servers do not serve in time. Nothing is left behind then.
    pub async fn start(options: EmbeddedOptions, work: &WorkDir) -> Result<Self, EnsembleError> {
        let ticks = &options.servers;
        ticks.check()?;
        let (needed, limit) = (2 * options.sessions + OVERHEAD, descriptor_limit_hard());
        if needed > limit {
            return Err(EmbeddedError::Descriptors { sessions: options.sessions, needed, limit }.into());
        }
        let (process, addresses) = start_process(&options, ticks.sync()).await?;
        let pid = process.pid();
        if let Some(pid) = pid {
            work.note_child(pid).map_err(|source| EnsembleError::Io {
                what: "note a child in",
                path: work.path().to_owned(),
                source,
            })?;
        }
        let described = format!(
            "embedded: the model of {} ZooKeeper server{} in one process on 127.0.0.1, no real ZooKeeper; chosen because {}",
            options.servers.count,
            if options.servers.count == 1 { "" } else { "s" },
            options.why
        );
        let (process, unanswered) = (Mutex::new(Some(process)), Cell::new(false));
        let mut ensemble = Self { addresses, process, pid, unanswered, stopped: Cell::new(false), described };
        serving::wait_until_serving(&mut ensemble, options.start_within).await?;
        Ok(ensemble)
    }

    /// The process of all servers, until it is stopped.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.pid.filter(|_| !self.stopped.get())
    }

    /// Its name, if it does not run.
    async fn look_at_process(&self) -> Result<Option<String>, EnsembleError> {
        let mut process = self.process.lock().await;
        let status = match process.as_mut().map(EmbeddedProcess::ended) {
            None | Some(Ok(None)) => {
                let stopped = self.pid().is_some_and(|pid| process_state(pid) == Some('T'));
                return Ok(stopped.then(|| WRITER.to_owned()));
            }
            Some(Ok(Some(status))) => status.to_string(),
            Some(Err(error)) => format!("its state is unknown: {error}"),
        };
        Err(EmbeddedError::Died { status }.into())
    }
}

/// On free ports, which another process may take in between.
async fn start_process(
    options: &EmbeddedOptions,
    sync_limit: u64,
) -> Result<(EmbeddedProcess, Vec<SocketAddr>), EnsembleError> {
    let mut attempt = 1;
    loop {
        let first = match options.base_port {
            Some(port) => port,
            None => reserve_row(u16::try_from(options.servers.count).unwrap_or(u16::MAX), attempt)
                .map_err(|source| EnsembleError::NoPorts { servers: options.servers.count, source })?,
        };
        match EmbeddedProcess::start(options, sync_limit, first).await {
            Err(error) if options.base_port.is_none() && attempt < PORT_ATTEMPTS_MAX => {
                tracing::info!(%error, "trying other ports");
                attempt += 1;
            }
            done => return Ok(done?),
        }
    }
}

impl StartingServers for EmbeddedEnsemble {
    fn addrs(&self) -> Vec<SocketAddr> {
        self.addresses.clone()
    }

    async fn check_alive(&mut self) -> Result<(), EnsembleError> {
        self.look_at_process().await.map(drop)
    }

    async fn log_tail(&self, _server: u32) -> String {
        String::new()
    }
}

impl Ensemble for EmbeddedEnsemble {
    fn servers(&self) -> Vec<SocketAddr> {
        self.addresses.clone()
    }

    fn kind(&self) -> EnsembleKind {
        EnsembleKind::Embedded
    }

    fn version(&self) -> &str {
        VERSION
    }

    fn describe(&self) -> String {
        self.described.clone()
    }

    fn caveat(&self) -> Option<&str> {
        Some(
            "embedded ensemble: a model in one process stood in for ZooKeeper, and its latencies say nothing about \
             ZooKeeper; for real servers run ci/setup.sh or install default-jre-headless and libzookeeper-java, or start a \
             Docker engine, and use --ensemble local or docker",
        )
    }

    fn ask(&self, server: u32, word: &'static str) -> LocalBoxFuture<'_, Result<String, EnsembleError>> {
        Box::pin(async move {
            let at = usize::try_from(server).ok().and_then(|server| server.checked_sub(1));
            let address = at.and_then(|at| self.addresses.get(at)).ok_or(EnsembleError::NoSuchServer(server))?;
            four_letter::ask(*address, word, ASK_WITHIN).await.map_err(|source| EnsembleError::Ask { server, source })
        })
    }

    fn control(&self) -> Option<&dyn ServerControl> {
        Some(self)
    }

    fn log(&self, server: u32) -> LocalBoxFuture<'_, Result<Option<String>, EnsembleError>> {
        Box::pin(async move { self.one(server, "asked for its log", ServerOrder::Log { server }).await.map(Some) })
    }

    fn check_alive(&self) -> LocalBoxFuture<'_, Result<Vec<String>, EnsembleError>> {
        Box::pin(async { Ok(self.look_at_process().await?.into_iter().collect()) })
    }

    fn begin_cell<'a>(&'a self, cell: u32, segment: AddSegment<'a>) -> LocalBoxFuture<'a, anyhow::Result<()>> {
        Box::pin(async move {
            let writer = WRITER.to_owned();
            let segment = segment(&writer)?;
            self.record(sidecar::SidecarOrder::Begin { cell, writer, segment, witnessed: None }).await
        })
    }

    fn end_cell(&self) -> LocalBoxFuture<'_, anyhow::Result<()>> {
        Box::pin(self.record(sidecar::SidecarOrder::End))
    }

    fn stop(&self) -> LocalBoxFuture<'_, Result<(), EnsembleError>> {
        Box::pin(async move {
            self.stopped.set(true);
            match self.process.lock().await.take() {
                Some(mut process) => Ok(process.stop().await.map_err(EmbeddedError::Stop)?),
                None => Ok(()),
            }
        })
    }
}
