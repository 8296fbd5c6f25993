//! A Docker ensemble: ZooKeeper servers in containers of any image that is configured as the official one is, on networks
//! of their own, with a Toxiproxy in front of them where links are wanted.
//!
//! testcontainers pulls images, starts containers and removes them; the engine is asked directly for what it does not know
//! of: labelled networks, cuts, kills, states and logs.

mod control;
mod engine;
mod faults;
mod guard;
mod labels;
mod logs;
mod networks;
mod options;
mod ports;
mod request;
pub mod residue;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::error::Error as _;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use bollard::models::ContainerState;
use futures::future::LocalBoxFuture;
use hustings_record::EnsembleKind;
use testcontainers::runners::AsyncRunner as _;
use testcontainers::{ContainerAsync, ContainerRequest, GenericImage};
use tokio::time::{Instant, sleep};

pub(super) use ports::count as port_count;

pub use options::{
    DockerOptions, TOXIPROXY_IMAGE, TOXIPROXY_IMAGE_VARIABLE, ZOOKEEPER_IMAGE, ZOOKEEPER_IMAGE_VARIABLE,
};

use super::serving::{self, StartingServers};
use super::{Ensemble, EnsembleError, ServerControl, four_letter, server_name};
use crate::files::workdir::{DOCKER_FILE, WorkDir};
use crate::links::ExternalToxiproxy;
use engine::Engine;
use faults::ServerFaults;
use guard::Guard;
use networks::{Networks, pairs};
use ports::Ports;

/// How often a start is tried again with other ports when another process took one between the choice and the bind.
const PORT_ATTEMPTS_MAX: u32 = 5;
/// How long a four-letter word may take: a loaded server on a busy machine answers late.
const ASK_WITHIN: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(50);
/// Whether an engine answers, its version and address, and of some images whether they are there.
///
/// # Errors
/// Why no engine can be used.
pub fn look(images: &[&str]) -> Result<(String, Vec<bool>), EnsembleError> {
    residue::on_own_thread(|| async {
        let engine = Engine::connect().await?;
        let mut there = Vec::new();
        for image in images {
            there.push(engine.has_image(image).await?);
        }
        Ok((format!("Docker {} at {}", engine.version, engine.at), there))
    })
}

/// Pulls the images that are not there; gives the engine's version and address.
///
/// # Errors
/// No engine can be used, or an image is missing.
pub async fn fetch(zookeeper_image: &str, toxiproxy_image: &str) -> Result<String, EnsembleError> {
    let engine = Engine::connect().await?;
    engine.need_image(zookeeper_image, "--zookeeper-image").await?;
    engine.need_image(toxiproxy_image, "--toxiproxy-image").await?;
    Ok(format!("Docker {} at {}", engine.version, engine.at))
}

/// Containers, removed by [`Ensemble::stop`]; dropped, they are removed too, while the caller is kept waiting.
pub struct DockerEnsemble {
    engine: Engine,
    name: String,
    options: DockerOptions,
    labels: HashMap<String, String>,
    ports: Ports,
    networks: Networks,
    /// By name, as long as testcontainers knows them.
    containers: RefCell<BTreeMap<String, ContainerAsync<GenericImage>>>,
    faults: RefCell<ServerFaults>,
    /// What containers had logged that others took the place of.
    earlier_logs: RefCell<BTreeMap<u32, String>>,
    version: String,
    guard: Guard,
}

impl DockerEnsemble {
    /// Starts the servers of run `run_id` and waits until every one of them serves. That the run uses Docker is noted in
    /// `work`.
    ///
    /// # Errors
    /// When no engine can be used, an image is missing, a port of an asked base is taken, a container dies, or the servers
    /// do not serve in time. Nothing is left behind then.
    pub async fn start(options: DockerOptions, work: &WorkDir, run_id: &str) -> Result<Self, EnsembleError> {
        options.servers.check()?;
        let engine = Engine::connect().await?;
        engine.need_image(&options.zookeeper_image, "--zookeeper-image").await?;
        if options.link_ports > 0 {
            engine.need_image(&options.toxiproxy_image, "--toxiproxy-image").await?;
        }
        let name = note(&engine, work, run_id)?;
        let labels = labels::labels(run_id, work.path(), &name);
        for attempt in 1.. {
            let ports = Ports::reserve(&options, attempt)?;
            match Self::start_on(&engine, &name, &options, &labels, ports).await {
                Err(EnsembleError::PortTaken { .. } | EnsembleError::ToxiproxyPortTaken { .. })
                    if options.base_port.is_none() && attempt < PORT_ATTEMPTS_MAX =>
                {
                    tracing::info!("another process took a port while the ensemble was starting: trying other ports");
                }
                done => return done,
            }
        }
        Err(EnsembleError::NoPorts { servers: options.servers.count, source: io::Error::other("others took them") })
    }

