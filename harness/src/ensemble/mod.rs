//! The servers under test, whatever runs them, behind one trait.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use futures::future::LocalBoxFuture;
use hustings_reports::record::ServerMetrics;

pub mod four_letter;
pub mod local;

use four_letter::FourLetterError;

/// A started ensemble. Servers are numbered from 1, in the order of [`servers`](Self::servers).
///
/// [`stop`](Self::stop) it when done: it is awaited and bounded. Dropping it is the last resort.
pub trait Ensemble {
    /// Client addresses of servers 1 to n.
    fn servers(&self) -> Vec<SocketAddr>;

    /// How it is run: `local`, …
    fn kind(&self) -> &str;

    /// The version of ZooKeeper that answers, as `3.8.0`.
    fn version(&self) -> &str;

    /// One line for people: what it is, and why it was chosen.
    fn describe(&self) -> String;

    /// Answer of server `server` to a four-letter word, within a bounded time.
    fn ask(&self, server: u32, word: &'static str) -> LocalBoxFuture<'_, Result<String, EnsembleError>>;

    /// Numeric lines of `mntr` of every server, by server, all asked at once.
    ///
    /// The future fails if any server does not answer: counters of a part of an ensemble cannot be reconciled with anything.
    fn metrics(&self) -> LocalBoxFuture<'_, Result<BTreeMap<u32, ServerMetrics>, EnsembleError>> {
        Box::pin(async move {
            let ids = 1..=u32::try_from(self.servers().len()).unwrap_or(u32::MAX);
            let asked = ids.map(|id| async move {
                let text = self.ask(id, "mntr").await?;
                let metrics = four_letter::parse_mntr(&text);
                if metrics.is_empty() {
                    let reply = text.lines().next().unwrap_or_default().to_owned();
                    let source = FourLetterError::Refused { word: "mntr", reply };
                    return Err(EnsembleError::Ask { server: id, source });
                }
                Ok((id, metrics))
            });
            futures::future::try_join_all(asked).await.map(|all| all.into_iter().collect())
        })
    }

    /// Fails if a server has died that nobody meant to kill, with its exit status and last log lines.
    ///
    /// # Errors
    /// [`EnsembleError::Died`].
    fn check_alive(&mut self) -> Result<(), EnsembleError>;

    /// Stops every server and removes what they wrote. A second call does nothing.
    fn stop(&mut self) -> LocalBoxFuture<'_, Result<(), EnsembleError>>;
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
    #[error("an ensemble of {0} servers cannot be started here: ask for 1, 3 or 5")]
    BadSize(u32),
    #[error("a tick of {0} ms cannot be used: ask for 10 to 60,000 ms")]
    BadTick(u64),
    #[error(
        "port {port}, wanted as the {role} port of server {server}, cannot be used: {source}; free it, or ask for another base port"
    )]
    PortTaken { port: u16, role: &'static str, server: u32, source: io::Error },
    #[error("no free ports for {servers} servers were found: {source}")]
    NoPorts { servers: u32, source: io::Error },
    #[error("cannot {what} {}: {source}", .path.display())]
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
}

fn log_note(log: &str) -> String {
    if log.is_empty() { "; it logged nothing".to_owned() } else { format!("; its last log lines:\n{log}") }
}
