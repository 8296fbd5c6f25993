//! The engine's objects of a run, found by their labels, for removal at the run's end or after it was killed.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use bollard::errors::Error;
use bollard::query_parameters::{
    ListContainersOptionsBuilder, ListNetworksOptionsBuilder, RemoveContainerOptionsBuilder,
};
use tokio::time::{Instant, sleep};

use super::super::EnsembleError;
use super::engine::{Engine, status};
use super::labels;

/// Deadline for removing all labelled objects.
const GONE_WITHIN: Duration = Duration::from_secs(60);
const AGAIN: Duration = Duration::from_millis(100);

/// Containers and networks, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Residue {
    pub containers: Vec<String>,
    pub networks: Vec<String>,
}

impl Residue {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.containers.is_empty() && self.networks.is_empty()
    }
}

impl std::fmt::Display for Residue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        write!(f, "containers {}; networks {}", list(&self.containers), list(&self.networks))
    }
}

/// The objects of an ended run at the engine that its notes name.
///
/// # Errors
/// The engine cannot be reached or does not reply.
pub fn of_run(engine: &str, run: &str, folder: &Path) -> Result<Residue, EnsembleError> {
    let filter = run_filter(run, folder);
    on_own_thread(|| async move { find(&Engine::connect_to(engine).await?, &filter).await })
}

/// Removes the objects of an ended run at the engine that its notes name; returns them.
///
/// # Errors
/// The engine cannot be reached, or an object remains.
pub fn remove_run(engine: &str, run: &str, folder: &Path) -> Result<Residue, EnsembleError> {
    let filter = run_filter(run, folder);
    on_own_thread(|| async move {
        let engine = Engine::connect_to(engine).await?;
        let found = find(&engine, &filter).await?;
        remove(&engine, &filter, Duration::ZERO).await?;
        Ok(found)
    })
}

/// Objects of runs without a folder, by run. Whether these runs are alive is unknown.
///
/// # Errors
/// The engine cannot be reached or does not reply.
pub fn orphans() -> Result<BTreeMap<String, Residue>, EnsembleError> {
    on_own_thread(|| async {
        let engine = Engine::connect().await?;
        let mut runs: BTreeMap<String, Residue> = BTreeMap::new();
        let all = labelled(&engine, &[labels::RUN.to_owned()]).await?;
        for thing in all.into_iter().filter(|thing| !thing.has_folder()) {
            let of = runs.entry(thing.labels.get(labels::RUN).cloned().unwrap_or_default()).or_default();
            if thing.is_container { of.containers.push(thing.name) } else { of.networks.push(thing.name) }
        }
        Ok(runs)
    })
}

/// The filter for an ensemble's objects.
pub(super) fn ensemble_filter(ensemble: &str) -> Vec<String> {
    vec![format!("{}={ensemble}", labels::ENSEMBLE)]
}

fn run_filter(run: &str, folder: &Path) -> Vec<String> {
    vec![format!("{}={run}", labels::RUN), format!("{}={}", labels::FOLDER, folder.display())]
}

/// Removes everything that the labels find, containers with their volumes before networks, until nothing is found for
/// `quiet`: a request of a cancelled caller may still take effect.
pub(super) async fn remove(engine: &Engine, filter: &[String], quiet: Duration) -> Result<(), EnsembleError> {
    let until = Instant::now() + GONE_WITHIN;
    let mut quiet_since: Option<Instant> = None;
    let mut error = None;
    loop {
        let left = find(engine, filter).await?;
        if left.is_empty() {
            let since = *quiet_since.get_or_insert_with(Instant::now);
            if since.elapsed() >= quiet {
                return Ok(());
            }
        } else {
            quiet_since = None;
            if Instant::now() >= until {
                let left = IncompleteRemoval { residue: left, error };
                return Err(EnsembleError::LeftBehind { left: left.to_string(), within: GONE_WITHIN });
            }
            error = remove_once(engine, &left).await.err().or(error);
        }
        sleep(AGAIN).await;
    }
}