    async fn start_on(
        engine: &Engine,
        name: &str,
        options: &DockerOptions,
        labels: &HashMap<String, String>,
        ports: Ports,
    ) -> Result<Self, EnsembleError> {
        let guard = Guard::new(engine, name);
        let networks = match guard.make(Networks::create(engine, name, options.servers.count, labels)).await {
            Ok(networks) => networks,
            Err(error) => {
                let _ = guard.remove().await;
                return Err(error);
            }
        };
        let mut ensemble = Self {
            engine: engine.clone(),
            name: name.to_owned(),
            options: options.clone(),
            labels: labels.clone(),
            ports,
            networks,
            containers: RefCell::default(),
            faults: RefCell::default(),
            earlier_logs: RefCell::default(),
            version: "unknown".to_owned(),
            guard,
        };
        if let Err(error) = ensemble.start_containers().await {
            // The first error is the one to tell; what is left is removed by `hustings clean`.
            let _ = ensemble.stop().await;
            return Err(error);
        }
        Ok(ensemble)
    }

    async fn start_containers(&mut self) -> Result<(), EnsembleError> {
        let ids = || 1..=self.options.servers.count;
        // All are waited for, also after an error: what is under way could not be removed.
        let servers = futures::future::join_all(ids().map(|id| self.launch_server(id)));
        let (servers, toxiproxy) = futures::future::join(servers, self.launch_toxiproxy()).await;
        servers.into_iter().chain([toxiproxy]).collect::<Result<(), _>>()?;
        let released = futures::future::join_all(ids().map(|id| self.release_server(id))).await;
        released.into_iter().collect::<Result<(), _>>()?;
        self.wait_for_toxiproxy().await?;
        let srvr = serving::wait_until_serving(&mut StartingContainers(self), self.options.start_within).await?;
        if let Some(version) = four_letter::version(&srvr) {
            self.version = version;
        }
        Ok(())
    }

    /// Starts the container of a server and stops it where it is, on all of its networks that no cut lies on: a server
    /// must not look for peers before it can reach them, and testcontainers starts it on one network only.
    async fn launch_server(&self, id: u32) -> Result<(), EnsembleError> {
        let name = self.container(id)?;
        self.launch(&name, request::server(id, &name, &self.options, &self.ports, &self.networks, &self.labels))
            .await?;
        if let Err(error) = self.engine.pause(&name).await {
            self.check_server(id).await?;
            return Err(error);
        }
        let faults = self.faults.borrow().clone();
        let own = pairs(self.options.servers.count).into_iter().filter(|pair| pair.0 == id || pair.1 == id);
        for pair in own.filter(|pair| !faults.part(*pair)) {
            self.networks.connect(&self.engine, pair, id, &name).await?;
        }
        Ok(())
    }

    async fn release_server(&self, id: u32) -> Result<(), EnsembleError> {
        let name = self.container(id)?;
        self.engine.call(format!("resume {name}"), self.engine.docker.unpause_container(&name)).await
    }

    async fn launch_toxiproxy(&self) -> Result<(), EnsembleError> {
        if self.options.link_ports == 0 {
            return Ok(());
        }
        let name = self.toxiproxy_container();
        let request = request::toxiproxy(&name, &self.options, &self.ports, &self.networks, &self.labels);
        self.launch(&name, request).await
    }

    async fn launch(&self, name: &str, request: ContainerRequest<GenericImage>) -> Result<(), EnsembleError> {
        let container = self.guard.make(request.start()).await.map_err(|error| {
            let mut why = error.to_string();
            let mut cause = error.source();
            while let Some(error) = cause {
                why = error.to_string();
                cause = error.source();
            }
            match self.ports.named_as_taken(&why) {
                Some(port) => self.ports.taken(port, io::Error::other(why)),
                None => EnsembleError::Engine { what: format!("start {name}"), why },
            }
        })?;
        self.containers.borrow_mut().insert(name.to_owned(), container);
        Ok(())
    }

