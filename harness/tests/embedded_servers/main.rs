//! Embedded servers bear whatever clients send, and bear the faults that a run puts on servers.

mod client;
mod faults;
mod misbehaving_clients;

use std::path::PathBuf;

use hustings::ensemble::Ensemble as _;
use hustings::ensemble::embedded::{EmbeddedEnsemble, EmbeddedOptions};
use hustings::ensemble::server_options::ServerOptions;
use hustings::files::workdir::WorkDir;

/// Runs a test on so many servers.
fn on_servers(servers: u32, tick_ms: u64, test: impl AsyncFnOnce(&EmbeddedEnsemble)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let root = tempfile::tempdir().expect("a temp dir");
        let work = WorkDir::create_in(root.path(), "embedded").expect("a folder");
        let exe = PathBuf::from(env!("CARGO_BIN_EXE_hustings"));
        let servers = ServerOptions { tick_ms, sync_limit: Some(4), ..ServerOptions::of(servers) };
        let options = EmbeddedOptions::new(servers, exe);
        let ensemble = EmbeddedEnsemble::start(options, &work).await.expect("servers");
        test(&ensemble).await;
        ensemble.check_alive().await.expect("it lives");
        ensemble.stop().await.expect("stopped");
    });
}
