//! Bounds on the ensemble, the sizes and the phases, and names that ZooKeeper accepts.

use std::collections::BTreeSet;

use super::{HOUR_MS, add, within};
use crate::scenario::axis::{Axis, Coordinates};
use crate::scenario::error::Problem;
use crate::scenario::expand::values;
use crate::scenario::schema::Scenario;
use hustings_record::REPETITIONS_MAX;
use hustings_record::words::{is_hidden, quoted};

const NAME_MAX: usize = 200;
const NOT_SHOWN: &str = "has characters that end a line, or hide or reorder text";

/// Bounds on everything in a scenario outside its faults.
pub(super) fn check(scenario: &Scenario, found: &mut Vec<Problem>) {
    let (ensemble, election, phases) = (&scenario.ensemble, &scenario.election, &scenario.phases);
    let name = &scenario.name;
    if name.trim().is_empty() || name.chars().count() > NAME_MAX || !name.chars().all(is_shown) {
        let remedy = format!("give it 1 to {NAME_MAX} printable characters");
        add(found, "name", "is empty, too long or not printable", remedy);
    }
    if !scenario.summary.chars().all(is_shown) {
        add(found, "summary", NOT_SHOWN, "write one line without them");
    }
    for name in scenario.faults.keys().filter(|name| !name.chars().all(is_shown)) {
        add(found, "faults", format!("{}: {NOT_SHOWN}", quoted(name)), "choose another name");
    }
    for (place, entry) in (1..).zip(&scenario.expect) {
        if entry.because.iter().flat_map(|because| because.chars()).any(|c| c != '\n' && c != '\t' && !is_shown(c)) {
            add(found, &format!("expect[{place}].because"), NOT_SHOWN, "leave them out");
        }
    }
    if scenario.seed.is_some_and(|seed| i64::try_from(seed).is_err()) {
        add(found, "seed", "is too large", "choose 0 to 9223372036854775807");
    }
    within(found, "repeat", scenario.repeat.into(), 1, REPETITIONS_MAX.into());
    within(found, "further_rounds", scenario.further_rounds.into(), 0, REPETITIONS_MAX.into());
    within(found, "ensemble.warm_up_ms", ensemble.warm_up_ms, 0, HOUR_MS);
    for (key, limit) in [("ensemble.init_limit", ensemble.init_limit), ("ensemble.sync_limit", ensemble.sync_limit)] {
        if let Some(limit) = limit {
            within(found, key, limit.into(), 1, 10_000);
        }
    }
    within(found, "ensemble.watch_ms", ensemble.watch_ms, 5, 10_000);
    within(found, "election.poll_interval_ms", election.poll_interval_ms, 1, HOUR_MS);
    within(found, "election.connect_concurrency", election.connect_concurrency.into(), 1, 10_000);
    within(found, "election.rejoin_after_ms", election.rejoin_after_ms, 0, HOUR_MS);
    within(found, "phases.enrol_max_ms", phases.enrol_max_ms, 1_000, HOUR_MS);
    within(found, "phases.warm_up_ms", phases.warm_up_ms, 0, HOUR_MS);
    within(found, "phases.drain_max_ms", phases.drain_max_ms, 1, HOUR_MS);
    if phases.drain_ms > phases.drain_max_ms {
        add(found, "phases.drain_ms", "is longer than phases.drain_max_ms", "raise the one or lower the other");
    }
    sizes(scenario, found);
    names(&election.group_names, "election.group_names", found);
    names(&election.host_names, "election.host_names", found);
}

/// Whether it stands in a line as it was written.
fn is_shown(c: char) -> bool {
    !c.is_control() && !is_hidden(c) && !matches!(c, '\u{2028}' | '\u{2029}')
}

/// Values that may be varied, wherever they are given.
fn sizes(scenario: &Scenario, found: &mut Vec<Problem>) {
    let names = std::iter::once("matrix".to_owned()).chain((1..).map(|place| format!("also[{place}]")));
    names.zip(scenario.matrices()).for_each(|(name, matrix)| sizes_of(&name, matrix, scenario, found));
}

