//! Every key of a scenario has an effect: a key that is read and validated but never used breaks a promise.

use std::collections::BTreeSet;

use hustings_record::FaultKind;
use hustings_workloads::plan::plan;
use hustings_workloads::scenario::{Overrides, Scenario, explain};
use toml::{Table, Value};

/// A scenario with every key.
const FULL: &str = r#"
name = "full"
summary = "one"
analysis = "two"
seed = 1
repeat = 2
further_rounds = 3
allow_broken = true

[ensemble]
servers = 3
tick_ms = 200
fsync = false
init_limit = 50
sync_limit = 10
warm_up_ms = 100
watch_ms = 20

[election]
recipe = "naive"
step_down = "on-expiry"
groups = 4
hosts = 5
candidates_per_group = 3
session_timeout_ms = 2000
sessions = "per-candidate"
work_interval_ms = 50
resource = "unfenced"
fencing = "resource"
links = "auto"
witness = false
paths = "auto"
poll_interval_ms = 200
group_names = ["a", "b", "c", "d", "e"]
host_names = ["v", "w", "x", "y", "z", "u"]
connect_concurrency = 8
rejoin_after_ms = 200

[phases]
enrol_max_ms = 30000
warm_up_ms = 500
drain_ms = 500
drain_max_ms = 15000

[faults.slow]
kind = "slow"
for_ms = 900
latency_ms = 30
jitter_ms = 5
rate_kb = 100
direction = "up"
target = "host"
hosts = 1
repeat = 2
every_ms = 9000
allow_majority = false
with = "cut"
with_after_ms = 100

[faults.cut]
kind = "partition"
for_t = 2.0
target = "share"
share = 0.2
servers = [3]
moment = "won"

[faults.go]
kind = "resign"
target = "followers"
groups = 2

[faults.kill]
kind = "server-kill"
target = "servers"
servers = [1]
for_ms = 500

[faults.again]
kind = "server-restart-all"
order = [3, 2, 1]
gap_ms = 700
empty = false
behind = [1]

[faults.jump]
kind = "clock-step"
for_ms = 800
step_ms = 60000

[foreign.mine]
command = ["./mine"]
lead = "queue"
leader_wakes = "one"
follower_wakes = "none"
requests_per_wake_max = 3
watches_max = 2
step_down = "on-expiry"
config = { policy = "session" }

[foreign.latch]
adapter = "curator-latch"

[foreign.elector]
command = ["./elect"]
lock = "active"

[matrix]
servers = [3]
tick_ms = [200]
work_interval_ms = [50]
recipe = ["naive"]
step_down = ["on-expiry"]
session_timeout_ms = [2000]
groups = [4]
hosts = [5]
candidates_per_group = [3]
fault = ["slow", "cut", "go", "kill", "again"]
resource = ["unfenced"]
fencing = ["resource"]
sessions = ["per-candidate"]

[[also]]
recipe = ["poll-race"]
sessions = ["per-candidate"]
candidates_per_group = [2]
fault = ["go"]

[[also]]
recipe = ["foreign:mine", "foreign:latch", "foreign:elector"]
sessions = ["per-candidate"]
fault = ["jump"]

[self_test]
recipe = "broken:no-relist"
fault = "go"

[[expect]]
overlap = "some"
overlap_of_t_max = 0.5
stale_writes = "some"
unplanned = "any"
handovers = "any"
hung_leads = "any"
fan_out = "all-others"
server_leader = 2
because = "why"
[expect.when]
servers = [3]
tick_ms = [200]
work_interval_ms = [50]
recipe = ["naive"]
step_down = ["on-expiry"]
session_timeout_ms = [2000]
groups = [4]
hosts = [5]
candidates_per_group = [3]
fault = ["again", "kill"]
resource = ["unfenced"]
fencing = ["resource"]
sessions = ["per-candidate"]
"#;

