//! Shared by the tests on local ensembles.

use std::path::PathBuf;
use std::time::Duration;

use hustings::ensemble::local::LocalOptions;
use hustings::ensemble::server_options::ServerOptions;
use hustings::process::procfs::ProcessId;

pub(crate) const EXE: &str = env!("CARGO_BIN_EXE_hustings");

pub(crate) fn options(servers: u32) -> LocalOptions {
    with(ServerOptions::of(servers))
}

pub(crate) fn with(servers: ServerOptions) -> LocalOptions {
    LocalOptions::new(servers, PathBuf::from(EXE))
}

/// Waits until none of the processes lives; false if one still does after a generous time.
pub(crate) async fn all_gone(processes: &[ProcessId]) -> bool {
    for _ in 0..1_000 {
        if !processes.iter().any(|p| p.is_alive()) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    false
}
