//! External programs in scenarios: sound ones do as well as built-in recipes, broken ones are caught.

use hustings_record::FaultKind;
use hustings_reports::verdict::Verdict;

use crate::run_support::scenario::{EMBEDDED, calm, on_one_server, scenario};
use crate::run_support::{Bench, cell, check, checkers_of, summary_of};

/// The scenario's command line for a Python program beside this file that uses the adapters' helper.
fn python(file: &str, arguments: &[&str]) -> String {
    let here = env!("CARGO_MANIFEST_DIR");
    let (helper, program) =
        (format!("PYTHONPATH={here}/../workloads/adapters"), format!("{here}/tests/program/{file}"));
    let words = [&["env", &helper, "/usr/bin/python3", &program], arguments].concat();
    format!("command = {words:?}")
}

/// T = 2 s, which suits a busy machine.
fn slower(sections: &str) -> String {
    scenario("", sections)
        .replace("\ntick_ms = 100", "\ntick_ms = 200")
        .replace("_timeout_ms = 1000", "_timeout_ms = 2000")
}

#[test]
fn recipes_that_stand_as_programs_pass_where_they_pass_built_in() {
    let bench = Bench::new();
    let text = slower(
        r#"
[foreign.queue]
command = ["{hustings}", "candidate", "stand", "predecessor-watch", "--step-down", "{step_down}"]
leader_wakes = "one"
follower_wakes = "one"

[foreign.lock]
command = ["{hustings}", "candidate", "stand", "lock-race", "--step-down", "{step_down}"]
lead = "lock"
leader_wakes = "all-others"
follower_wakes = "none"

[faults.resign]
kind = "resign"
target = "leaders"
groups = 2
repeat = 3
every_ms = 800

[faults.crash]
kind = "crash"

[faults.jump]
kind = "clock-step"
step_ms = 3600000
for_ms = 1500

[matrix]
recipe = ["predecessor-watch", "foreign:queue", "lock-race", "foreign:lock"]
fault = ["resign", "crash"]

[[also]]
recipe = ["predecessor-watch", "foreign:queue"]
fault = "jump"
"#,
    );
    let ran = bench.record(&text, &EMBEDDED);
    ran.fails_nothing();
    let summary = ran.summary();
    assert_eq!(summary.cells.len(), 10);
    for cell in &summary.cells {
        let is_program = cell.info.recipe.starts_with("foreign:");
        assert_eq!(cell.programs.processes > 0, is_program, "{}", cell.info.name);
        assert_eq!(cell.info.has_equal_paths(), !is_program, "{}", cell.info.name);
        assert!(cell.writes.total > 0 && !cell.faults.verifications.is_empty(), "{}", cell.info.name);
        assert!(cell.handovers.completed > 0 || cell.info.fault == "jump", "{}", cell.info.name);
        assert_eq!(
            check(cell, "split-brain").rests_on,
            [hustings_record::EvidenceSource::Report],
            "{}",
            cell.info.name
        );
    }
    let jumped = cell(&summary, "queue-jump");
    let is_verified = jumped.faults.verifications.iter().all(|r| r.kind == FaultKind::ClockStep && r.verified);
    assert!(is_verified, "{:?}", jumped.faults);
    assert!(jumped.programs.names[0].starts_with("predecessor-watch"), "{:?}", jumped.programs.names);
    let table = bench.path("league.md");
    bench.run(&["export", "record", "--table", &table.display().to_string()]).expect(0);
    let table = std::fs::read_to_string(table).expect("a table");
    assert_eq!(table.lines().filter(|line| line.starts_with("| foreign:queue |")).count(), 2, "{table}");
    assert!(table.contains("| | resign | crash | jump |"), "{table}");
    let refused = bench.run(&["simulate", "scenario.toml", "--only", "foreign*"]).expect(2);
    assert!(refused.err.contains("which no simulation can run"), "{}", refused.err);
}

/// Each program has one bug, and the check that must catch it. Recipes of this program use the paths of programs.
const BROKEN: &[(&str, &str)] = &[
    ("deaf-expire", "split-brain"),
    ("writes-on-resign", "stray-writes"),
    ("late-resign", "programs"),
    ("never-resign", "split-brain"),
    ("herd-resign", "fan-out"),
    ("rude-terminate", "programs"),
    ("stubborn-terminate", "programs"),
    ("silent-resign", "programs"),
    ("hasty-resign", "programs"),
    ("ignores-session-loss", "split-brain"),
    ("writes-after-revoke", "stray-writes"),
];

