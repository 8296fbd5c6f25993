//! Corrects the scenario by the properties of the ensemble found. For external servers, their actual number and tick
//! count, not those that the scenario asks for.

use hustings_record::words::plural;
use hustings_record::{Warning, WarningKind};
use hustings_workloads::scenario::Scenario;

use crate::ensemble::Ensemble;
use crate::ensemble::external::ReportedServers;

/// The scenario with the ensemble's own figures, and warnings for the user.
pub(super) fn corrected(asked: &Scenario, ensemble: &dyn Ensemble) -> (Scenario, Vec<Warning>) {
    let servers = u32::try_from(ensemble.servers().len()).unwrap_or(u32::MAX);
    match ensemble.tick_ms() {
        None => (asked.clone(), asked.warnings()),
        Some(tick_ms) => correct(asked, servers, tick_ms, ensemble.timeout_bounds_ms()),
    }
}

/// As [`corrected`], for servers of somebody else before a run.
pub(crate) fn corrected_by(asked: &Scenario, servers: &ReportedServers) -> (Scenario, Vec<Warning>) {
    correct(asked, servers.count, servers.tick_ms, Some(servers.timeout_bounds_ms))
}

fn correct(asked: &Scenario, servers: u32, tick_ms: u64, bounds: Option<(u64, u64)>) -> (Scenario, Vec<Warning>) {
    let mut found = asked.clone();
    found.ensemble.servers = servers;
    found.ensemble.tick_ms = tick_ms;
    let mut told = Vec::new();
    let was = &asked.ensemble;
    if was.servers != servers {
        let asked = plural(was.servers.into(), "server", "servers");
        let text = format!("the scenario asks for {asked} and the ensemble has {servers}: those count");
        told.push(Warning::new(WarningKind::AsFound, text));
    }
    if was.tick_ms != tick_ms {
        let text = format!(
            "the scenario asks for a tick of {} ms and the servers say {tick_ms} ms: that one counts",
            was.tick_ms
        );
        told.push(Warning::new(WarningKind::AsFound, text));
    }
    match bounds {
        // The scenario itself warns of bounds that follow from the tick.
        Some((least, most)) if (least, most) != (2 * tick_ms, 20 * tick_ms) => {
            let own = found.warnings().into_iter();
            told.extend(own.filter(|warning| warning.kind != WarningKind::TimeoutNotGranted));
            told.extend(clamped(&found, least, most));
        }
        _ => told.extend(found.warnings()),
    }
    (found, told)
}

fn clamped(scenario: &Scenario, least: u64, most: u64) -> Vec<Warning> {
    let asked: std::collections::BTreeSet<u64> = scenario.cells().iter().map(|cell| cell.session_timeout_ms).collect();
    let outside = asked.into_iter().filter(|asked| *asked < least || *asked > most);
    let told = outside.map(|asked| {
        let text = format!(
            "a session timeout of {asked} ms is not within {least} and {most} ms (the servers' minSessionTimeout and \
             maxSessionTimeout): the ensemble grants {} ms, and everything is measured by that; faults last as their lengths \
             in T would by the tick",
            asked.clamp(least, most.max(least))
        );
        Warning::new(WarningKind::TimeoutNotGranted, text)
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use hustings_record::Warning;
    use hustings_workloads::scenario::Scenario;

    use super::correct;

    /// The warnings for a T of 1 s and a tick of 100 ms on such an ensemble, and the tick of its cells.
    fn told(servers: u32, tick_ms: u64, bounds: (u64, u64)) -> (Vec<Warning>, u64) {
        let text = "name = \"x\"\n[ensemble]\nservers = 3\ntick_ms = 100\n[election]\nsession_timeout_ms = 1000\n";
        let asked = Scenario::parse(text, "x", &[]).expect("a scenario");
        let (found, told) = correct(&asked, servers, tick_ms, Some(bounds));
        assert!(found.cells().iter().all(|cell| cell.servers == servers));
        (told, found.cells()[0].tick_ms)
    }

    #[test]
    fn what_the_ensemble_has_counts_and_is_told_where_it_differs() {
        assert_eq!(told(3, 100, (200, 2_000)), (Vec::new(), 100));
        let (warnings, tick_ms) = told(5, 200, (400, 4_000));
        assert_eq!(tick_ms, 200);
        assert!(
            warnings.len() == 2 && warnings[0].text.contains("has 5") && warnings[1].text.contains("say 200 ms"),
            "{warnings:?}"
        );
    }

    #[test]
    fn a_timeout_that_the_servers_do_not_grant_is_told_once_with_what_they_grant() {
        let (by_the_tick, _) = told(3, 2_000, (4_000, 40_000));
        assert!(
            by_the_tick.iter().filter(|warning| warning.text.contains("grants 4000 ms")).count() == 1,
            "{by_the_tick:?}"
        );
        let (by_setting, _) = told(3, 2_000, (1_500, 40_000));
        let clamped: Vec<_> = by_setting.iter().filter(|warning| warning.text.contains("grants")).collect();
        assert!(clamped.len() == 1 && clamped[0].text.contains("1500 ms"), "{by_setting:?}");
        assert_eq!(told(3, 100, (500, 2_000)).0, Vec::<Warning>::new(), "within bounds of their own");
    }
}