fn sizes_of(name: &str, matrix: &Coordinates, scenario: &Scenario, found: &mut Vec<Problem>) {
    let (ensemble, election) = (&scenario.ensemble, &scenario.election);
    let section = |told: bool, otherwise: &'static str| if told { name.to_owned() } else { otherwise.to_owned() };
    let counts = values(&matrix.servers, ensemble.servers);
    for count in counts.into_iter().filter(|count| ![1, 3, 5].contains(count)) {
        let key = format!("{}.servers", section(matrix.servers.is_some(), "ensemble"));
        add(found, &key, format!("{count} servers"), "choose 1, 3 or 5");
    }
    let mut each_of = |otherwise_in, field: &str, axis: Option<Vec<u64>>, otherwise: u64, least: u64, most: u64| {
        let section = section(axis.is_some(), otherwise_in);
        for value in axis.unwrap_or_else(|| vec![otherwise]) {
            within(found, &format!("{section}.{field}"), value, least, most);
        }
    };
    each_of("ensemble", "tick_ms", wide(&matrix.tick_ms), ensemble.tick_ms, 10, 60_000);
    let mut each = |field: &str, axis, otherwise, least, most| each_of("election", field, axis, otherwise, least, most);
    // Without groups there are no candidates: such a cell tests only its servers.
    each("groups", wide(&matrix.groups), election.groups.into(), 0, 100_000);
    each("hosts", wide(&matrix.hosts), election.hosts.into(), 1, 1_000);
    let candidates = u64::from(election.candidates_per_group);
    each("candidates_per_group", wide(&matrix.candidates_per_group), candidates, 1, 10_000);
    each("session_timeout_ms", wide(&matrix.session_timeout_ms), election.session_timeout_ms, 100, 600_000);
    each("work_interval_ms", wide(&matrix.work_interval_ms), election.work_interval_ms, 1, HOUR_MS);
}

fn wide<T: Copy + Into<u64>>(axis: &Option<Axis<T>>) -> Option<Vec<u64>> {
    axis.as_ref().map(|axis| axis.0.iter().map(|value| (*value).into()).collect())
}

/// Names become znodes: ZooKeeper accepts any printable name without a slash that is not one of its own.
fn names(given: &[String], key: &str, found: &mut Vec<Problem>) {
    let mut seen = BTreeSet::new();
    for name in given {
        let why = if name.is_empty() {
            "an empty name"
        } else if name.contains('/') {
            "has a slash, which would make another level of znodes"
        } else if name.chars().any(|c| c.is_control() || ('\u{fff0}'..='\u{ffff}').contains(&c)) {
            "has characters that ZooKeeper refuses in a path"
        } else if !name.chars().all(is_shown) {
            NOT_SHOWN
        } else if [".", "..", "zookeeper"].contains(&name.as_str()) {
            "is a name that ZooKeeper keeps for itself"
        } else if name.chars().count() > NAME_MAX {
            "is too long"
        } else if !seen.insert(name) {
            "is given twice"
        } else {
            continue;
        };
        add(found, key, format!("{}: {why}", quoted(name)), "choose another name");
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::Scenario;

    fn refusal(text: &str) -> Option<String> {
        Scenario::parse(text, "x.toml", &[]).err().map(|error| error.to_string())
    }

    #[test]
    fn no_name_hides_or_reorders_text() {
        for odd in ["\u{202e}", "\u{200b}", "\u{2066}", "\u{feff}", "\u{2028}"] {
            for (text, key) in [
                (format!("name = \"a{odd}b\"\n"), "name: "),
                (format!("name = \"x\"\nsummary = \"a{odd}b\"\n"), "summary: "),
                (format!("name = \"x\"\n[faults.\"a{odd}b\"]\nkind = \"resign\"\n"), "faults: "),
                (format!("name = \"x\"\n[[expect]]\nbecause = \"a{odd}b\"\n"), "expect[1].because: "),
                (
                    format!("name = \"x\"\n[election]\ngroups = 1\ngroup_names = [\"a{odd}b\"]\n"),
                    "election.group_names: ",
                ),
            ] {
                let told = refusal(&text).unwrap_or_default();
                assert!(told.starts_with(&format!("x.toml: {key}")), "{text:?}: {told}");
            }
        }
    }

    #[test]
    fn names_of_any_script_and_reasons_of_several_lines_are_accepted() {
        let text = "name = \"größe 選挙 שם\"\nsummary = \"🗳 ü\"\n[[expect]]\nbecause = \"\"\"a\n\tb\"\"\"\n";
        assert_eq!(refusal(text), None);
    }
}
