//! Faults on servers in containers, injected and verified through the engine.

use std::collections::BTreeSet;
use std::time::Duration;

use bollard::query_parameters::{KillContainerOptionsBuilder, StartContainerOptions};
use futures::future::LocalBoxFuture;
use tokio::time::{Instant, sleep};

use super::super::control::{PartitionEvidence, ServerEvidence};
use super::super::{EnsembleError, ServerControl};
use super::faults::ServerFaults;
use super::networks::{ServerPair, pairs};
use super::{DockerEnsemble, logs};

/// Deadline for a killed container to end.
const DEAD_WITHIN: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(10);

impl ServerControl for DockerEnsemble {
    fn kill(&self, server: u32) -> LocalBoxFuture<'_, ServerEvidence> {
        Box::pin(async move {
            self.need(server, "killed")?;
            // Noted first, so that no check reports the server as died meanwhile.
            self.faults.borrow_mut().killed.insert(server);
            let killed = self.kill_container(server).await;
            let mut faults = self.faults.borrow_mut();
            if killed.is_ok() {
                faults.paused.remove(&server);
            } else {
                faults.killed.remove(&server);
            }
            killed
        })
    }

    fn start(&self, server: u32, empty: bool) -> LocalBoxFuture<'_, ServerEvidence> {
        Box::pin(async move {
            let container = self.container(server)?;
            if !self.faults.borrow().killed.contains(&server) {
                return Err(refused(server, "started", "it was not killed"));
            }
            if empty {
                self.replace(server, &container).await?;
            } else {
                let options = None::<StartContainerOptions>;
                let started = self.engine.docker.start_container(&container, options);
                self.engine.call(format!("start {container}"), started).await?;
            }
            let state = self.engine.state(&container).await?;
            if state.running != Some(true) {
                return Err(self.died(server, &state).await);
            }
            self.faults.borrow_mut().killed.remove(&server);
            let data = if empty { "without data" } else { "with its old data" };
            Ok(format!("{container} runs again {data}, as process {}", state.pid.unwrap_or_default()))
        })
    }

    fn pause(&self, server: u32) -> LocalBoxFuture<'_, ServerEvidence> {
        Box::pin(async move {
            let container = self.need(server, "paused")?;
            if self.faults.borrow().paused.contains(&server) {
                return Err(refused(server, "paused", "it is paused already").in_effect());
            }
            // Noted first, so that no check reports the pause as unplanned.
            self.faults.borrow_mut().paused.insert(server);
            if let Err(error) = self.engine.pause(&container).await {
                // The engine may have paused it all the same. Then the note stays until it is resumed.
                if self.engine.state(&container).await.is_ok_and(|state| state.paused == Some(false)) {
                    self.faults.borrow_mut().paused.remove(&server);
                }
                return Err(error);
            }
            self.see_paused(server, &container, true).await
        })
    }

    fn resume(&self, server: u32) -> LocalBoxFuture<'_, ServerEvidence> {
        Box::pin(async move {
            let container = self.need(server, "resumed")?;
            let is_noted = self.faults.borrow().paused.contains(&server);
            // After a pause that failed, the engine may have paused it late.
            if !is_noted && self.engine.state(&container).await?.paused != Some(true) {
                return Err(refused(server, "resumed", "it is not paused").in_effect());
            }
            let asked = self.engine.docker.unpause_container(&container);
            self.engine.call(format!("resume {container}"), asked).await?;
            self.faults.borrow_mut().paused.remove(&server);
            self.see_paused(server, &container, false).await
        })
    }

    fn cut_noting<'a>(&'a self, servers: &'a [u32], in_effect: &'a dyn Fn()) -> LocalBoxFuture<'a, PartitionEvidence> {
        Box::pin(async move {
            let cut = self.side(servers, "cut off")?;
            let again = self.faults.borrow().cuts.iter().flatten().find(|server| cut.contains(server)).copied();
            if let Some(server) = again {
                return Err(refused(server, "cut off", "it is cut off already").in_effect());
            }
            let before = self.faults.borrow().clone();
            // Noted first, so that a partial cut can be rejoined.
            self.faults.borrow_mut().cuts.push(cut.clone());
            self.follow(&before, &cut).await?;
            in_effect();
            Ok((format!("servers {} share no network with the others any more", list(&cut)), None))
        })
    }

    fn rejoin<'a>(&'a self, servers: &'a [u32]) -> LocalBoxFuture<'a, ServerEvidence> {
        Box::pin(async move {
            let cut = self.side(servers, "rejoined")?;
            let before = self.faults.borrow().clone();
            let Some(at) = before.cuts.iter().position(|known| *known == cut) else {
                let first = cut.first().copied().unwrap_or_default();
                let why = "no cut was made between exactly these servers and the others";
                return Err(refused(first, "rejoined", why).in_effect());
            };
            self.faults.borrow_mut().cuts.remove(at);
            if let Err(error) = self.follow(&before, &cut).await {
                // The caller can retry.
                self.faults.borrow_mut().cuts.push(cut);
                return Err(error);
            }
            Ok(format!("servers {} share networks with the others again", list(&cut)))
        })
    }
}

