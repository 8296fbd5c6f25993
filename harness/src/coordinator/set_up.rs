//! Sets a cell up: its znodes, its links, its observer, its hosts.

use std::collections::BTreeMap;

use anyhow::Context as _;
use hustings_workloads::driver;
use hustings_workloads::scenario::ROOT;

use crate::coordinator::again::until_it_works;
use crate::coordinator::cut_short::CutShort;
use crate::coordinator::environment::Environment;
use crate::coordinator::live_cell::{Host, LiveCell, writer_name};
use crate::coordinator::watching::Watching;
use crate::coordinator::{admin, observer_weight};
use crate::protocol::HostSetUp;
use crate::session::ZkSession;

/// Sets up all that a cell needs before its hosts are started.
pub(super) async fn set_up(live: &LiveCell) -> Result<(), CutShort> {
    let (cell, environment) = (&live.state.cell, &live.environment);
    // What is cut off here leaves nothing but znodes of a chroot that nobody else uses.
    tokio::select! {
        laid_out = until_it_works(async |_| lay_out(environment, &cell.group_names).await) => laid_out?,
        why = live.cut_short() => return Err(why),
    }
    let mut add_segment = |writer: &str| environment.archive.borrow_mut().add_segment(writer);
    environment.ensemble.begin_cell(cell.index, &mut add_segment).await?;
    if let Some(links) = &environment.links {
        let populated = links.populate(&cell.host_names, &environment.upstreams, &environment.servers).await;
        populated.map_err(anyhow::Error::from)?;
        links.begin_cell(cell.index, &mut add_segment)?;
    }
    tokio::select! {
        observing = observe(live) => observing?,
        why = live.cut_short() => return Err(why),
    }
    let set_ups = host_set_ups(live)?;
    live.hosts.replace(set_ups.into_iter().map(|(host, set_up)| (host, Host::new(set_up))).collect());
    Ok(())
}

/// Creates the cell's chroot and the znodes in it.
async fn lay_out(environment: &Environment, groups: &[String]) -> anyhow::Result<()> {
    let (servers, chroot) = (&environment.servers, &environment.chroot);
    let access = &environment.access;
    let session = ZkSession::connect_as(access, &access.connect_string(servers, ""), admin::TIMEOUT).await;
    let session = session.context("the ensemble gave the coordinator no session")?;
    driver::lay_out(&session, chroot, groups).await.with_context(|| format!("creating the elections of {chroot}"))
}

/// Starts the observer and measures its weight. Without candidates there is nothing to observe.
async fn observe(live: &LiveCell) -> anyhow::Result<()> {
    let environment = &live.environment;
    if live.state.cell.groups > 0 {
        let segment = environment.archive.borrow_mut().add_segment("observer")?;
        live.watching.replace(Some(Watching::begin(&live.state.cell, environment, &segment).await?));
        observer_weight::measure(environment, &live.journal).await;
    }
    Ok(())
}

fn host_set_ups(live: &LiveCell) -> anyhow::Result<BTreeMap<u16, HostSetUp>> {
    let (cell, environment) = (&live.state.cell, &live.environment);
    let mut candidates: BTreeMap<u16, Vec<(u32, u32, String)>> = BTreeMap::new();
    for (cand, &(group, host)) in live.state.leaders.borrow().placement().iter().enumerate() {
        let path = format!("{ROOT}/{}", cell.group_names[group as usize]);
        candidates.entry(host).or_default().push((cand as u32, group, path));
    }
    let mut set_ups = BTreeMap::new();
    for (host, candidates) in candidates {
        let servers =
            environment.links.as_ref().map_or_else(|| environment.servers.clone(), |links| links.endpoints(host));
        let writer = writer_name(host, 0);
        let set_up = HostSetUp {
            cell: cell.index,
            cluster: environment.access.connect_string(&servers, &environment.chroot),
            access: environment.access.clone(),
            recipe: cell.recipe,
            step_down: cell.step_down,
            timeout_ms: cell.session_timeout_ms,
            poll_interval_ms: cell.poll_interval_ms,
            work_interval_ms: cell.work_interval_ms,
            rejoin_after_ms: cell.rejoin_after_ms,
            connect_concurrency: cell.connect_concurrency,
            sessions: cell.sessions,
            seed: environment.seed,
            candidates,
            segment: environment.archive.borrow_mut().add_segment(&writer)?,
            writer,
        };
        set_ups.insert(host, set_up);
    }
    Ok(set_ups)
}
