//! Everyday requests: what exists, what it means, and only some cells of a scenario.

use std::process::Command;

use crate::run_support::scenario::calm;
use crate::run_support::{Bench, summary_of};
use hustings_record::FaultKind;
use hustings_reports::check::CHECKERS;
use hustings_workloads::recipes::RecipeKind;
use hustings_workloads::scenario::SHIPPED;

#[test]
fn everything_that_is_listed_is_explained_and_a_misspelt_name_is_guessed() {
    let bench = Bench::new();
    let list = bench.run(&["list"]).expect(0).out;
    let names = SHIPPED.map(|shipped| shipped.name).into_iter();
    let names = names.chain(RecipeKind::sound().map(RecipeKind::name));
    let names = names.chain(FaultKind::ALL.iter().map(|kind| kind.name()));
    for name in names.chain(CHECKERS.iter().map(|checker| checker.name)) {
        let line = list.lines().find(|line| line.trim_start().split(' ').next() == Some(name));
        let about = line.unwrap_or_else(|| panic!("{name} is not listed")).trim()[name.len()..].trim();
        assert!(!about.is_empty(), "what {name} is for");
        let told = bench.run(&["explain", name]).expect(0).out;
        assert!(told.contains(about), "{name}: {told}");
    }
    for term in ["stall", "spoilt"] {
        let told = bench.run(&["explain", term]).expect(0).out;
        assert!(told.contains(term) && told.contains("Stalls"), "{told}");
    }
    for (name, title) in [("false-failover", "False failover"), ("step-downs", "Step-down"), ("downtime", "Downtime")] {
        let definition = bench.run(&["explain", name]).expect(0).out;
        assert!(definition.contains(&format!("\n{title}")), "{name}: {definition}");
    }
    bench.run(&["explain", "false failover"]).expect(2).error(&["did you mean `false-failover`?"]);
    bench.run(&["explain", "crsh"]).expect(2).error(&["crsh", "`crash`", "hustings list"]);
    let parsed: serde_json::Value = bench.run(&["list", "--json"]).expect(0).json();
    assert_eq!(parsed["checks"].as_array().map(Vec::len), Some(CHECKERS.len()));
}

#[test]
fn only_some_cells_are_run_simulated_and_planned() {
    let bench = Bench::new();
    let only = ["--only", "naive-*", "--only", "*-crash"];
    bench.run(&[&["simulate", "quick", "--out", "record"], &only[..]].concat()).expect(0);
    let summary = summary_of(&bench.path("record"));
    let names: Vec<&str> = summary.cells.iter().map(|cell| cell.info.name.as_str()).collect();
    let wanted = [
        "predecessor-watch-crash",
        "naive-resign",
        "naive-crash",
        "naive-expire",
        "naive-partition",
        "lock-race-crash",
    ];
    assert_eq!(names, wanted);
    assert!(summary.notes.is_empty(), "nothing is missing: {:?}", summary.notes);
    let planned = bench.run(&[&["run", "quick", "--dry-run"], &only[..]].concat()).expect(0).out;
    assert!(planned.contains("6 cells") && !planned.contains("lock-race-resign"), "{planned}");
    bench.run(&["run", "quick", "--only", "x*"]).expect(2).error(&["x*", "no such cell", "naive-resign"]);

    let file = bench.file("calm.toml", &(calm() + "\n[matrix]\nrecipe = [\"naive\", \"lock-race\"]\n"));
    let run = ["run", &file.display().to_string(), "--ensemble", "embedded", "--out", "real", "--only", "lock-*"];
    bench.run(&run).expect(0);
    let summary = summary_of(&bench.path("real"));
    assert_eq!((summary.cells.len(), summary.manifest.cells_planned), (1, 1));
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let shown = |name: &str, value: Option<&str>| {
        let bench = Bench::new();
        let line = format!("{} simulate quick --only naive-crash --out record", crate::run_support::EXE);
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
        command.env("TERM", "xterm").env_remove("NO_COLOR");
        bench.at_home(&mut command);
        if let Some(value) = value {
            command.env(name, value);
        }
        let ran = bench.start(command).end().expect(0);
        assert!(ran.out.contains("PASS"), "{}", ran.out);
        ran.out.contains("\u{1b}[")
    };
    assert!(shown("NO_COLOR", None));
    assert!(shown("NO_COLOR", Some("")), "it is set to nothing");
    assert!(!shown("TERM", Some("dumb")));
}

