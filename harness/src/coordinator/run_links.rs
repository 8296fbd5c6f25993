//! The links of a run: whose proxies they are, and whether they lead to the servers.

use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Context as _;
use hustings_workloads::scenario::Cell;

use crate::ensemble::start::EnsembleRequest;
use crate::ensemble::{Ensemble, four_letter};
use crate::files::cleanup_notes::CleanupNote;
use crate::files::workdir::WorkDir;
use crate::links::{ExternalToxiproxy, LinkError, RunLinks, borrow, prefix, processes_needed};
use crate::process::capacity::Limits;

/// How long the first answer over a link may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// The Toxiproxy that was named, with the note in the run's folder that it is used.
pub(super) struct ToxiproxyLinks {
    links: Rc<RunLinks>,
    note: CleanupNote,
}

impl ToxiproxyLinks {
    /// Takes all links of the run away: a cell does that with its own, if it comes so far.
    pub(super) async fn release(self) -> Result<(), LinkError> {
        self.links.depopulate().await?;
        // A note that stays is read again, and finds nothing to remove.
        let _ = self.note.remove();
        Ok(())
    }
}

/// The Toxiproxy that was named, if any cell needs one. What it lacks is found out before an ensemble is started.
pub(super) async fn named(
    request: &EnsembleRequest,
    cells: &[Cell],
    (work, run_id): (&WorkDir, &str),
) -> anyhow::Result<Option<ToxiproxyLinks>> {
    let Some(place) = request.toxiproxy().filter(|_| cells.iter().any(|cell| cell.over_links)) else { return Ok(None) };
    check_room(place, cells, request.servers())?;
    let place = ExternalToxiproxy { names: prefix(run_id), ..place.clone() };
    let url = place.url.clone();
    let links = RunLinks::external(place).await?;
    check_reading(&links, cells)?;
    let note = borrow(work.path(), &url).context("the use of Toxiproxy cannot be noted")?;
    Ok(Some(ToxiproxyLinks { links: Rc::new(links), note }))
}

/// The links of the run: over the Toxiproxy that was named, or the ensemble's own, or embedded proxies; None if no cell has
/// any.
pub(super) async fn of_run(
    exe: &Path,
    lying_proxy: bool,
    cells: &[Cell],
    named: Option<&ToxiproxyLinks>,
    ensemble: &dyn Ensemble,
) -> Result<Option<Rc<RunLinks>>, LinkError> {
    if !cells.iter().any(|cell| cell.over_links) {
        return Ok(None);
    }
    let links = match (named, ensemble.toxiproxy()) {
        (Some(named), _) => named.links.clone(),
        (None, Some(place)) => {
            check_room(&place, cells, None)?;
            let links = RunLinks::external(place).await?;
            check_reading(&links, cells)?;
            Rc::new(links)
        }
        (None, None) => {
            let processes = proxy_processes(cells)?;
            let embedded = RunLinks::start_embedded(exe, processes, lying_proxy).await?;
            return Ok(Some(Rc::new(embedded)));
        }
    };
    prove(&links, &ensemble.upstreams()).await?;
    Ok(Some(links))
}

/// Links of the cell that has most of them.
pub(crate) fn most(cells: &[Cell]) -> usize {
    let linked = cells.iter().filter(|cell| cell.over_links);
    linked.map(|cell| usize::from(cell.hosts) * cell.servers as usize).max().unwrap_or(0)
}

fn check_room(place: &ExternalToxiproxy, cells: &[Cell], servers: Option<u32>) -> Result<(), LinkError> {
    let mut linked = cells.iter().filter(|cell| cell.over_links);
    linked.try_for_each(|cell| place.check_room(usize::from(cell.hosts), servers.unwrap_or(cell.servers) as usize))
}

/// Faults on single messages need links that read what passes.
fn check_reading(links: &RunLinks, cells: &[Cell]) -> Result<(), LinkError> {
    let needed = cells.iter().flat_map(Cell::kinds).any(|kind| kind.needs_reading_links());
    if needed && !links.is_embedded() { Err(LinkError::CannotRead { url: links.url().to_owned() }) } else { Ok(()) }
}

/// Asks every server something over a link of its own, and takes these links away again.
async fn prove(links: &RunLinks, upstreams: &[String]) -> Result<(), LinkError> {
    links.populate(&["proof".to_owned()], upstreams, &[]).await?;
    let mut proof = Ok(());
    for ((server, endpoint), upstream) in (1..).zip(links.endpoints(0)).zip(upstreams) {
        let why = match four_letter::ask(endpoint, "srvr", ANSWER_WITHIN).await {
            Ok(text) if four_letter::mode(&text).is_some() => continue,
            Ok(text) => format!("it said '{}'", four_letter::shown(&text)),
            Err(error) => error.to_string(),
        };
        proof =
            Err(LinkError::NoWay { server, url: links.url().to_owned(), endpoint, upstream: upstream.clone(), why });
        break;
    }
    // The first error is the one to tell.
    let gone = links.depopulate().await;
    proof.and(gone)
}

/// Proxy processes for the cell that needs most, by the descriptors one process may have.
fn proxy_processes(cells: &[Cell]) -> Result<usize, LinkError> {
    let limit = Limits::of_this_machine().descriptors;
    let mut most = 1;
    for cell in cells.iter().filter(|cell| cell.over_links) {
        let of_host = cell.session_count().div_ceil(u64::from(cell.hosts).max(1));
        most = most.max(processes_needed(usize::from(cell.hosts), of_host, limit)?);
    }
    Ok(most)
}