#[test]
fn broken_programs_are_caught_on_real_servers_by_the_check_that_is_there_for_it() {
    let bench = Bench::new();
    let text = slower(
        r#"
[foreign.deaf]
command = ["{hustings}", "candidate", "stand", "broken:ignores-session-loss"]

[foreign.writes-on]
command = ["{hustings}", "candidate", "stand", "broken:writes-after-revoke"]

[foreign.late]
command = ["{hustings}", "candidate", "stand", "--flaw", "reports-late", "predecessor-watch"]

[foreign.never]
command = ["{hustings}", "candidate", "stand", "--flaw", "never-revokes", "predecessor-watch"]

[foreign.herd]
command = ["{hustings}", "candidate", "stand", "broken:wakes-everybody"]
leader_wakes = "one"
follower_wakes = "one"

[foreign.rude]
command = ["{hustings}", "candidate", "stand", "--flaw", "leaves-on-term", "predecessor-watch"]

[foreign.stubborn]
command = ["{hustings}", "candidate", "stand", "--flaw", "ignores-term", "predecessor-watch"]

[foreign.silent]
command = ["{hustings}", "candidate", "stand", "--flaw", "ignores-resign", "predecessor-watch"]

[foreign.hasty]
command = ["{hustings}", "candidate", "stand", "--flaw", "rejoins-at-once", "predecessor-watch"]

[faults.resign]
kind = "resign"
target = "leaders"
groups = 3
repeat = 3
every_ms = 800

[faults.expire]
kind = "expire"
target = "leaders"
groups = 3

[faults.terminate]
kind = "terminate"

[matrix]
recipe = [
  "foreign:writes-on", "foreign:late", "foreign:never", "foreign:herd", "foreign:silent", "foreign:hasty",
  "broken:writes-after-revoke",
]
fault = "resign"

[[also]]
recipe = ["foreign:deaf", "broken:ignores-session-loss"]
fault = "expire"

[[also]]
recipe = ["foreign:rude", "foreign:stubborn"]
fault = "terminate"
"#,
    );
    let ran = bench.record(&text, &["--ensemble", "local"]).expect(1);
    let summary = ran.summary();
    for (name, checker) in BROKEN {
        let failed = checkers_of(cell(&summary, name), Verdict::Fail);
        assert!(failed.contains(checker), "{name}: {failed:?}\n{}", ran.err);
    }
}

#[test]
fn a_leader_is_answered_until_it_has_gone() {
    let bench = Bench::new();
    let sections = r#"
leader_wakes = "one"
follower_wakes = "one"

[matrix]
recipe = "foreign:last"
"#;
    let text = format!("{}\n[foreign.last]\n{}{sections}", calm(), python("last_write.py", &[]));
    let ran = bench.record(&text, &EMBEDDED).expect(0);
    let programs = &ran.summary().cells[0].programs;
    assert!(programs.processes == 3 && programs.misbehaved.is_empty(), "{programs:?}");
}