#[test]
fn nothing_but_real_servers_will_do_where_they_are_required() {
    let bench = Bench::new();
    let mut command = bench.command(&["run", "quick", "--require-real"]);
    command.env("JAVA_HOME", "/nowhere").env("DOCKER_HOST", "unix:///nowhere");
    bench.start(command).end().expect(4).error(&["no real servers", "/nowhere"]);
    let both = bench.run(&["run", "quick", "--require-real", "--ensemble", "embedded"]).expect(2);
    both.error(&["--require-real"]);
    bench.assert_nothing_left();
}

#[test]
fn shells_and_manuals_get_what_they_want() {
    let bench = Bench::new();
    let script = bench.file("hustings.bash", &bench.run(&["completions", "bash"]).expect(0).out);
    let complete = "source \"$0\"; COMP_WORDS=(hustings run --require); COMP_CWORD=2; _hustings hustings --require run; echo ${COMPREPLY[@]}";
    let told = Command::new("bash").args(["-c", complete]).arg(&script).output().expect("bash runs");
    assert_eq!(String::from_utf8_lossy(&told.stdout).trim(), "--require-real");
    for (page, named) in [(&["man"][..], "SUBCOMMANDS"), (&["man", "run"], "dry")] {
        let page = bench.run(page).expect(0).out;
        assert!(page.contains(".TH") && page.contains(named), "{page}");
    }
    bench.run(&["man", "nothing"]).expect(2).error(&["nothing", "report"]);
}

#[test]
fn a_scenario_to_begin_with_names_every_key_there_is_and_runs() {
    let bench = Bench::new();
    bench.run(&["init", "my.toml"]).expect(0);
    bench.run(&["init", "my.toml"]).expect(4).error(&["my.toml", "another name"]);
    bench.run(&["simulate", "my.toml", "--out", "record", "-q"]).expect(0);
    let text = std::fs::read_to_string(bench.path("my.toml")).expect("written");
    assert_eq!(bench.run(&["init", "-"]).expect(0).out, text);
    // With all `#` lines uncommented, no key is rejected as unknown.
    for (section, at) in [
        ("", "nope = 1\n"),
        ("[ensemble]\n", "nope = 1\n"),
        ("[election]\n", "nope = 1\n"),
        ("[phases]\n", "nope = 1\n"),
        ("[faults.x]\n", "kind = \"crash\"\nnope = 1\n"),
        ("[matrix]\n", "nope = [1]\n"),
        ("[self_test]\n", "nope = 1\n"),
        ("[[expect]]\n", "nope = 1\n"),
    ] {
        let file =
            bench.file("nope.toml", &format!("name = \"x\"\n{section}{at}").replacen("name = \"x\"\nnope", "nope", 1));
        let said = bench.run(&["run", &file.display().to_string(), "--dry-run"]).expect(2).err;
        let known = said.split_once("known are ").unwrap_or_else(|| panic!("{section}: {said}")).1;
        for key in known.split_whitespace().map(|word| word.trim_end_matches(',')) {
            let there = |line: &str| {
                let line = line.trim_start_matches("# ");
                let named = line.trim_start_matches('[').strip_prefix(key);
                named.is_some_and(|rest| rest.starts_with([' ', ']', '.']))
            };
            assert!(text.lines().any(there), "{section}{key} is not in the template");
        }
    }
}