struct IncompleteRemoval {
    residue: Residue,
    error: Option<EnsembleError>,
}

impl std::fmt::Display for IncompleteRemoval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.residue.fmt(f)?;
        self.error.iter().try_for_each(|error| write!(f, " ({error})"))
    }
}

async fn remove_once(engine: &Engine, found: &Residue) -> Result<(), EnsembleError> {
    let containers = found.containers.iter().map(|name| async move {
        let options = RemoveContainerOptionsBuilder::new().force(true).v(true).build();
        let removed = async { unless_gone(engine.docker.remove_container(name, Some(options)).await) };
        engine.call(format!("remove {name}"), removed).await
    });
    futures::future::join_all(containers).await.into_iter().collect::<Result<(), _>>()?;
    let networks = found.networks.iter().map(|name| async move {
        let removed = async { unless_gone(engine.docker.remove_network(name).await) };
        engine.call(format!("remove the network {name}"), removed).await
    });
    futures::future::join_all(networks).await.into_iter().collect()
}

/// An object that is gone (404), or that another process is removing (409), counts as removed.
fn unless_gone(removed: Result<(), Error>) -> Result<(), Error> {
    match removed {
        Err(error) if status(&error) == Some(404) => Ok(()),
        Err(error) if status(&error) == Some(409) && error.to_string().contains("already in progress") => Ok(()),
        removed => removed,
    }
}

async fn find(engine: &Engine, filter: &[String]) -> Result<Residue, EnsembleError> {
    let (containers, networks): (Vec<_>, Vec<_>) =
        labelled(engine, filter).await?.into_iter().partition(|thing| thing.is_container);
    let names = |things: Vec<LabelledObject>| things.into_iter().map(|thing| thing.name).collect();
    Ok(Residue { containers: names(containers), networks: names(networks) })
}

struct LabelledObject {
    name: String,
    is_container: bool,
    labels: HashMap<String, String>,
}

impl LabelledObject {
    /// A folder that cannot be checked counts as existing.
    fn has_folder(&self) -> bool {
        let folder = self.labels.get(labels::FOLDER).map(PathBuf::from);
        folder.is_some_and(|folder| folder.try_exists().unwrap_or(true))
    }
}

async fn labelled(engine: &Engine, filter: &[String]) -> Result<Vec<LabelledObject>, EnsembleError> {
    let filters = HashMap::from([("label".to_owned(), filter.to_vec())]);
    let options = ListContainersOptionsBuilder::new().all(true).filters(&filters).build();
    let containers = engine.call("list containers", engine.docker.list_containers(Some(options))).await?;
    let options = ListNetworksOptionsBuilder::new().filters(&filters).build();
    let networks = engine.call("list networks", engine.docker.list_networks(Some(options))).await?;
    let containers = containers.into_iter().filter_map(|container| {
        let name = container.names.unwrap_or_default().into_iter().next().or(container.id)?;
        let name = name.trim_start_matches('/').to_owned();
        Some(LabelledObject { name, is_container: true, labels: container.labels.unwrap_or_default() })
    });
    let networks = networks.into_iter().filter_map(|network| {
        let name = network.name.or(network.id)?;
        Some(LabelledObject { name, is_container: false, labels: network.labels.unwrap_or_default() })
    });
    let mut all: Vec<_> = containers.chain(networks).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

/// Runs a task on a runtime and thread of its own, because the caller may be inside a runtime or outside any.
pub(super) fn on_own_thread<T, F>(task: impl FnOnce() -> F + Send) -> Result<T, EnsembleError>
where
    T: Send,
    F: Future<Output = Result<T, EnsembleError>>,
{
    let failed = |why: String| EnsembleError::Engine { what: "be asked".to_owned(), why };
    thread::scope(|scope| {
        let run = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map_err(|error| failed(error.to_string()))?.block_on(task())
        };
        scope.spawn(run).join().unwrap_or_else(|_| Err(failed("its thread panicked".to_owned())))
    })
}
