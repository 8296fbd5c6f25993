//! Slow links: injected, read back, and measured. Small requests measure latency and jitter, per direction if the proxy
//! reports when it forwarded bytes. Long requests measure the rate.

use std::net::SocketAddr;
use std::time::Duration;

use futures::future::{join, join_all};
use hustings_record::numbers::to_usize;
use hustings_workloads::faults::LinkSlowdown;

use crate::process::clock;
use crate::proxy::stats::ProxyStats;

use super::driver::{BEFORE_LIMIT, HEALED_LIMIT, RunLinks, endpoints};
use super::error::LinkError;
use super::layout::Link;
use super::probe::{self, ProbeFlow, Timing};
use super::toxics;
use super::verification::{self, LinkVerification};

/// Small requests per link. The quickest shows the latency, since noise only adds. Their spread shows the jitter.
const ROUNDS: usize = 8;
/// A busy machine delays all requests equally, so an effect that is not observed is looked for again.
const PROOF_TRIES: u32 = 3;
/// A long request takes this long at the requested rate, within these bounds. ZooKeeper refuses more than 1 MiB.
const LONG_MS: u64 = 300;
const LONG_BYTES: (u64, u64) = (64, 512 * 1_024);
/// The request with the longest answer that every ZooKeeper gives, and the limit for reading the answer.
const LONG_ANSWER: &[u8] = b"mntr";
const READ_LIMIT: Duration = Duration::from_millis(400);

impl RunLinks {
    /// Makes the links slow.
    ///
    /// # Errors
    /// The exact injection failed, and has been undone. A fault without visible effect is no error, but an unverified
    /// verification.
    pub async fn slow(&self, hosts: &[u16], how: &LinkSlowdown) -> Result<LinkVerification, LinkError> {
        self.slow_noting(hosts, how, |_| ()).await
    }

    /// As [`Self::slow`]. `in_effect` receives the time of effect, before the verification.
    ///
    /// # Errors
    /// The exact injection failed, and has been undone. A fault without visible effect is no error, but an unverified
    /// verification.
    pub async fn slow_noting(
        &self,
        hosts: &[u16],
        how: &LinkSlowdown,
        in_effect: impl FnOnce((u64, u64)),
    ) -> Result<LinkVerification, LinkError> {
        let links = self.layout().links(hosts)?;
        let before = self.timings(&links, how, BEFORE_LIMIT, |_| true).await?;
        self.remember(&links, before.iter().map(|timing| !timing.rounds.is_empty()));
        let toxics = toxics::slow(how);
        let bracket = self.inject("slow", &links, toxics.clone()).await?;
        in_effect((bracket.from, bracket.to));
        // The request and its answer may each be delayed by the full amount.
        let late = Duration::from_millis(2 * (how.latency_ms + how.jitter_ms));
        let answered = |place: usize| before.get(place).is_some_and(|timing| !timing.rounds.is_empty());
        let mut tries_left = PROOF_TRIES;
        loop {
            tries_left -= 1;
            match self.timings(&links, how, late + HEALED_LIMIT, answered).await {
                Ok(during) => {
                    let verification =
                        verification::slow(bracket, how, (&links, self.question.len()), &before, &during);
                    if verification.verified || tries_left == 0 {
                        return Ok(verification);
                    }
                }
                Err(error) => {
                    self.take_back(links, toxics).await;
                    return Err(error);
                }
            }
        }
    }

    /// Probes the links whose index `which` selects. Only links that answer receive long requests.
    async fn timings(
        &self,
        links: &[Link],
        how: &LinkSlowdown,
        limit: Duration,
        which: impl Fn(usize) -> bool,
    ) -> Result<Vec<Timing>, LinkError> {
        let since = clock::now();
        let endpoints = endpoints(links);
        let rounds = join_all(endpoints.iter().enumerate().map(async |(place, endpoint)| {
            if which(place) { self.rounds(*endpoint, limit).await } else { Vec::new() }
        }));
        let mut timings: Vec<Timing> =
            rounds.await.into_iter().map(|rounds| Timing { rounds, ..Timing::default() }).collect();
        for (timing, stats) in timings.iter_mut().zip(self.connections(links.to_vec(), since).await?) {
            (timing.up, timing.down) = one_way_times(&stats, since, self.question.len() as u64);
        }
        let Some(bytes) = how.bytes_in(LONG_MS) else { return Ok(timings) };
        let question = &long_question(to_usize(bytes.clamp(LONG_BYTES.0, LONG_BYTES.1)));
        let (up, down) = (how.direction.is_up(), how.direction.is_down());
        let long = join_all(endpoints.iter().zip(&timings).map(async |(endpoint, timing)| {
            let answers = !timing.rounds.is_empty();
            let asked =
                async { if up && answers { probe::flow(*endpoint, question, limit, limit).await } else { None } };
            let told = async {
                if down && answers { probe::flow(*endpoint, LONG_ANSWER, limit, READ_LIMIT).await } else { None }
            };
            join(asked, told).await
        }));
        let long = long.await;
        for (timing, (up, down)) in timings.iter_mut().zip(long) {
            timing.long_up = up.map(|flow| ProbeFlow { bytes: question.len(), ..flow });
            timing.long_down = down;
        }
        Ok(timings)
    }

    async fn rounds(&self, endpoint: SocketAddr, limit: Duration) -> Vec<(Duration, usize)> {
        let answers = join_all((0..ROUNDS).map(|_| probe::ask(endpoint, &self.question, limit))).await;
        answers.into_iter().filter_map(|answer| answer.came).collect()
    }
}

/// Travel times of small requests and of their answers. A probe writes as soon as its connection is accepted, and the
/// server answers at once. Other clients' connections have sent more bytes.
fn one_way_times(stats: &ProxyStats, since: u64, question: u64) -> (Vec<Duration>, Vec<Duration>) {
    let probes = stats.connections.iter().filter(|one| one.opened >= since && one.up.bytes == question);
    let times = probes.filter_map(|one| Some((one.opened, one.up.last?, one.down.last?)));
    times
        .map(|(opened, up, down)| {
            (Duration::from_nanos(up.saturating_sub(opened)), Duration::from_nanos(down.saturating_sub(up)))
        })
        .unzip()
}

/// A connect request that ZooKeeper reads completely, refuses without opening a session (the client claims a zxid that
/// no server has), and answers by closing. Protocol 0, the highest zxid, timeout 0, session 0, the rest zero.
fn long_question(bytes: usize) -> Vec<u8> {
    let mut question = vec![0; bytes];
    let length = u32::try_from(bytes - 4).unwrap_or(u32::MAX);
    question[..4].copy_from_slice(&length.to_be_bytes());
    question[8..16].copy_from_slice(&i64::MAX.to_be_bytes());
    question
}