#[test]
fn a_program_whose_hello_has_no_newline_is_named_on_its_own_host_with_what_it_lacks() {
    let bench = Bench::new();
    let sections = r#"
[foreign.open]
command = ["sh", "-c", """printf '{"m":"hello","protocol":1,"name":"open","can":["many"]}'; exec sleep 600"""]
leader_wakes = "one"
follower_wakes = "one"

[matrix]
recipe = "foreign:open"
"#;
    let text = calm().replace("enrol_max_ms = 30000", "enrol_max_ms = 90000");
    let ran = bench.record(&format!("{text}{sections}"), &EMBEDDED).expect(1);
    ran.error(&["the program said no hello within", "without the newline that ends a message"]);
    let summary = summary_of(&bench.path("record"));
    let found = check(&summary.cells[0], "programs");
    for host in &summary.cells[0].info.hosts {
        let is_of_host = |line: &&String| line.starts_with(&format!("silent: {host}, "));
        let line = found.details.iter().find(is_of_host).unwrap_or_else(|| panic!("{host}: {:?}", found.details));
        assert!(line.contains(r#"it wrote "{\"m\":\"hello\""#) && line.contains("without the newline"), "{line}");
    }
    assert!(!found.details.iter().any(|line| line.contains("stop-ignored")), "{:?}", found.details);
}

#[test]
fn a_program_that_writes_with_other_tokens_than_its_leads_is_found_out_with_a_fence_and_without() {
    let bench = Bench::new();
    let named = ["first", "next", "future", "granted", "named"];
    let programs = named.map(|how| {
        let command = python("wrong_tokens.py", &[how]);
        format!("\n[foreign.{how}]\n{command}\n")
    });
    let text = slower(&format!(
        r#"{}
[faults.resign]
kind = "resign"
target = "leaders"
groups = 6
repeat = 4
every_ms = 800

[matrix]
recipe = ["foreign:first", "foreign:next", "foreign:future", "foreign:granted", "foreign:named"]
fault = "resign"

[[also]]
recipe = "foreign:next"
fault = "resign"
resource = "fenced"
"#,
        programs.concat()
    ));
    let known = ["--only", "foreign-first-*", "--only", "foreign-next-*"];
    let others = ["--only", "foreign-future-*", "--only", "foreign-granted-*", "--only", "foreign-named-*"];
    let (known, others) = ([&EMBEDDED[..], &known].concat(), [&EMBEDDED[..], &others].concat());
    let [known, others] = bench.records(&text, [("known", &known), ("others", &others)]).map(|ran| ran.expect(1));
    let cells = [known.summary().cells, others.summary().cells].concat();
    assert_eq!(cells.len(), 6);
    for cell in &cells {
        let failed = checkers_of(cell, Verdict::Fail);
        let checker = match cell.info.recipe.as_str() {
            "foreign:granted" => "grant-tokens",
            "foreign:named" => "programs",
            _ => "write-tokens",
        };
        assert!(failed.contains(&checker), "{}: {failed:?}\n{}{}", cell.info.name, known.err, others.err);
    }
}

#[test]
fn a_program_that_asks_for_a_session_with_a_password_of_any_length_passes_as_any_other() {
    let bench = Bench::new();
    let text = slower(&format!(
        r#"
[foreign.odd]
{}
leader_wakes = "one"
follower_wakes = "one"

[faults.resign]
kind = "resign"
target = "leaders"
groups = 2
repeat = 2
every_ms = 800

[matrix]
recipe = "foreign:odd"
fault = "resign"
"#,
        python("odd_password.py", &[])
    ));
    let each = [("embedded", &EMBEDDED[..]), ("local", &["--ensemble", "local"])];
    for ran in bench.records(&on_one_server(&text), each) {
        ran.fails_nothing();
        assert!(ran.summary().cells[0].handovers.completed > 0, "{}", ran.err);
    }
}

#[test]
fn a_program_that_watches_two_before_it_and_one_more_passes_if_it_declares_that_and_only_then() {
    let bench = Bench::new();
    let named = [("honest", "two", "watches_max = 3"), ("narrow", "one", "watches_max = 3"), ("silent", "two", "")];
    let programs = named.map(|(name, wakes, watches)| {
        let (command, wakes) =
            (python("watches_two.py", &[]), format!("leader_wakes = {wakes:?}\nfollower_wakes = {wakes:?}"));
        format!("\n[foreign.{name}]\n{command}\n{wakes}\n{watches}\n")
    });
    // The remains of a stopped process are not blamed after 2 T and more: the cell lasts longer than that.
    let text = slower(&format!(
        r#"{}
[faults.resign]
kind = "resign"
target = "leaders"
groups = 2
repeat = 6
every_ms = 800

[matrix]
recipe = ["foreign:honest", "foreign:narrow", "foreign:silent"]
fault = "resign"
"#,
        programs.concat()
    ));
    let ran = bench.record(&text, &EMBEDDED).expect(1);
    let summary = ran.summary();
    let failed = |name: &str| checkers_of(cell(&summary, name), Verdict::Fail);
    assert_eq!(failed("honest"), Vec::<&str>::new(), "{}", ran.err);
    assert!(failed("narrow").contains(&"fan-out"), "{:?}", failed("narrow"));
    assert_eq!(failed("silent"), ["participation"]);
}
