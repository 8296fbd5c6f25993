//! Faults on local servers: signals to their JVMs, and holds on the links between them.
//!
//! Never hold a borrow of the servers across an await: other faults may be under way.

use std::time::Duration;

use futures::future::LocalBoxFuture;
use tokio::time::{Instant, sleep};

use super::super::control::{PartitionEvidence, ServerEvidence};
use super::super::{EnsembleError, ServerControl};
use super::LocalEnsemble;
use super::quorum_links::crosses;
use super::server::{GONE_WITHIN, ServerProcess};
use crate::links::{LinkError, Mesh};
use crate::process::procfs::{ProcessId, process_state};

const LOOK_EVERY: Duration = Duration::from_millis(2);
/// The kernel shows a new state, and the guard becomes a JVM, well within this.
const SHOWN_WITHIN: Duration = Duration::from_secs(10);

impl ServerControl for LocalEnsemble {
    fn kill(&self, server: u32) -> LocalBoxFuture<'_, ServerEvidence> {
        Box::pin(async move {
            let pid = self.on(server, ServerProcess::kill)?;
            let ended = || self.on(server, ServerProcess::ended);
            let status = shown(GONE_WITHIN, ended).await?;
            let status = status.ok_or(EnsembleError::WillNotStop { server, within: GONE_WITHIN })?;
            Ok(format!("server {server}: pid {pid} is gone, {status}"))
        })
    }

    fn start(&self, server: u32, empty: bool) -> LocalBoxFuture<'_, ServerEvidence> {
        Box::pin(async move {
            let pid = self.on(server, |process| process.start(&self.launcher, empty))?;
            let is_java = || {
                self.on(server, ServerProcess::check_alive)?;
                let line = ProcessId::of(pid).map(ProcessId::command_line).unwrap_or_default();
                Ok((!line.is_empty() && !line.contains(" guard --parent ")).then_some(()))
            };
            let why = format!("pid {pid} did not become a JVM within {} s", SHOWN_WITHIN.as_secs());
            let cannot = || EnsembleError::Control { server, what: "started", why };
            shown(SHOWN_WITHIN, is_java).await?.ok_or_else(cannot)?;
            let data = if empty { "without data" } else { "on its old data" };
            Ok(format!("server {server}: pid {pid} started {data}"))
        })
    }

    fn pause(&self, server: u32) -> LocalBoxFuture<'_, ServerEvidence> {
        Box::pin(self.stop_or_go(server, true))
    }

    fn resume(&self, server: u32) -> LocalBoxFuture<'_, ServerEvidence> {
        Box::pin(self.stop_or_go(server, false))
    }

    fn cut_noting<'a>(&'a self, servers: &'a [u32], in_effect: &'a dyn Fn()) -> LocalBoxFuture<'a, PartitionEvidence> {
        const WHAT: &str = "cut off";
        Box::pin(async move {
            let mesh = self.mesh(servers, WHAT)?;
            let held = mesh.hold(|way| crosses(servers, way), in_effect).await;
            let held = held.map_err(|why| not_linked(servers, WHAT, &why))?;
            let text = format!(
                "servers {servers:?}: {} links to and from the others held both ways, read back; no byte passed in {} ms by the \
                 proxy's counters",
                held.ways.len(),
                held.watched.as_millis(),
            );
            Ok((text, Some(hustings_record::Evidence::Apart { ways: held.ways, bytes: Some(held.bytes) })))
        })
    }

    fn rejoin<'a>(&'a self, servers: &'a [u32]) -> LocalBoxFuture<'a, ServerEvidence> {
        const WHAT: &str = "rejoined";
        Box::pin(async move {
            let mesh = self.mesh(servers, WHAT)?;
            let links = mesh.release(|way| crosses(servers, way)).await;
            let links = links.map_err(|why| not_linked(servers, WHAT, &why))?;
            Ok(format!("servers {servers:?}: {links} links to and from the others are not held any more, read back"))
        })
    }
}

impl LocalEnsemble {
    /// Calls `act` with one server.
    fn on<T>(
        &self,
        server: u32,
        act: impl FnOnce(&mut ServerProcess) -> Result<T, EnsembleError>,
    ) -> Result<T, EnsembleError> {
        let mut servers = self.servers.borrow_mut();
        let process = servers.iter_mut().find(|process| process.id == server);
        act(process.ok_or(EnsembleError::NoSuchServer(server))?)
    }

    async fn stop_or_go(&self, server: u32, stop: bool) -> ServerEvidence {
        let pid = self.on(server, |process| process.stop_or_go(stop))?;
        let state = || Ok(process_state(pid).filter(|state| (*state == 'T') == stop));
        let state = shown(SHOWN_WITHIN, state).await?.filter(|state| !"ZX".contains(*state));
        let what = if stop { "paused" } else { "resumed" };
        let why = || match process_state(pid) {
            Some(now) => format!("pid {pid} is in state {now} after the signal"),
            None => format!("pid {pid} is gone"),
        };
        let state = state.ok_or_else(|| EnsembleError::Control { server, what, why: why() })?;
        Ok(format!("server {server}: pid {pid} in state {state}"))
    }

    /// The links between servers, for a cut between these and the others.
    fn mesh(&self, servers: &[u32], what: &'static str) -> Result<&Mesh, EnsembleError> {
        let all = self.servers.borrow();
        if let Some(unknown) = servers.iter().find(|server| all.iter().all(|process| process.id != **server)) {
            return Err(EnsembleError::NoSuchServer(*unknown));
        }
        let inside = all.iter().filter(|process| servers.contains(&process.id)).count();
        if inside == 0 || inside == all.len() {
            return Err(cannot(servers, what, "a cut needs servers on both of its sides"));
        }
        let none = "this ensemble's servers connect to each other directly; start it with quorum links";
        self.mesh.as_ref().ok_or_else(|| cannot(servers, what, none))
    }
}

fn cannot(servers: &[u32], what: &'static str, why: impl ToString) -> EnsembleError {
    EnsembleError::Cut { servers: servers.to_vec(), what, why: why.to_string() }
}

/// The links between servers could not be held or let go.
fn not_linked(servers: &[u32], what: &'static str, why: &LinkError) -> EnsembleError {
    let error = cannot(servers, what, why);
    if why.is_in_effect() { error.in_effect() } else { error }
}

/// Polls `look` until it returns a value; None after `within`.
async fn shown<T>(
    within: Duration,
    mut look: impl FnMut() -> Result<Option<T>, EnsembleError>,
) -> Result<Option<T>, EnsembleError> {
    let until = Instant::now() + within;
    loop {
        let seen = look()?;
        if seen.is_some() || Instant::now() >= until {
            return Ok(seen);
        }
        sleep(LOOK_EVERY).await;
    }
}