    async fn wait_for_toxiproxy(&self) -> Result<(), EnsembleError> {
        let Some(external) = self.toxiproxy() else { return Ok(()) };
        let url = format!("{}/version", external.url);
        let within = self.options.start_within;
        let until = Instant::now() + within;
        let client = reqwest::Client::builder().no_proxy().timeout(ASK_WITHIN).build();
        let failed =
            |error: reqwest::Error| EnsembleError::Engine { what: "be asked".to_owned(), why: error.to_string() };
        let client = client.map_err(failed)?;
        loop {
            let why = match client.get(&url).send().await.and_then(reqwest::Response::error_for_status) {
                Ok(_) => return Ok(()),
                Err(error) => error.to_string(),
            };
            self.check_toxiproxy().await?;
            if Instant::now() >= until {
                let log = logs::tail(&self.engine, &self.toxiproxy_container()).await;
                return Err(EnsembleError::ToxiproxySilent { url, within, why, log });
            }
            sleep(POLL).await;
        }
    }

    /// Fails if server `id` has ended and nobody killed it; gives its name if it is paused and nobody paused it.
    async fn check_server(&self, id: u32) -> Result<Option<String>, EnsembleError> {
        let before = self.faults.borrow().clone();
        if before.killed.contains(&id) {
            // There may be no container at all for a moment.
            return Ok(None);
        }
        let state = self.engine.state(&self.container(id)?).await;
        // What is done to it at this moment is no accident either.
        let now = self.faults.borrow().clone();
        if now.killed.contains(&id) {
            return Ok(None);
        }
        let state = state?;
        if state.running == Some(true) {
            let meant = before.paused.contains(&id) || now.paused.contains(&id);
            return Ok((state.paused == Some(true) && !meant).then(|| server_name(id)));
        }
        Err(self.died(id, &state).await)
    }

    async fn check_toxiproxy(&self) -> Result<Option<String>, EnsembleError> {
        if self.options.link_ports == 0 {
            return Ok(None);
        }
        let name = self.toxiproxy_container();
        let state = self.engine.state(&name).await?;
        if state.running == Some(true) {
            return Ok((state.paused == Some(true)).then(|| "toxiproxy".to_owned()));
        }
        Err(EnsembleError::ToxiproxyDied { status: ended(&state), log: logs::tail(&self.engine, &name).await })
    }

    async fn died(&self, server: u32, state: &ContainerState) -> EnsembleError {
        let log = match self.container(server) {
            Ok(name) => logs::tail(&self.engine, &name).await,
            Err(error) => return error,
        };
        EnsembleError::Died { server, status: ended(state), log }
    }

    async fn remove_container(&self, name: &str) -> Result<(), EnsembleError> {
        let container = self.containers.borrow_mut().remove(name);
        let Some(container) = container else { return Ok(()) };
        container
            .rm()
            .await
            .map_err(|error| EnsembleError::Engine { what: format!("remove {name}"), why: error.to_string() })
    }

    fn container(&self, server: u32) -> Result<String, EnsembleError> {
        let known = (1..=self.options.servers.count).contains(&server);
        if known { Ok(format!("{}-zk{server}", self.name)) } else { Err(EnsembleError::NoSuchServer(server)) }
    }

    fn toxiproxy_container(&self) -> String {
        format!("{}-toxiproxy", self.name)
    }
}

impl std::fmt::Debug for DockerEnsemble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DockerEnsemble")
            .field("name", &self.name)
            .field("engine", &self.engine.at)
            .finish_non_exhaustive()
    }
}

impl Ensemble for DockerEnsemble {
    fn servers(&self) -> Vec<SocketAddr> {
        (1..=self.options.servers.count).map(|id| (Ipv4Addr::LOCALHOST, self.ports.client(id)).into()).collect()
    }

    fn upstreams(&self) -> Vec<String> {
        (1..=self.options.servers.count).map(|id| format!("{}-zk{id}:2181", self.name)).collect()
    }

    fn toxiproxy(&self) -> Option<ExternalToxiproxy> {
        (self.options.link_ports > 0).then(|| ExternalToxiproxy {
            url: format!("http://127.0.0.1:{}", self.ports.api()),
            bind: Ipv4Addr::UNSPECIFIED.into(),
            reach: Some(IpAddr::from(Ipv4Addr::LOCALHOST)),
            first_port: Some(self.ports.links().start),
            last_port: self.ports.links().end.checked_sub(1),
            names: String::new(),
        })
    }