/// Another value for a key, where one cannot be derived from its current value.
const OTHERS: &[(&str, &str)] = &[
    ("ensemble.servers", "5"),
    ("election.recipe", "\"lock-race\""),
    ("election.step_down", "\"on-disconnect\""),
    ("election.sessions", "\"per-host\""),
    ("election.resource", "\"fenced\""),
    ("election.fencing", "\"kill\""),
    ("election.links", "\"always\""),
    ("election.paths", "\"short\""),
    ("foreign.mine.lead", "\"lock\""),
    ("foreign.mine.leader_wakes", "\"all-others\""),
    ("foreign.mine.follower_wakes", "\"one\""),
    ("foreign.mine.step_down", "\"on-disconnect\""),
    ("foreign.latch.adapter", "\"kazoo-lock\""),
    ("faults.slow.kind", "\"disconnect\""),
    ("faults.jump.kind", "\"hang\""),
    ("faults.slow.direction", "\"down\""),
    ("faults.slow.target", "\"host-leading-most\""),
    ("faults.slow.with", "\"go\""),
    ("faults.cut.kind", "\"partition-up\""),
    ("faults.cut.target", "\"host\""),
    ("faults.cut.share", "0.4"),
    ("faults.cut.moment", "\"planned\""),
    ("faults.cut.servers", "[1, 2]"),
    ("faults.go.kind", "\"expire\""),
    ("faults.go.target", "\"leaders\""),
    ("faults.kill.kind", "\"server-pause\""),
    ("faults.kill.target", "\"ensemble-leader\""),
    ("faults.kill.servers", "[2]"),
    ("faults.again.kind", "\"server-kill\""),
    ("faults.again.order", "[1, 2, 3]"),
    ("faults.again.behind", "[2]"),
    ("matrix.servers", "[5]"),
    ("matrix.recipe", "[\"poll-race\"]"),
    ("matrix.step_down", "[\"on-disconnect\"]"),
    ("matrix.fault", "[\"slow\", \"go\", \"again\"]"),
    ("matrix.resource", "[\"fenced\"]"),
    ("matrix.fencing", "[\"none\"]"),
    ("matrix.sessions", "[\"per-host\"]"),
    ("also.recipe", "[\"lock-race\"]"),
    ("also.sessions", "[\"per-host\"]"),
    ("also.fault", "[\"cut\"]"),
    ("self_test.recipe", "\"broken:ignores-session-loss\""),
    ("self_test.fault", "\"kill\""),
    ("expect.overlap", "\"none\""),
    ("expect.stale_writes", "\"none\""),
    ("expect.unplanned", "\"none\""),
    ("expect.handovers", "\"some\""),
    ("expect.hung_leads", "\"some\""),
    ("expect.when.recipe", "[\"lock-race\"]"),
    ("expect.when.step_down", "[\"on-disconnect\"]"),
    ("expect.when.fault", "[\"kill\"]"),
    ("expect.when.resource", "[\"fenced\"]"),
    ("expect.when.fencing", "[\"kill\"]"),
    ("expect.when.sessions", "[\"per-host\"]"),
];

/// Other changes that a change of the key needs: removal of keys that are only valid with its old value, or of the
/// matrix axis that overrides it.
fn beside(key: &str) -> &'static [&'static str] {
    match key {
        "faults.slow.kind" => &[
            "faults.slow.for_ms",
            "faults.slow.latency_ms",
            "faults.slow.jitter_ms",
            "faults.slow.rate_kb",
            "faults.slow.direction",
        ],
        "faults.jump.kind" => &["faults.jump.step_ms"],
        "faults.cut.target" => &["faults.cut.share"],
        "faults.kill.target" => &["faults.kill.servers"],
        "faults.again.kind" => {
            &["faults.again.order", "faults.again.gap_ms", "faults.again.empty", "faults.again.behind"]
        }
        "faults.again.empty" => &["faults.again.behind", "expect.when.groups"],
        "election.recipe" => &["matrix.recipe"],
        "election.step_down" => &["matrix.step_down"],
        "election.session_timeout_ms" => &["matrix.session_timeout_ms"],
        "election.groups" => &["matrix.groups"],
        "election.hosts" => &["matrix.hosts"],
        "election.candidates_per_group" => &["matrix.candidates_per_group"],
        "election.resource" => &["matrix.resource"],
        "election.fencing" => &["matrix.fencing"],
        "election.sessions" => &["matrix.sessions"],
        "ensemble.servers" => &["faults.again.order", "matrix.servers"],
        "matrix.servers" => &["faults.again.order"],
        "ensemble.tick_ms" => &["matrix.tick_ms"],
        "election.work_interval_ms" => &["matrix.work_interval_ms"],
        _ => &[],
    }
}

