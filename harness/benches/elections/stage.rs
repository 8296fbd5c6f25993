//! Shared environment of all benchmarks: one ensemble and one thread. The first measurement starts it.

use std::cell::{Cell, OnceCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use anyhow::bail;
use hustings::access::Access;
use hustings::coordinator::hosts::HostFactory;
use hustings::coordinator::warm;
use hustings::ensemble::Ensemble;
use hustings::ensemble::docker::DockerOptions;
use hustings::ensemble::server_options::ServerOptions;
use hustings::ensemble::start::{
    DockerRequest, EmbeddedRequest, EnsembleRequest, EnsembleRequirements, LocalRequest, start as start_ensemble,
};
use hustings::files::workdir::WorkDir;
use hustings::process::limits::raise_descriptor_limit;
use hustings_record::EnsembleKind;
use rand::TryRng as _;
use rand::rngs::SysRng;
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;

pub(crate) const EXE: &str = env!("CARGO_BIN_EXE_hustings");

/// As in the scenario `quick`.
const TICK_MS: u64 = 100;

/// Maximum number of concurrent sessions.
const SESSIONS: u64 = 1_000;

/// Time for a JVM to warm up, so that the first measurement excludes its start.
const WARM_UP: Duration = Duration::from_secs(6);

/// Selects the servers: `embedded`, `local` or `docker`.
const ENSEMBLE_VARIABLE: &str = "HUSTINGS_BENCH_ENSEMBLE";

pub(crate) struct Stage {
    // Dropped in this order: hosts and servers before the folder that they write to.
    local: LocalSet,
    pub(crate) factory: HostFactory,
    pub(crate) ensemble: Rc<dyn Ensemble>,
    runtime: Runtime,
    work: WorkDir,
    next: Cell<u32>,
}

/// A stage that starts on first use.
#[derive(Default)]
pub(crate) struct LazyStage(OnceCell<Stage>);

impl LazyStage {
    pub(crate) fn get(&self) -> &Stage {
        self.0.get_or_init(|| Stage::start().unwrap_or_else(|error| panic!("nothing can be measured: {error:#}")))
    }

    pub(crate) fn stop(self) {
        if let Some(stage) = self.0.into_inner() {
            stage.stop();
        }
    }
}

impl Stage {
    fn start() -> anyhow::Result<Self> {
        let request = request()?;
        raise_descriptor_limit()?;
        // The kernel ties child processes to the thread that starts them: this one.
        let (runtime, local) = (Builder::new_current_thread().enable_all().build()?, LocalSet::new());
        let id = format!("bench-{}", std::process::id());
        let work = WorkDir::create(&id)?;
        let needs = EnsembleRequirements {
            servers: ServerOptions { tick_ms: TICK_MS, ..ServerOptions::of(3) },
            sessions: SESSIONS,
            group_size: 0,
            quorum_links: false,
            link_ports: 0,
            exe: PathBuf::from(EXE),
            why: format!("{ENSEMBLE_VARIABLE} says so, or nothing else"),
        };
        let secret = SysRng.try_next_u64().map(|bits| format!("{bits:016x}"))?;
        let (ensemble, factory) = local.block_on(&runtime, async {
            let ensemble = start_ensemble(&request, needs, &work, &id).await?;
            if ensemble.kind() != EnsembleKind::Embedded {
                warm::up(&Access::default(), &ensemble.servers(), "/bench-warm-up", WARM_UP).await?;
            }
            anyhow::Ok((ensemble, HostFactory::new(Path::new(EXE), secret).await?))
        })?;
        eprintln!("{}", ensemble.describe());
        Ok(Self { local, factory, ensemble, runtime, work, next: Cell::new(0) })
    }

    pub(crate) fn block_on<T>(&self, what: impl Future<Output = T>) -> T {
        self.local.block_on(&self.runtime, what)
    }

    /// Returns the result. On failure the program ends, so that no number is reported.
    pub(crate) fn measure<T>(&self, what: impl Future<Output = anyhow::Result<T>>) -> T {
        self.block_on(what).unwrap_or_else(|error| panic!("it could not be measured: {error:#}"))
    }

    /// Returns a unique number.
    pub(crate) fn fresh(&self) -> u32 {
        self.next.replace(self.next.get() + 1)
    }

    /// The folder of the hosts' segments.
    pub(crate) fn folder(&self) -> &Path {
        self.work.path()
    }

    /// A connect string for the servers, with this path as its root.
    pub(crate) fn cluster(&self, path: &str) -> String {
        Access::default().connect_string(&self.ensemble.servers(), path)
    }

    fn stop(self) {
        let stopped = self.block_on(self.ensemble.stop());
        let removed = self.work.remove();
        if let Err(error) = stopped.map_err(anyhow::Error::from).and(removed.map_err(Into::into)) {
            eprintln!("warning: {error:#}; `hustings clean` removes what is left");
        }
    }
}

fn request() -> anyhow::Result<EnsembleRequest> {
    let asked = std::env::var(ENSEMBLE_VARIABLE).unwrap_or_default();
    Ok(match asked.as_str() {
        "" | "embedded" => EnsembleRequest::Embedded(EmbeddedRequest::default()),
        "local" => {
            let zookeeper_home = std::env::var_os("ZOOKEEPER_HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
            EnsembleRequest::Local(LocalRequest { zookeeper_home, ..LocalRequest::default() })
        }
        "docker" => {
            let DockerOptions { zookeeper_image, toxiproxy_image, .. } = DockerOptions::new(ServerOptions::of(3));
            EnsembleRequest::Docker(DockerRequest { zookeeper_image, toxiproxy_image, base_port: None })
        }
        other => bail!("{ENSEMBLE_VARIABLE} is {other:?}: give embedded, local or docker, or leave it out"),
    })
}
