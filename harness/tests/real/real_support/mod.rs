//! One ensemble with links in front of it, for all checks of a test binary.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hustings::client::session::ZkSession;
use hustings::ensemble::Ensemble;
use hustings::ensemble::embedded::{EmbeddedEnsemble, EmbeddedOptions};
use hustings::ensemble::local::{LocalEnsemble, LocalOptions};
use hustings::ensemble::server_options::ServerOptions;
use hustings::files::workdir::WorkDir;
use hustings::links::RunLinks;
use hustings_workloads::coordination::Session as _;

pub(crate) const EXE: &str = env!("CARGO_BIN_EXE_hustings");

/// The most sessions with a link that a test binary opens.
const LINKS: u16 = 100;

pub(crate) const CLOSE_AT_MOST: Duration = Duration::from_secs(10);

/// Three servers, and a link for each session that wants one.
pub(crate) struct ServerStage<E = LocalEnsemble> {
    // Dropped in this order: the servers before the folder that they write to.
    pub(crate) ensemble: E,
    pub(crate) links: RunLinks,
    _work: WorkDir,
    _root: tempfile::TempDir,
    pub(crate) cluster: String,
    next_link: Cell<u16>,
    next_number: Cell<u64>,
    by_session: RefCell<BTreeMap<i64, u16>>,
}

/// Servers that a test starts, without links between them.
pub(crate) trait TestEnsemble: Ensemble + Sized {
    async fn start_with(servers: u32, tick_ms: u64, work: &WorkDir) -> Self;
}

impl TestEnsemble for LocalEnsemble {
    async fn start_with(servers: u32, tick_ms: u64, work: &WorkDir) -> Self {
        let options = LocalOptions::new(ServerOptions { tick_ms, ..ServerOptions::of(servers) }, PathBuf::from(EXE));
        Self::start(options, work).await.expect("servers")
    }
}

impl TestEnsemble for EmbeddedEnsemble {
    async fn start_with(servers: u32, tick_ms: u64, work: &WorkDir) -> Self {
        let options = EmbeddedOptions::new(ServerOptions { tick_ms, ..ServerOptions::of(servers) }, PathBuf::from(EXE));
        Self::start(options, work).await.expect("servers")
    }
}

impl<E: TestEnsemble> ServerStage<E> {
    pub(crate) async fn set_up(tick_ms: u64) -> Self {
        let root = tempfile::tempdir().expect("a temp dir");
        let work = WorkDir::create_in(root.path(), "real").expect("a folder");
        let ensemble = E::start_with(3, tick_ms, &work).await;
        let links = RunLinks::start_embedded(Path::new(EXE), 1, false).await.expect("a proxy");
        let hosts: Vec<String> = (0..LINKS).map(|host| format!("host-{host}")).collect();
        links.populate(&hosts, &ensemble.servers(), &ensemble.servers()).await.expect("links");
        let cluster = joined(&ensemble.servers());
        Self {
            ensemble,
            links,
            _work: work,
            _root: root,
            cluster,
            next_link: Cell::new(0),
            next_number: Cell::new(0),
            by_session: RefCell::default(),
        }
    }

    /// A session without a link.
    pub(crate) async fn direct(&self, timeout: Duration) -> ZkSession {
        ZkSession::connect(&self.cluster, timeout).await.expect("a session")
    }

    /// A session with a link of its own.
    pub(crate) async fn linked(&self, timeout: Duration) -> ZkSession {
        let host = self.next_link.replace(self.next_link.get() + 1);
        assert!(host < LINKS, "there are no more links");
        let session = ZkSession::connect(&joined(&self.links.endpoints(host)), timeout).await.expect("a session");
        self.by_session.borrow_mut().insert(session.id(), host);
        session
    }

    /// The link of a session.
    pub(crate) fn link_of(&self, session: i64) -> u16 {
        self.by_session.borrow()[&session]
    }

    /// A number that was not given before.
    pub(crate) fn fresh(&self) -> u64 {
        self.next_number.set(self.next_number.get() + 1);
        self.next_number.get()
    }

    pub(crate) async fn tear_down(self) {
        self.links.close().await.expect("closed");
        self.ensemble.stop().await.expect("stopped");
    }
}

pub(crate) fn joined(addresses: &[SocketAddr]) -> String {
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// What is asked of a real server and of an embedded one, by their addresses.
pub(crate) fn on_real_and_embedded(ask: impl AsyncFnOnce(SocketAddr, SocketAddr)) {
    on_one_thread(async {
        let root = tempfile::tempdir().expect("a temp dir");
        let work = WorkDir::create_in(root.path(), "both").expect("a folder");
        let real = LocalEnsemble::start_with(1, 1_000, &work).await;
        let embedded = EmbeddedEnsemble::start_with(1, 1_000, &work).await;
        ask(real.servers()[0], embedded.servers()[0]).await;
        real.stop().await.expect("stopped");
        embedded.stop().await.expect("stopped");
    });
}

/// Runs the future as a host does: on one thread.
pub(crate) fn on_one_thread<T>(run: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    tokio::task::LocalSet::new().block_on(&runtime, run)
}