/// Keys for readers, or for the run around the cells.
const NOT_OF_CELLS: [&str; 8] =
    ["name", "summary", "analysis", "seed", "repeat", "further_rounds", "allow_broken", "ensemble.warm_up_ms"];

fn keys(table: &Table, before: &str, found: &mut Vec<String>) {
    for (key, value) in table {
        let path = format!("{before}{key}");
        match value {
            Value::Table(table) => keys(table, &format!("{path}."), found),
            Value::Array(entries) if entries.iter().all(Value::is_table) && !entries.is_empty() => {
                entries.iter().filter_map(Value::as_table).for_each(|table| keys(table, &format!("{path}."), found));
            }
            Value::String(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Boolean(_)
            | Value::Datetime(_)
            | Value::Array(_) => found.push(path),
        }
    }
}

/// The table that contains a key.
fn place<'a>(table: &'a mut Table, path: &[&str]) -> &'a mut Table {
    path.iter().fold(table, |at, key| match at.get_mut(*key).unwrap_or_else(|| panic!("{path:?}")) {
        Value::Array(entries) => entries[0].as_table_mut().unwrap(),
        other => other.as_table_mut().unwrap(),
    })
}

fn without(table: &mut Table, keys: &[&str]) {
    for gone in keys {
        let path: Vec<&str> = gone.split('.').collect();
        let (last, before) = path.split_last().unwrap();
        place(table, before).remove(*last);
    }
}

fn changed(key: &str, from: &Value) -> Value {
    if let Some((_, text)) = OTHERS.iter().find(|(other, _)| *other == key) {
        return format!("x = {text}").parse::<Table>().unwrap().remove("x").unwrap();
    }
    match from {
        Value::String(text) => Value::String(format!("{text}x")),
        Value::Integer(n) => Value::Integer(n + 1),
        Value::Float(n) => Value::Float(n * 0.5),
        Value::Boolean(yes) => Value::Boolean(!yes),
        Value::Array(all) => {
            let other = |value: &Value| changed("", value);
            Value::Array(all.iter().map(other).collect())
        }
        other => panic!("{key}: nothing else than {other} is known here"),
    }
}

/// The result of a scenario: all of its cells and plans, and the text of a dry run.
fn outcome(table: &Table) -> (String, String) {
    let text = toml::to_string(table).unwrap();
    let scenario = Scenario::parse(&text, "full", &[]).unwrap_or_else(|refusal| panic!("{refusal}\n{text}"));
    let cells = scenario.cells();
    let plans: Vec<_> = cells.iter().map(|cell| plan(cell, 3)).collect();
    // The cells' names and contents, without their faults as written: those must show in the plans.
    let cells: Vec<_> = cells
        .into_iter()
        .map(|cell| (cell.kinds().collect::<Vec<FaultKind>>(), cell))
        .map(|(kinds, mut cell)| {
            cell.fault = hustings_workloads::scenario::FaultSpec::none();
            cell.with = None;
            (kinds, cell)
        })
        .collect();
    (
        format!("{cells:?} {plans:?}"),
        format!("{:?} {}", scenario.ensemble, explain(&scenario, &scenario.cells(), scenario.seed.unwrap_or(0))),
    )
}

