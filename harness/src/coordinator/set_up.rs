//! Sets a cell up: its znodes, its links, its observer, its hosts.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use hustings_record::FaultKind;
use hustings_workloads::driver::{self, Backend as _};
use hustings_workloads::scenario::{Cell, POLICY_BY_COMMAND, ROOT, placeholder};

use crate::client::session::ZkSession;
use crate::coordinator::cell_hosts::{CellHost, writer_name};
use crate::coordinator::ensemble_waits::unless_given_up;
use crate::coordinator::environment::Environment;
use crate::coordinator::interruption::CellInterruption;
use crate::coordinator::live_cell::LiveCell;
use crate::coordinator::observer_task::ObserverTask;
use crate::coordinator::retry::retry_until_success;
use crate::coordinator::{admin, observer_weight};
use crate::files::write_error::WriteError;
use crate::foreign::adapters::{BUILD_VARIABLE, build_folder, plain_sleep};
use crate::foreign::faketime;
use crate::foreign::words::fill;
use crate::protocol::{HostCandidates, HostSetUp, ProgramSetUp};
use crate::witness::HostSlots;

/// Sets up everything that a cell needs before its hosts are started.
pub(super) async fn set_up(live: &LiveCell) -> Result<(), CellInterruption> {
    let (cell, environment) = (&live.state.cell, &live.environment);
    // A cancelled layout leaves only znodes of a chroot that no other cell uses.
    tokio::select! {
        laid_out = retry_until_success(async |_| lay_out(environment, &cell.group_names).await) => laid_out?,
        why = live.cut_short() => return Err(why),
    }
    let mut add_segment = |writer: &str| environment.archive.borrow_mut().add_segment(writer);
    let begun = environment.ensemble.begin_cell(cell.index, &mut add_segment);
    unless_given_up(environment.interrupt.first(), begun).await.ok_or(CellInterruption::Interrupted)??;
    if let Some(links) = &environment.links {
        let populated = links.populate(&cell.host_names, &environment.upstreams, &environment.servers).await;
        populated.map_err(anyhow::Error::from)?;
        let slots_of_hosts = if cell.witness { Some(slots_of_hosts(live)?) } else { None };
        links.begin_cell(cell.index, &mut add_segment, slots_of_hosts)?;
    }
    tokio::select! {
        observing = observe(live) => observing?,
        why = live.cut_short() => return Err(why),
    }
    let set_ups = host_set_ups(live)?;
    live.hosts.by_number.replace(set_ups.into_iter().map(|(host, set_up)| (host, CellHost::new(set_up))).collect());
    Ok(())
}

/// The candidates behind each host's links, for the decoders on these links.
fn slots_of_hosts(live: &LiveCell) -> anyhow::Result<BTreeMap<u16, HostSlots>> {
    if !live.environment.links.as_ref().is_some_and(|links| links.is_embedded()) {
        bail!("only links of hustings' own read along on what passes: leave --toxiproxy out, or election.witness");
    }
    let (cell, environment) = (&live.state.cell, &live.environment);
    let root = format!("{}{}", environment.access.chroot, environment.chroot);
    let queue = cell.lead_node().is_queue();
    let mut hosts: BTreeMap<u16, HostSlots> = BTreeMap::new();
    for (cand, &(group, host)) in (0..).zip(live.state.leaders.borrow().placement()) {
        let of_host = hosts.entry(host).or_insert_with(|| HostSlots { candidates: Vec::new(), queue });
        of_host.candidates.push((cand, format!("{root}{}", cell.path(group))));
    }
    Ok(hosts)
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
        live.watching.replace(Some(ObserverTask::begin(&live.state.cell, environment, &segment).await?));
        observer_weight::measure(environment, &live.journal).await;
    }
    Ok(())
}

fn host_set_ups(live: &LiveCell) -> anyhow::Result<BTreeMap<u16, HostSetUp>> {
    let (cell, environment) = (&live.state.cell, &live.environment);
    let mut candidates: BTreeMap<u16, Vec<(u32, u32, String)>> = BTreeMap::new();
    for (cand, &(group, host)) in (0..).zip(live.state.leaders.borrow().placement()) {
        let path = format!("{ROOT}/{}", cell.group_names[group as usize]);
        candidates.entry(host).or_default().push((cand, group, path));
    }
    let stands = stands(cell, environment)?;
    let mut set_ups = BTreeMap::new();
    for (host, candidates) in candidates {
        let servers =
            environment.links.as_ref().map_or_else(|| environment.servers.clone(), |links| links.endpoints(host));
        let writer = writer_name(host, 0);
        let stands = with_wall_clock(stands.clone(), host, cell, environment)?;
        let set_up = HostSetUp {
            cell: cell.index,
            cluster: environment.access.connect_string(&servers, &environment.chroot),
            access: environment.access.clone(),
            stands,
            equal_paths: cell.equal_paths,
            step_down: cell.policy().unwrap_or(cell.step_down),
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

/// A recipe, or a program with the known values filled into its command.
fn stands(cell: &Cell, environment: &Environment) -> anyhow::Result<HostCandidates> {
    if let Some(recipe) = cell.recipe.own() {
        return Ok(HostCandidates::Recipe(recipe));
    }
    let program = cell.program.as_ref().with_context(|| format!("there is no program {}", cell.recipe))?;
    let known = [
        (placeholder::ADAPTERS, environment.adapters.display().to_string()),
        (
            placeholder::HUSTINGS,
            std::env::current_exe().context("this executable cannot be found")?.display().to_string(),
        ),
        (POLICY_BY_COMMAND, cell.step_down.to_string()),
        (placeholder::POLL_INTERVAL_MS, cell.poll_interval_ms.to_string()),
    ];
    let config = program.config.iter().map(|(key, value)| Ok((key.clone(), serde_json::to_value(value)?)));
    Ok(HostCandidates::Program(ProgramSetUp {
        name: program.name.clone(),
        command: fill(&program.command, &known),
        speaks: program.speaks(),
        queue: cell.lead_node().is_queue(),
        config: config.collect::<anyhow::Result<_>>()?,
        wall_clock: None,
        environment: BTreeMap::from([(
            BUILD_VARIABLE.to_owned(),
            build_folder(&environment.adapters).display().to_string(),
        )]),
    }))
}

/// If clocks jump in this cell, starts a program under libfaketime, which reads the wall clock from a file of its host.
fn with_wall_clock(
    mut stands: HostCandidates,
    host: u16,
    cell: &Cell,
    environment: &Environment,
) -> anyhow::Result<HostCandidates> {
    let steps = cell.kinds().any(|kind| kind == FaultKind::ClockStep);
    let HostCandidates::Program(program) = &mut stands else { return Ok(stands) };
    if !steps {
        return Ok(stands);
    }
    let library =
        faketime::library().context("clock-step on a program needs libfaketime: install Debian's libfaketime")?;
    let file = environment.adapters.join(format!("wall-clock-{}-{host}", cell.index));
    std::fs::write(&file, "+0\n").map_err(WriteError::temporary(&file))?;
    program.environment.extend(faketime::environment(&plain_sleep(&environment.adapters), &library, &file));
    program.wall_clock = Some(file);
    Ok(stands)
}
