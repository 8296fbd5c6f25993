//! Checks the programs of a run before anything is started.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail};
use hustings_workloads::adapters::Adapter;
use hustings_workloads::scenario::{
    Cell, ForeignSpec, RESOURCE_PLACEHOLDER, Scenario, says_where_to_write, uses_placeholders,
};
use tokio::process::Command;

use crate::process::installed;

/// Time limit for `--version`, which normally takes far less.
const SAYS_WITHIN: Duration = Duration::from_secs(10);

/// Checks that the programs of these cells can be started. The run writes out shipped adapters, so they are skipped.
pub(super) fn can_be_started(cells: &[Cell]) -> anyhow::Result<()> {
    let own = cells.iter().filter_map(|cell| Some((cell, cell.program.as_ref()?)));
    for (cell, program) in own.filter(|(_, program)| Adapter::of(&program.command).is_none()) {
        is_there(&program.command).with_context(|| format!("cell {}", cell.name))?;
    }
    Ok(())
}

/// Refuses a program that does not speak the protocol in a scenario with several candidates a host, and names everything
/// that the command line lacks. `set`: the option that changes the scenario.
pub(super) fn holds_one_candidate(
    option: &str,
    spec: &ForeignSpec,
    scenario: &Scenario,
    set: &str,
) -> anyhow::Result<()> {
    let cells = scenario.cells();
    let several = cells.iter().find(|cell| cell.candidates() > u64::from(cell.hosts));
    let Some(cell) = several.filter(|_| uses_placeholders(&spec.command)) else { return Ok(()) };
    let size = cell.candidates_per_group.min(cell.hosts.into());
    let to_set = |key: &str, is_varied: bool, value: u32| {
        let section = if is_varied { "matrix" } else { "election" };
        format!("{set} {section}.{key}={value}")
    };
    let matrix = &scenario.matrix;
    let sets = [
        to_set("groups", matrix.groups.is_some(), 1),
        to_set("hosts", matrix.hosts.is_some(), size),
        to_set("candidates_per_group", matrix.candidates_per_group.is_some(), size),
    ];
    let url = format!(", and {RESOURCE_PLACEHOLDER} to its command, the URL to which it POSTs while it leads");
    let resource = if says_where_to_write(&spec.command) { "" } else { url.as_str() };
    bail!(
        "{option}: {} does not speak the protocol (its command has placeholders), so each of its processes holds one candidate, \
         and the scenario has {} candidates on {} hosts; add {}{resource}",
        spec.command[0],
        cell.candidates(),
        cell.hosts,
        sets.join(" ")
    )
}

/// Checks that a command names a program that can be started.
pub(super) fn is_there(command: &[String]) -> anyhow::Result<()> {
    match command.first() {
        // A path with a placeholder for a folder of the run exists only once the run has begun.
        Some(name) if !name.contains('{') && installed::program(name).is_none() => {
            if name.contains('/') && Path::new(name).is_file() {
                bail!("{name} is not executable; `chmod +x` makes it so, or name what runs it, as in `python3 {name}`");
            }
            let at = if name.contains('/') { "at that path" } else { "in PATH" };
            bail!("there is no program {name:?} {at}")
        }
        _ => Ok(()),
    }
}

/// Checks by its version output that the program is hustings.
pub(super) async fn is_of_ours(exe: &Path) -> anyhow::Result<()> {
    let what = || format!("{} is no hustings that can be started", exe.display());
    let mut command = Command::new(exe);
    command.arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let said = tokio::time::timeout(SAYS_WITHIN, command.output()).await;
    let said = said.with_context(|| format!("{}: it does not say its version", what()))?.with_context(what)?.stdout;
    if !said.starts_with(b"hustings ") {
        bail!(what());
    }
    Ok(())
}