#[test]
fn every_key_of_a_scenario_changes_what_is_run() {
    let full: Table = FULL.parse().unwrap();
    let scenario = Scenario::parse(FULL, "full", &[]).unwrap_or_else(|refusal| panic!("{refusal}"));
    let mut told = Vec::new();
    keys(&full, "", &mut told);
    let told: BTreeSet<String> = told.into_iter().collect();
    // A new key occurs in the written scenario, or has no value and shows in the next test.
    let mut written = Vec::new();
    keys(&scenario.to_toml().unwrap().parse().unwrap(), "", &mut written);
    let shared = |key: &String| ["repeat", "allow_majority"].iter().any(|shared| key.ends_with(shared));
    let new: Vec<_> = written.into_iter().filter(|key| !told.contains(key) && !shared(key)).collect();
    assert_eq!(new, Vec::<String>::new(), "tell these keys in the full scenario");
    let mut idle = Vec::new();
    // `fan_out` only accepts the recipe's declaration: it repeats that, and changes nothing.
    for key in told.iter().filter(|key| *key != "expect.fan_out") {
        let mut table = full.clone();
        let path: Vec<&str> = key.split('.').collect();
        let (last, before) = path.split_last().unwrap();
        // Another kind or target does not accept these keys, and its own requires them.
        let along = key.ends_with(".kind") || key.ends_with(".target");
        if !along {
            without(&mut table, beside(key));
        }
        if key == "faults.again.empty" {
            // Data is removed only where there are no candidates.
            place(&mut table, &["matrix"]).insert("groups".to_owned(), Value::Array(vec![Value::Integer(0)]));
            place(&mut table, &["matrix"]).insert("fault".to_owned(), Value::Array(vec!["again".into()]));
            table.remove("self_test");
            table.remove("expect");
        }
        let before_change = outcome(&table);
        let at = place(&mut table, before);
        let other = changed(key, &at[*last]);
        at.insert((*last).to_owned(), other);
        if along {
            without(&mut table, beside(key));
        }
        let after = outcome(&table);
        let same =
            if NOT_OF_CELLS.contains(&key.as_str()) { before_change.1 == after.1 } else { before_change.0 == after.0 };
        // These have no effect that a plan shows: one allows a scenario that is otherwise rejected, the other is prose.
        if same && !["allow_broken", "analysis"].contains(&key.as_str()) {
            idle.push(key.clone());
        }
    }
    assert_eq!(idle, Vec::<String>::new(), "these keys change nothing");
}

#[test]
fn every_key_that_is_known_is_told_in_the_full_scenario() {
    let full: Table = FULL.parse().unwrap();
    for (section, path) in [
        ("", "nokey"),
        ("ensemble", "ensemble.nokey"),
        ("election", "election.nokey"),
        ("phases", "phases.nokey"),
        ("faults", "faults.slow.nokey"),
        ("foreign", "foreign.mine.nokey"),
        ("matrix", "matrix.nokey"),
        ("self_test", "self_test.nokey"),
    ] {
        let refusal = Scenario::parse(FULL, "full", &[format!("{path}=1")]).unwrap_err().to_string();
        let known = refusal.split("known are ").nth(1).unwrap_or_else(|| panic!("{refusal}"));
        let mut told = Vec::new();
        match section {
            "" => told.extend(full.keys().cloned()),
            "faults" | "foreign" => {
                let faults = full[section].as_table().unwrap().values();
                told.extend(faults.flat_map(|fault| fault.as_table().unwrap().keys().cloned()));
            }
            other => told.extend(full[other].as_table().unwrap().keys().cloned()),
        }
        for key in known.split(", ") {
            assert!(told.iter().any(|told| told == key), "{section}.{key} is told nowhere in the full scenario");
        }
    }
}

#[test]
fn a_majority_is_taken_out_only_where_it_is_allowed() {
    let most = |allow: bool| {
        let text =
            format!("name = \"x\"\n[faults.a]\nkind = \"pause\"\nfor_ms = 9\nhosts = 4\nallow_majority = {allow}\n");
        Scenario::parse(&text, "x", &[]).map(|scenario| plan(&scenario.cells()[0], 1).faults[0].allow_majority)
    };
    assert_eq!(most(true), Ok(true));
    assert!(most(false).is_err());
}

#[test]
fn an_argument_that_is_wrong_is_quoted_with_the_option_that_gave_it() {
    let wrong = |sets: [(&str, &str); 2]| {
        let sets = sets.map(|(option, set)| (option, [set.to_owned()]));
        let overrides = sets.each_ref().map(|(option, sets)| Overrides { option, sets });
        Scenario::parse_with(FULL, "full.toml", &overrides).unwrap_err().to_string()
    };
    let told = wrong([("--set", "election.rejoin_after_ms=90"), ("--against-set", "")]);
    assert!(told.starts_with("--against-set '': no `=` in it"), "{told}");
    let told = wrong([("--set", "election.nothing=1"), ("--against-set", "")]);
    assert!(told.starts_with("--set election.nothing=1: unknown key `nothing`"), "{told}");
    let told = wrong([("--set", "election.rejoin_after_ms=90"), ("--against-set", "election.rejoin_after_ms=soon")]);
    assert!(told.starts_with("--against-set election.rejoin_after_ms=soon: "), "{told}");
}
