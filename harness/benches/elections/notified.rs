//! `delete-to-notified/<way>`: time from the deletion of a znode to the notification of its only watcher, directly and
//! through a link. `fan-out/last-told/<watchers>`: time to the notification of the last of several watchers. All
//! sessions are in this process and on one server.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};
use futures::future::{join_all, try_join_all};
use hustings::client::session::{ZkSession, ZkWatch};
use hustings::links::RunLinks;
use hustings_workloads::coordination::{CreateMode, Session as _, Watch as _, WatchEvent};

use crate::beside::PathComparison;
use crate::stage::{EXE, LazyStage, Stage};

const TIMEOUT: Duration = Duration::from_secs(2);
const TRIES_MAX: u32 = 5;
const IN_TURN: u32 = 300;
/// A notification that has not arrived by then never will.
const SAMPLE_AT_MOST: Duration = Duration::from_secs(10);
const WATCHERS: &[usize] = &[5, 50, 200];

/// Sessions over the same path to one server: one deletes, the others watch.
struct NotificationPath {
    cluster: String,
    deleter: ZkSession,
    watchers: Vec<ZkSession>,
    /// Path prefix of its znodes. A number follows.
    prefix: String,
    sample: u32,
}

impl NotificationPath {
    async fn open(stage: &Stage, cluster: String, watchers: usize) -> anyhow::Result<Self> {
        let (deleter, watchers) = sessions(&cluster, watchers).await?;
        Ok(Self { cluster, deleter, watchers, prefix: format!("/told-{}", stage.fresh()), sample: 0 })
    }

    /// Creates a znode, watches it and deletes it. Returns the time from the deletion to the last notification.
    async fn once(&mut self) -> anyhow::Result<Duration> {
        self.sample += 1;
        let path = format!("{}-{}", self.prefix, self.sample);
        self.deleter.create(&path, &[], CreateMode::Ephemeral).await?;
        let mut watches = try_join_all(self.watchers.iter().map(|watcher| arm(watcher, &path))).await?;
        let begin = Instant::now();
        let notified = async {
            let events = join_all(watches.iter_mut().map(|watch| watch.fired())).await;
            (events, begin.elapsed())
        };
        let (deleted, (events, took)) = tokio::join!(self.deleter.delete(&path, None), notified);
        deleted?;
        ensure!(events.iter().all(|event| *event == WatchEvent::Deleted), "{events:?} instead of a deletion");
        Ok(took)
    }

    async fn samples(&mut self, times: u64) -> anyhow::Result<Duration> {
        let mut sum = Duration::ZERO;
        for _ in 0..times {
            sum += self.sample().await?;
        }
        Ok(sum)
    }

    /// On an overloaded machine, sessions are lost. In that case it retries with new sessions.
    async fn sample(&mut self) -> anyhow::Result<Duration> {
        let mut tries = 0;
        loop {
            let sampled = tokio::time::timeout(SAMPLE_AT_MOST, self.once()).await.context("a deletion was not told");
            let error = match sampled.and_then(|taken| taken) {
                Ok(took) => return Ok(took),
                Err(error) => error,
            };
            tries += 1;
            if tries == TRIES_MAX {
                return Err(error);
            }
            eprintln!("no sample, for {error:#}: tried again");
            (self.deleter, self.watchers) = sessions(&self.cluster, self.watchers.len()).await?;
        }
    }
}

async fn sessions(cluster: &str, watchers: usize) -> anyhow::Result<(ZkSession, Vec<ZkSession>)> {
    let deleter = ZkSession::connect(cluster, TIMEOUT).await?;
    Ok((deleter, try_join_all((0..watchers).map(|_| ZkSession::connect(cluster, TIMEOUT))).await?))
}

async fn arm(watcher: &ZkSession, path: &str) -> anyhow::Result<ZkWatch> {
    watcher.sync(path).await?;
    let (found, watch) = watcher.exists_and_watch(path).await?;
    ensure!(found.is_some(), "{path} is not there after a sync");
    Ok(watch)
}

pub(crate) fn bench(criterion: &mut Criterion, stage: &LazyStage) {
    one(criterion, stage);
    many(criterion, stage);
}

fn one(criterion: &mut Criterion, stage: &LazyStage) {
    let mut group = criterion.benchmark_group("delete-to-notified");
    let (mut direct, mut linked): (Option<NotificationPath>, Option<(NotificationPath, RunLinks)>) = (None, None);
    group.bench_function("direct", |bencher| {
        let stage = stage.get();
        let way = direct.get_or_insert_with(|| stage.measure(directly(stage, 1)));
        bencher.iter_custom(|times| stage.measure(way.samples(times)));
    });
    group.bench_function("through-a-link", |bencher| {
        let stage = stage.get();
        let (way, _) = linked.get_or_insert_with(|| {
            let links = stage.measure(link(stage));
            (stage.measure(over(stage, &links)), links)
        });
        bencher.iter_custom(|times| stage.measure(way.samples(times)));
    });
    group.finish();
    let Some((_, links)) = linked else { return };
    let stage = stage.get();
    if direct.is_some() {
        stage.measure(in_turn(stage, &links)).tell();
    }
    stage.measure(async { Ok(links.close().await?) });
}

/// Uses new sessions: earlier ones may have ended while Criterion analysed their measurements.
async fn in_turn(stage: &Stage, links: &RunLinks) -> anyhow::Result<PathComparison> {
    let (mut direct, mut linked) = (directly(stage, 1).await?, over(stage, links).await?);
    let mut beside = PathComparison::new("delete to notified", ["direct", "through a link"]);
    for _ in 0..IN_TURN {
        beside.push(direct.samples(1).await?, linked.samples(1).await?);
    }
    Ok(beside)
}

fn many(criterion: &mut Criterion, stage: &LazyStage) {
    let mut group = criterion.benchmark_group("fan-out");
    group.sampling_mode(SamplingMode::Flat);
    for &watchers in WATCHERS {
        let mut way: Option<NotificationPath> = None;
        group.throughput(Throughput::Elements(watchers as u64));
        group.bench_function(BenchmarkId::new("last-told", watchers), |bencher| {
            let stage = stage.get();
            let way = way.get_or_insert_with(|| stage.measure(directly(stage, watchers)));
            bencher.iter_custom(|times| stage.measure(way.samples(times)));
        });
    }
    group.finish();
}

async fn directly(stage: &Stage, watchers: usize) -> anyhow::Result<NotificationPath> {
    // All use one server, so that the ways differ only in the link.
    NotificationPath::open(stage, stage.ensemble.servers()[0].to_string(), watchers).await
}

/// A link to the same server.
async fn link(stage: &Stage) -> anyhow::Result<RunLinks> {
    let server = stage.ensemble.servers()[0];
    let links = RunLinks::start_embedded(Path::new(EXE), 1, false).await?;
    links.populate(&["host".to_owned()], &[server], &[server]).await?;
    Ok(links)
}

async fn over(stage: &Stage, links: &RunLinks) -> anyhow::Result<NotificationPath> {
    NotificationPath::open(stage, links.endpoints(0)[0].to_string(), 1).await
}
