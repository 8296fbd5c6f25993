//! `hustings run --dry-run`: the plan of a run, and what the servers of `--connect` report about themselves.

use hustings_record::words::{first_few, plural};
use hustings_workloads::scenario::{Cell, ExternalServers, PlanView, Scenario, explain_as};

use crate::console::exit::{Exit, Failure};
use crate::console::output::{inform, say};
use crate::coordinator::{CellSelection, ComparisonBase, RunError, corrected_by};
use crate::ensemble::external::{ReportedServers, connections_needed};
use crate::ensemble::start::{EnsembleRequest, ExternalRequest};

/// Shows the plan: a line for each cell, and if there is only one, or if `verbose`, when each fault hits. External
/// servers are asked about themselves first, and nothing is changed there. Of local ones the installation is looked for.
pub(super) async fn dry(
    request: &EnsembleRequest,
    own: &CellSelection,
    against: Option<&ComparisonBase>,
    seed: u64,
    verbose: bool,
) -> Result<Exit, Failure> {
    let cells = own.all(against, Clone::clone).map_err(Failure::usage)?;
    let is_brief = !verbose && cells.iter().filter(|cell| !cell.self_test && !cell.is_base()).count() > 1;
    let show = |scenario: &Scenario, cells: &[Cell], servers: Option<&ExternalServers>| {
        say(explain_as(scenario, cells, seed, PlanView { servers, is_brief }))
    };
    let EnsembleRequest::External(external) = request else {
        show(&own.scenario, &cells, None)?;
        request.check_install().map_err(RunError::from)?;
        return Ok(Exit::Pass);
    };
    match external.ask(Cell::most_sessions(&cells), Cell::largest_group(&cells)).await {
        Ok((servers, usable)) => {
            let (scenario, warnings) = corrected_by(&own.scenario, &servers);
            let cells = own.all(against, |asked| corrected_by(asked, &servers).0).map_err(Failure::usage)?;
            let lines = vec![reported(external, &servers), needed(external, &cells)];
            show(&scenario, &cells, Some(&ExternalServers { lines, warnings }))?;
            usable.map_err(Failure::infrastructure)?;
            Ok(Exit::Pass)
        }
        // The plan is shown all the same: most of it does not depend on the servers.
        Err(error) => {
            announce_assumptions();
            show(&own.scenario, &cells, Some(&not_asked(external, &own.scenario, &cells)))?;
            Err(Failure::infrastructure(error))
        }
    }
}

/// A scenario as it would run on external servers that were asked, and their description.
pub(super) fn as_found(
    external: &ExternalRequest,
    asked: &Scenario,
    servers: &ReportedServers,
) -> (Scenario, ExternalServers) {
    let (scenario, warnings) = corrected_by(asked, servers);
    let lines = vec![reported(external, servers), needed(external, &scenario.cells())];
    (scenario, ExternalServers { lines, warnings })
}

/// Says before a plan that it rests on assumptions. The reason follows as the error that ends the command.
pub(super) fn announce_assumptions() {
    inform!(
        "! the servers could not be asked (the error at the end says why); this plan assumes that they have the scenario's tick and \
         grant its session timeouts"
    );
}

/// The description of external servers that were not asked.
pub(super) fn not_asked(external: &ExternalRequest, scenario: &Scenario, cells: &[Cell]) -> ExternalServers {
    let line = format!(
        "ensemble: {}, external and not asked; the plan assumes the scenario's tick, {} ms",
        first_few(&external.connect),
        cells.first().map_or(scenario.ensemble.tick_ms, |cell| cell.tick_ms)
    );
    ExternalServers { lines: vec![line, needed(external, cells)], warnings: scenario.warnings() }
}

fn reported(external: &ExternalRequest, servers: &ReportedServers) -> String {
    let (least, most) = servers.timeout_bounds_ms;
    let sync = if servers.count == 1 { "it syncs" } else { "they sync" };
    format!(
        "ensemble: {} of ZooKeeper {} at {}, external; tick {} ms, session timeouts from {least} to {most} ms; \
         whether {sync} to disk is not known",
        plural(servers.count.into(), "server", "servers"),
        servers.version,
        first_few(&external.connect),
        servers.tick_ms
    )
}

/// What the servers must allow, whether they do or not.
fn needed(external: &ExternalRequest, cells: &[Cell]) -> String {
    format!(
        "each server must allow the four-letter words srvr, conf and mntr (4lw.commands.whitelist), and {} connections from this \
         machine (maxClientCnxns)",
        connections_needed(Cell::most_sessions(cells), external.connect.len())
    )
}

#[cfg(test)]
mod tests {
    use hustings_workloads::scenario::ShippedScenario;

    use super::*;
    use crate::access::Access;

    /// How a plan describes this many servers that were not asked, and that were.
    fn described(count: u32) -> [String; 2] {
        let connect = (1..=count).map(|at| format!("zk{at}:2181")).collect();
        let external = ExternalRequest { connect, upstreams: None, toxiproxy: None, access: Access::default() };
        let scenario = ShippedScenario::find("quick").expect("it ships").parse(&[]).expect("a scenario");
        let unasked = not_asked(&external, &scenario, &scenario.cells()).lines.remove(0);
        let version = "3.8.0".to_owned();
        let servers = ReportedServers { count, version, tick_ms: 2_000, timeout_bounds_ms: (4_000, 40_000) };
        [unasked, reported(&external, &servers)]
    }

    #[test]
    fn a_plan_names_the_first_few_of_hundreds_of_servers_and_speaks_of_one_as_one() {
        for line in described(400) {
            assert!(line.contains("zk8:2181 and 392 more, external") && line.len() < 500, "{line}");
        }
        let [_, one] = described(1);
        assert!(one.contains("1 server of ZooKeeper") && one.contains("whether it syncs to disk"), "{one}");
    }
}
