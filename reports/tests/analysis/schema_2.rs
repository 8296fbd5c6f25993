//! Records that were written under schema 2 come to the figures that the program of that time found in them.

use std::path::Path;

use hustings_record::{EnsembleKind, Record, SCHEMA, WarningKind};
use hustings_reports::analysis::summarise;
use hustings_reports::summary::Summary;
use serde_json::Value;

/// Where the main figures of a cell stood, and where they stand. What means something else by now is left out: a resignation
/// counts from the end of belief, every loss is a sample of every phase, below 100 samples there is no p99, quantiles are
/// samples, bounds count strikes, owners that did not believe count in the measured window alone, and losers that had died overlap
/// with nobody.
const FIGURES: [(&str, &str); 29] = [
    ("/verdict", "/verdict"),
    ("/unsafe_as_expected", "/unsafe_as_expected"),
    ("/timeout_ms", "/timeout_ms"),
    ("/handovers/completed", "/handovers/completed"),
    ("/handovers/censored", "/handovers/censored"),
    ("/handovers/unplanned", "/handovers/unplanned"),
    ("/failover/n", "/failover/whole/n"),
    ("/act/max", "/failover/act/max"),
    ("/floor/max", "/failover/floor/max"),
    ("/excess/over_floor/max", "/failover/excess/over_floor/max"),
    ("/fan_out/losses", "/fan_out/losses"),
    ("/fan_out/woken", "/fan_out/woken"),
    ("/fan_out/promised", "/fan_out/promised"),
    ("/fan_out/clients_saw", "/deletion_watches/clients_saw"),
    ("/fan_out/servers_say", "/deletion_watches/servers_say"),
    ("/split_brain/active/seen", "/split_brain/active/seen"),
    ("/writes/total", "/writes/total"),
    ("/writes/unfenced/seen", "/writes/unfenced/seen"),
    ("/writes/fenced_off", "/writes/fenced_off"),
    ("/writes/past_fence/seen", "/writes/past_fence/seen"),
    ("/writes/on_waking", "/writes/on_waking"),
    ("/leaderless/share", "/leaderless/share"),
    ("/leaderless/longest_ns", "/leaderless/longest_ns"),
    ("/leaderless/groups_at_end", "/leaderless/groups_at_end"),
    ("/ownership/blind_ns", "/ownership/blind_ns"),
    ("/ownership/zombies", "/ownership/zombies"),
    ("/ownership/zombie_max_ns", "/ownership/zombie_max_ns"),
    ("/elections", "/ensemble/elections"),
    ("/watch", "/ensemble/watch"),
];

/// The record of this name as it is read now, and the summary that was written with it.
fn read(name: &str) -> (Summary, Value) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let text = std::fs::read_to_string(folder.join("summary.json")).expect("the summary of that time");
    let record = Record::read(&folder).expect("a record of schema 2");
    assert_eq!(record.manifest.schema, SCHEMA, "it is in today's words");
    (summarise(&record), serde_json::from_str(&text).expect("JSON"))
}

fn agree(name: &str) {
    let (summary, then) = read(name);
    let now = serde_json::to_value(&summary).expect("JSON");
    assert_eq!(now["verdict"], then["verdict"], "{name}");
    let (now, then) = (now["cells"].as_array().expect("cells"), then["cells"].as_array().expect("cells"));
    assert_eq!(now.len(), then.len(), "{name}");
    for (now, then) in now.iter().zip(then) {
        let cell = &now["info"]["name"];
        for (stood, stands) in FIGURES {
            let (was, is) = (then.pointer(stood).map(plain), now.pointer(stands).map(plain));
            assert_eq!(is.unwrap_or(Value::Null), was.unwrap_or(Value::Null), "{name}, {cell}: {stands}");
        }
        let verdicts = |cell: &Value| -> Vec<(Value, Value)> {
            let checks = cell["checks"].as_array().expect("checks").iter();
            checks.map(|check| (check["name"].clone(), check["verdict"].clone())).collect()
        };
        let (now, then) = (verdicts(now), verdicts(then));
        // Checkers that there were not then have said nothing.
        assert!(then.iter().all(|word| now.contains(word)), "{name}, {cell}: {now:?} and {then:?}");
    }
}

/// Fractions to nine digits: how they are computed may change the last ones.
fn plain(value: &Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64().unwrap_or(f64::NAN) {
            whole if whole.fract() == 0.0 => format!("{whole:.0}").into(),
            fraction => format!("{fraction:.9e}").into(),
        },
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), plain(value))).collect(),
        other => other.clone(),
    }
}

#[test]
fn failovers_of_a_crash_and_of_resignations_are_what_they_were() {
    agree("schema-2-quick");
    let (summary, _) = read("schema-2-quick");
    assert!(summary.cells.iter().all(|cell| cell.handovers.completed > 5 && cell.fan_out.woken.is_some()));
    assert_eq!(summary.manifest.ensemble_kind, EnsembleKind::Simulated);
    assert_eq!(summary.manifest.warnings[0].kind, WarningKind::Modelled);
}

#[test]
fn elections_of_servers_are_what_they_were() {
    agree("schema-2-sequential-start");
    let (summary, _) = read("schema-2-sequential-start");
    assert!(summary.cells.iter().all(|cell| !cell.ensemble.elections.is_empty() && !cell.info.has_candidates()));
}