    fn kind(&self) -> EnsembleKind {
        EnsembleKind::Docker
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn describe(&self) -> String {
        let links = if self.options.link_ports == 0 {
            String::new()
        } else {
            format!(", links by {}", self.options.toxiproxy_image)
        };
        format!(
            "docker: {} ZooKeeper {} server{} of the image {} in containers of Docker {}{links}; chosen because {}",
            self.options.servers.count,
            self.version,
            if self.options.servers.count == 1 { "" } else { "s" },
            self.options.zookeeper_image,
            self.engine.version,
            self.options.why
        )
    }

    fn ask(&self, server: u32, word: &'static str) -> LocalBoxFuture<'_, Result<String, EnsembleError>> {
        Box::pin(async move {
            self.container(server)?;
            let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, self.ports.client(server)));
            four_letter::ask(addr, word, ASK_WITHIN).await.map_err(|source| EnsembleError::Ask { server, source })
        })
    }

    fn control(&self) -> Option<&dyn ServerControl> {
        Some(self)
    }

    fn log(&self, server: u32) -> LocalBoxFuture<'_, Result<Option<String>, EnsembleError>> {
        Box::pin(async move {
            let now = logs::all(&self.engine, &self.container(server)?).await?;
            let earlier = self.earlier_logs.borrow().get(&server).cloned().unwrap_or_default();
            Ok(Some(earlier + &now))
        })
    }

    fn check_alive(&self) -> LocalBoxFuture<'_, Result<Vec<String>, EnsembleError>> {
        Box::pin(async move {
            let servers = (1..=self.options.servers.count).map(|id| self.check_server(id));
            let (servers, toxiproxy) =
                futures::future::join(futures::future::join_all(servers), self.check_toxiproxy()).await;
            servers.into_iter().chain([toxiproxy]).filter_map(Result::transpose).collect()
        })
    }

    fn stop(&self) -> LocalBoxFuture<'_, Result<(), EnsembleError>> {
        Box::pin(async move {
            let containers = self.containers.take();
            // What does not go this way is found by its labels.
            let _ = futures::future::join_all(containers.into_values().map(ContainerAsync::rm)).await;
            self.guard.remove().await
        })
    }
}

impl Drop for DockerEnsemble {
    fn drop(&mut self) {
        self.guard.remove_now();
        // testcontainers would remove them once more, and panics where there is no runtime.
        std::mem::take(self.containers.get_mut()).into_values().for_each(std::mem::forget);
    }
}

/// An ensemble of which nobody knows yet whether it serves.
struct StartingContainers<'a>(&'a DockerEnsemble);

impl StartingServers for StartingContainers<'_> {
    fn addrs(&self) -> Vec<SocketAddr> {
        self.0.servers()
    }

    async fn check_alive(&mut self) -> Result<(), EnsembleError> {
        Ensemble::check_alive(self.0).await.map(drop)
    }

    async fn log_tail(&self, server: u32) -> String {
        match self.0.container(server) {
            Ok(name) => logs::tail(&self.0.engine, &name).await,
            Err(_) => String::new(),
        }
    }
}

/// How a container ended.
fn ended(state: &ContainerState) -> String {
    let mut text = format!("exit code {}", state.exit_code.unwrap_or_default());
    if state.oom_killed == Some(true) {
        text.push_str(", out of memory");
    }
    if let Some(error) = state.error.as_deref().filter(|error| !error.is_empty()) {
        text.push_str(", ");
        text.push_str(error);
    }
    text
}

/// Notes in the run's folder that the run uses this engine; returns the name of the run's next ensemble.
fn note(engine: &Engine, work: &WorkDir, run_id: &str) -> Result<String, EnsembleError> {
    let path = work.path().join(DOCKER_FILE);
    let written = (|| {
        let mut file = OpenOptions::new().create(true).read(true).append(true).open(&path)?;
        let number = io::read_to_string(&file)?.lines().count() + 1;
        writeln!(file, "{}", engine.at)?;
        io::Result::Ok(number)
    })();
    match written {
        Ok(number) => Ok(labels::ensemble_name(run_id, number)),
        Err(source) => Err(EnsembleError::Io { what: "note the use of Docker in", path, source }),
    }
}