impl DockerEnsemble {
    /// The container of a server that is not killed.
    fn need(&self, server: u32, what: &'static str) -> Result<String, EnsembleError> {
        let container = self.container(server)?;
        if self.faults.borrow().killed.contains(&server) {
            return Err(refused(server, what, "it was killed and not started again"));
        }
        Ok(container)
    }

    /// The servers of one side of a cut; the other side must not be empty either.
    fn side(&self, servers: &[u32], what: &'static str) -> Result<BTreeSet<u32>, EnsembleError> {
        for server in servers {
            self.container(*server)?;
        }
        let side: BTreeSet<u32> = servers.iter().copied().collect();
        if side.is_empty() || side.len() == self.options.servers.count as usize {
            let first = side.first().copied().unwrap_or(1);
            return Err(refused(first, what, "a cut needs a server on either side"));
        }
        Ok(side)
    }

    async fn kill_container(&self, server: u32) -> ServerEvidence {
        let container = self.container(server)?;
        let options = KillContainerOptionsBuilder::new().signal("SIGKILL").build();
        let killed = self.engine.docker.kill_container(&container, Some(options));
        self.engine.call(format!("kill {container}"), killed).await?;
        let until = Instant::now() + DEAD_WITHIN;
        loop {
            let state = self.engine.state(&container).await?;
            if state.running == Some(false) {
                let code = state.exit_code.unwrap_or_default();
                return Ok(format!("{container} does not run any more (exit code {code})"));
            }
            if Instant::now() >= until {
                return Err(EnsembleError::WillNotStop { server, within: DEAD_WITHIN });
            }
            sleep(POLL).await;
        }
    }

    async fn see_paused(&self, server: u32, container: &str, wanted: bool) -> ServerEvidence {
        let state = self.engine.state(container).await?;
        match (state.running, state.paused) {
            (Some(true), Some(paused)) if paused == wanted => {
                Ok(format!("{container} {}", if wanted { "is paused" } else { "runs on" }))
            }
            _ => Err(self.died(server, &state).await),
        }
    }

    /// Replaces a killed container by a new one without data, and keeps the old one's log.
    async fn replace(&self, server: u32, container: &str) -> Result<(), EnsembleError> {
        let log = logs::all(&self.engine, container).await?;
        self.earlier_logs.borrow_mut().entry(server).or_default().push_str(&log);
        self.remove_container(container).await?;
        self.launch_server(server).await?;
        self.release_server(server).await
    }

    /// Connects or disconnects servers where the current cuts differ from those before, and verifies the result. It
    /// always moves servers of the `moved` side, so that cut and rejoin touch the same containers.
    async fn follow(&self, before: &ServerFaults, moved: &BTreeSet<u32>) -> Result<(), EnsembleError> {
        let now = self.faults.borrow().clone();
        let changed =
            pairs(self.options.servers.count).into_iter().filter(|pair| before.part(*pair) != now.part(*pair));
        let moves = changed.map(|pair| {
            let server = if moved.contains(&pair.0) { pair.0 } else { pair.1 };
            self.put(pair, server, !now.part(pair))
        });
        futures::future::join_all(moves).await.into_iter().collect()
    }

    async fn put(&self, pair: ServerPair, server: u32, on: bool) -> Result<(), EnsembleError> {
        let container = self.container(server)?;
        let network = self.networks.of(pair);
        // After a partial cut, some containers are in the wanted state already.
        if self.is_on(&container, &network).await? == on {
            return Ok(());
        }
        if on {
            self.networks.connect(&self.engine, pair, server, &container).await?;
        } else {
            self.networks.disconnect(&self.engine, pair, &container).await?;
        }
        if self.is_on(&container, &network).await? == on {
            return Ok(());
        }
        let why = format!("{container} is {}on {network}", if on { "not " } else { "still " });
        Err(EnsembleError::Control { server, what: if on { "rejoined" } else { "cut off" }, why })
    }

    async fn is_on(&self, container: &str, network: &str) -> Result<bool, EnsembleError> {
        let inspected = self.engine.docker.inspect_container(container, None);
        let inspected = self.engine.call(format!("inspect {container}"), inspected).await?;
        let networks = inspected.network_settings.and_then(|settings| settings.networks).unwrap_or_default();
        Ok(networks.contains_key(network))
    }
}

fn refused(server: u32, what: &'static str, why: &str) -> EnsembleError {
    EnsembleError::Control { server, what, why: why.to_owned() }
}

fn list(servers: &BTreeSet<u32>) -> String {
    servers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
