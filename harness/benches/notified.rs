//! Delete → notified on a real local ensemble, directly and through a link. `cargo bench -p hustings --bench notified`
//!
//! Without Java or ZooKeeper it measures nothing, says so, and fails.

mod beside;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use beside::Beside;
use criterion::Criterion;
use hustings::ensemble::Ensemble as _;
use hustings::ensemble::local::{Install, LocalEnsemble, LocalOptions, Places};
use hustings::ensemble::server_options::ServerOptions;
use hustings::links::Links;
use hustings::session::ZkSession;
use hustings::workdir::WorkDir;
use hustings_workloads::coordination::{CreateMode, Session as _, Watch as _, WatchEvent};
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;

const EXE: &str = env!("CARGO_BIN_EXE_hustings");
const TIMEOUT: Duration = Duration::from_secs(10);
const IN_TURN: u32 = 300;
/// A deletion that is not told by then never is.
const SAMPLE_AT_MOST: Duration = Duration::from_secs(10);

/// Two sessions over the same way to the ensemble.
struct Way {
    deleter: ZkSession,
    watcher: ZkSession,
    name: &'static str,
    sample: Cell<u32>,
}

impl Way {
    async fn open(name: &'static str, cluster: &str) -> anyhow::Result<Self> {
        let deleter = ZkSession::connect(cluster, TIMEOUT).await.context("no session")?;
        let watcher = ZkSession::connect(cluster, TIMEOUT).await.context("no session")?;
        Ok(Self { deleter, watcher, name, sample: Cell::new(0) })
    }

    /// Makes a znode, watches it and deletes it: the time from the deletion to the notification.
    async fn once(&self) -> anyhow::Result<Duration> {
        self.sample.set(self.sample.get() + 1);
        let path = format!("/{}-{}", self.name.replace(' ', "-"), self.sample.get());
        self.deleter.create(&path, &[], CreateMode::Ephemeral).await?;
        self.watcher.sync(&path).await?;
        let (found, mut watch) = self.watcher.exists_and_watch(&path).await?;
        ensure!(found.is_some(), "{path} is not there after a sync");
        let begin = Instant::now();
        let notified = async {
            let event = watch.fired().await;
            (event, begin.elapsed())
        };
        let (deleted, (event, took)) = tokio::join!(self.deleter.delete(&path, None), notified);
        deleted?;
        ensure!(event == WatchEvent::Deleted, "{event:?} instead of a deletion");
        Ok(took)
    }

    async fn sample(&self) -> anyhow::Result<Duration> {
        tokio::time::timeout(SAMPLE_AT_MOST, self.once()).await.context("a deletion was not told")?
    }
}

fn measure(runtime: &Runtime, direct: &Way, linked: &Way) -> anyhow::Result<()> {
    // Only delete → notified is counted, about a quarter of what a sample takes.
    let criterion = Criterion::default().warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(1));
    let mut criterion = criterion.sample_size(20).configure_from_args();
    let mut group = criterion.benchmark_group("delete to notified");
    let failure = Cell::new(None);
    for way in [direct, linked] {
        group.bench_function(way.name, |b| {
            b.iter_custom(|times| {
                let all = async {
                    let mut sum = Duration::ZERO;
                    for _ in 0..times {
                        sum += way.sample().await?;
                    }
                    anyhow::Ok(sum)
                };
                runtime.block_on(all).unwrap_or_else(|error| {
                    failure.set(Some(error));
                    SAMPLE_AT_MOST
                })
            });
        });
    }
    group.finish();
    failure.into_inner().map_or(Ok(()), Err)?;
    let mut beside = Beside::new("delete to notified");
    for _ in 0..IN_TURN {
        beside.push(runtime.block_on(direct.sample())?, runtime.block_on(linked.sample())?);
    }
    beside.tell();
    criterion.final_summary();
    Ok(())
}

fn with_ensemble(runtime: &Runtime) -> anyhow::Result<()> {
    let work = WorkDir::create(&format!("bench-{}", std::process::id()))?;
    let options = LocalOptions::new(ServerOptions::of(3), PathBuf::from(EXE));
    let ensemble = runtime.block_on(LocalEnsemble::start(options, &work))?;
    println!("{}", ensemble.describe());
    let measured = with_links(runtime, &ensemble);
    let stopped = runtime.block_on(ensemble.stop());
    work.remove()?;
    measured.and(stopped.map_err(Into::into))
}

fn with_links(runtime: &Runtime, ensemble: &LocalEnsemble) -> anyhow::Result<()> {
    // One server for everybody: the ways differ in nothing but the link.
    let server = ensemble.servers()[0];
    let links = runtime.block_on(Links::start_embedded(Path::new(EXE), 1, false))?;
    runtime.block_on(links.populate(&["host".to_owned()], &[server], &[server]))?;
    let measured = runtime.block_on(Way::open("direct", &server.to_string())).and_then(|direct| {
        let linked = runtime.block_on(Way::open("through a link", &links.endpoints(0)[0].to_string()))?;
        measure(runtime, &direct, &linked)
    });
    let closed = runtime.block_on(links.close());
    measured.and(closed.map_err(Into::into))
}

fn main() -> ExitCode {
    if let Err(error) = Install::find(&Places::from_env()) {
        eprintln!("SKIPPED: delete to notified was not measured, because it needs real servers: {error}");
        return ExitCode::from(4);
    }
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("no async runtime: {error}");
            return ExitCode::FAILURE;
        }
    };
    let _local = LocalSet::new().enter();
    match with_ensemble(&runtime) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("delete to notified could not be measured: {error:#}");
            ExitCode::FAILURE
        }
    }
}
