//! `hustings candidate check`: conforming programs pass it; for any other one it reports the error.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::run_support::{EXE, PROXIES_THAT_REFUSE};

struct CheckReport {
    code: Option<i32>,
    found: Value,
    log: String,
}

fn check(command: &[&str]) -> CheckReport {
    check_with(&[], command)
}

fn check_with(options: &[&str], command: &[&str]) -> CheckReport {
    check_in(&mut Command::new(EXE), options, command)
}

/// `program`: hustings, with its environment.
fn check_in(program: &mut Command, options: &[&str], command: &[&str]) -> CheckReport {
    program.args(["candidate", "check", "--json"]).args(options).arg("--").args(command);
    let ran = program.output().expect("it runs");
    let log = String::from_utf8_lossy(&ran.stderr).into_owned();
    let found = serde_json::from_slice(&ran.stdout).unwrap_or(Value::Null);
    CheckReport { code: ran.status.code(), found, log }
}

impl CheckReport {
    /// It ended with this code.
    fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}", self.log);
        self
    }

    /// Names of the checks with this result.
    fn that(&self, result: &str) -> Vec<&str> {
        let all = self.found["outcomes"].as_array().expect("outcomes").iter();
        all.filter(|outcome| outcome["result"] == result).filter_map(|outcome| outcome["name"].as_str()).collect()
    }

    fn text(&self, name: &str) -> &str {
        let all = self.found["outcomes"].as_array().expect("outcomes");
        let found = all.iter().find(|outcome| outcome["name"] == name);
        found.and_then(|outcome| outcome["text"].as_str()).unwrap_or_default()
    }
}

/// A conforming program, with evidence of every grade.
fn is_fit(command: &[&str], can: usize) -> CheckReport {
    is_fit_with(&[], command, can)
}

fn is_fit_with(options: &[&str], command: &[&str], can: usize) -> CheckReport {
    proves_fit(check_with(options, command), can)
}

fn proves_fit(checked: CheckReport, can: usize) -> CheckReport {
    let checked = checked.expect(0);
    assert_eq!(checked.found["evidence"], serde_json::json!(["effect", "wire", "report"]), "{}", checked.log);
    assert!(checked.that("failed").is_empty() && checked.that("passed").len() >= can, "{}", checked.log);
    checked
}

/// Each of them at the same time: an examination waits for sessions to end, for most of its time.
fn at_once<T: Sync>(all: &[T], each: impl Fn(&T) + Sync) {
    let each = &each;
    std::thread::scope(|scope| {
        for one in all {
            scope.spawn(move || each(one));
        }
    });
}

#[test]
fn a_queue_of_ours_is_fit_with_all_evidence_and_is_told_what_was_not_tested_and_what_looks_at_it() {
    let checked = is_fit(&[EXE, "candidate", "stand", "predecessor-watch"], 21);
    assert!(checked.log.contains("not tested here:") && checked.log.contains("partitions"), "{}", checked.log);
    let next = format!("hustings run split-brain --candidate '{EXE} candidate stand predecessor-watch'");
    assert_eq!(checked.found["next"], next, "{}", checked.log);
    assert!(!checked.found["not_tested"].as_array().expect("a list").is_empty());
    for name in ["hands_over_when_its_session_ends", "hands_over_when_it_is_stopped"] {
        let text = checked.text(name);
        assert!(text.ends_with("; no stale write followed") || text.ends_with(", as it should"), "{text}");
    }
}

#[test]
fn a_lock_of_ours_behind_a_shell_that_waits_for_it_is_fit_and_gives_all_evidence() {
    let script = format!("trap : TERM; '{EXE}' candidate stand lock-race; exit $?");
    is_fit(&["sh", "-c", &script], 21);
}

#[test]
fn a_program_of_which_a_process_runs_on_while_it_is_stopped_is_not_fit() {
    let beside = "setsid sleep 600 </dev/null >/dev/null 2>&1 &";
    let script = format!("{beside} exec '{EXE}' candidate stand predecessor-watch");
    let checked = check(&["sh", "-c", &script]).expect(1);
    assert_eq!(checked.that("failed"), ["hands_over_when_it_is_stopped"], "{}", checked.log);
    assert!(checked.text("hands_over_when_it_is_stopped").contains("runs on"), "{}", checked.log);
}

/// The result for a test program that is one of kazoo's with a bug.
fn check_wrong(program: &str, arguments: &[&str]) -> CheckReport {
    let here = env!("CARGO_MANIFEST_DIR");
    let (path, program) =
        (format!("PYTHONPATH={here}/../workloads/adapters"), format!("{here}/tests/program/{program}"));
    check(&[&["env", &path, PYTHON, "-B", &program], arguments].concat())
}

#[test]
fn a_token_that_is_another_znode_s_is_found_at_a_later_grant_too() {
    let checked = check_wrong("wrong_tokens.py", &["granted"]);
    let wrong = ["writes_bear_its_own_token", "token_is_the_wire_s"];
    assert_eq!(checked.that("failed"), wrong, "{}", checked.log);
}

#[test]
fn writes_with_a_token_of_no_znode_of_its_own_are_found() {
    at_once(&["future", "next"], |how| {
        let checked = check_wrong("wrong_tokens.py", &[how]);
        let failed = checked.that("failed");
        assert!(failed.contains(&"writes_bear_its_own_token"), "{how}: {failed:?}: {}", checked.log);
    });
}

#[test]
fn messages_that_the_protocol_forbids_are_found_and_so_is_a_session_of_another() {
    let programs = [
        ("hello", "says_hello_once", 1),
        ("unasked", "says_resigned_once_for_each_order", 1),
        ("again", "says_resigned_once_for_each_order", 1),
        ("session", "session_is_the_wire_s", 1),
        ("bye", "says_bye_after_stop", 0),
        ("no-bye", "says_bye_after_stop", 0),
    ];
    for some in programs.chunks(3) {
        at_once(some, |(how, name, code)| {
            let checked = check_wrong("odd_messages.py", &[how]).expect(*code);
            assert_eq!(checked.that("failed"), [*name], "{how}: {}", checked.log);
        });
    }
}

#[test]
fn whoever_writes_on_after_it_resigned_is_found_though_it_dates_its_writes_back() {
    let checked = check_wrong("writes_on.py", &[]);
    assert!(checked.that("failed").contains(&"resigns_by_order"), "{}", checked.log);
    assert!(checked.text("resigns_by_order").contains("writes of its own came"), "{}", checked.log);
}

/// The path of an adapter's file.
macro_rules! adapter {
    ($name:literal) => {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../workloads/adapters/", $name)
    };
}

/// The distribution's Python, which has the distribution's kazoo.
const PYTHON: &str = "/usr/bin/python3";

#[test]
fn kazoo_s_election_is_fit_by_a_short_adapter() {
    is_fit(&[PYTHON, "-B", adapter!("kazoo_recipe.py"), "election"], 20);
}

#[test]
fn kazoo_s_lock_is_fit_by_a_short_adapter() {
    is_fit(&[PYTHON, "-B", adapter!("kazoo_recipe.py"), "lock"], 20);
}

#[test]
fn curator_s_latch_is_fit_by_a_short_adapter() {
    is_fit(&[adapter!("java.sh"), "CuratorLatch"], 20);
}

#[test]
fn curator_s_latch_is_fit_on_netty_as_well() {
    is_fit_with(&["--config", "socket=netty"], &[adapter!("java.sh"), "CuratorLatch"], 20);
}

#[test]
fn the_protocol_is_printed_and_a_placeholder_that_is_none_is_refused() {
    let printed = Command::new(EXE).args(["candidate", "protocol"]).output().expect("it runs");
    assert!(printed.status.success() && printed.stdout.starts_with(b"# hustings-candidate/1\n"));
    let checked = check(&["./mine", "--zk={conect}"]).expect(2);
    assert!(checked.log.contains("{conect}") && checked.log.contains("{connect}"), "{}", checked.log);
}

#[test]
fn a_parameter_without_a_value_is_refused() {
    let checked = check_with(&["--config", "netty"], &["true"]).expect(2);
    assert!(checked.log.contains("KEY=VALUE"), "{}", checked.log);
}

#[test]
fn a_program_that_does_not_speak_the_protocol_is_refused_with_the_run_that_judges_it() {
    let checked = check(&["./mute", "--zk", "{connect}", "--path", "{group}"]).expect(2);
    for told in ["with {resource} for its writes: hustings run split-brain --candidate", "--set election.groups=1"] {
        assert!(checked.log.contains(told), "{told}: {}", checked.log);
    }
}

#[test]
fn curator_s_selector_is_fit_by_a_short_adapter() {
    is_fit(&[adapter!("java.sh"), "CuratorSelector"], 19);
}

#[test]
fn an_election_on_zookeeper_s_c_client_is_fit_by_a_short_adapter() {
    is_fit(&[adapter!("native.sh"), "zoo_election.c"], 21);
}

#[test]
fn go_zookeeper_s_lock_is_fit_by_a_short_adapter() {
    is_fit(&[adapter!("native.sh"), "go_zookeeper.go"], 19);
}

/// Written only from the protocol's document.
#[test]
fn a_program_of_thirty_lines_is_fit() {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/thirty_lines.py");
    let text = std::fs::read_to_string(program).expect("a text");
    assert!(text.lines().filter(|line| !line.is_empty()).count() <= 30);
    is_fit(&[PYTHON, "-B", program], 23);
}

/// One writes with our HTTP client, the other with Python's, which obeys these variables.
#[test]
fn writes_to_this_machine_do_not_go_to_the_proxies_that_the_environment_names() {
    let thirty_lines = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/thirty_lines.py");
    let programs: [&[&str]; 2] = [&[EXE, "candidate", "stand", "lock-race"], &[PYTHON, "-B", thirty_lines]];
    at_once(&programs, |command| {
        let mut program = Command::new(EXE);
        program.envs(PROXIES_THAT_REFUSE).env_remove("NO_PROXY").env("no_proxy", "zk.example");
        proves_fit(check_in(&mut program, &[], command), 21);
    });
}

/// Gives a Python program this order, and tells it to stop after the first message of that name. Returns the names of its
/// messages; `heard` is called with each of them.
fn messages_of(program: &str, orders: &str, last: &str, mut heard: impl FnMut(&str)) -> Vec<String> {
    let mut program = Command::new(PYTHON)
        .args(["-B", &format!("{}/tests/program/{program}", env!("CARGO_MANIFEST_DIR"))])
        .env("PYTHONPATH", adapter!(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut input = program.stdin.take().expect("piped");
    writeln!(input, "{orders}").expect("told");
    let mut messages = Vec::new();
    for line in BufReader::new(program.stdout.take().expect("piped")).lines() {
        let message: Value = serde_json::from_str(&line.expect("a line")).expect("a message");
        let name = message["m"].as_str().expect("a name");
        heard(name);
        if name == last {
            writeln!(input, r#"{{"m":"stop"}}"#).expect("told");
        }
        messages.push(name.to_owned());
    }
    assert!(program.wait().expect("it ends").success());
    messages
}

#[test]
fn whoever_is_told_to_leave_before_it_is_granted_the_lead_takes_none() {
    let orders = r#"{"m":"start","slot":0,"rejoin_after_ms":1,"write_every_ms":5,"resource":"http://127.0.0.1:1/0"}
{"m":"resign","slot":0,"fault":1}"#;
    assert_eq!(messages_of("late_grant.py", orders, "resigned", |_| ()), ["hello", "resigned", "bye"]);
}

#[test]
fn a_leader_that_loses_its_connection_gives_its_znode_back_after_the_answer_to_its_last_write() {
    let resource = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = resource.local_addr().expect("bound");
    let answered = Arc::new(AtomicBool::new(false));
    let (has_answered, under_way) = (answered.clone(), Arc::new(AtomicBool::new(false)));
    let is_under_way = under_way.clone();
    let server = std::thread::spawn(move || {
        let (mut write, _) = resource.accept().expect("a write");
        is_under_way.store(true, Ordering::SeqCst);
        // Longer than it leads.
        std::thread::sleep(Duration::from_millis(500));
        has_answered.store(true, Ordering::SeqCst);
        write.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").expect("answered");
    });
    let orders = format!(
        r#"{{"m":"start","slot":0,"rejoin_after_ms":1,"write_every_ms":5000,"resource":"http://{address}/0"}}"#
    );
    let messages = messages_of("late_write.py", &orders, "note", |name| {
        if name == "note" {
            assert!(under_way.load(Ordering::SeqCst) && answered.load(Ordering::SeqCst), "it did not wait");
        }
    });
    assert_eq!(messages, ["hello", "grant", "revoke", "note", "bye"]);
    server.join().expect("it served");
}

#[test]
fn adapters_are_short() {
    for file in std::fs::read_dir(adapter!("")).expect("adapters") {
        let path = file.expect("a file").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_helper = name.to_lowercase().replace('_', "").starts_with("hustingscandidate");
        if !is_helper && !name.ends_with(".md") {
            let lines = std::fs::read_to_string(&path).expect("a text").lines().count();
            assert!(lines <= 60, "{name} has {lines} lines");
        }
    }
}

#[test]
fn a_leader_that_does_not_hear_of_its_session_s_end_is_found_out_by_the_effect() {
    let checked = check(&[EXE, "candidate", "stand", "broken:ignores-session-loss"]).expect(1);
    let failed = checked.that("failed");
    let effects = ["gives_up_when_it_wakes", "hands_over_when_its_session_ends"];
    assert!(effects.iter().any(|effect| failed.contains(effect)), "{}", checked.log);
}

/// A recipe of hustings with this deliberate flaw.
fn flawed(flaw: &str) -> CheckReport {
    check(&[EXE, "candidate", "stand", "--flaw", flaw, "predecessor-watch"])
}

#[test]
fn reports_that_do_not_fit_what_is_done_are_found_out() {
    let flaws = [
        ("reports-late", "acts_only_while_it_leads"),
        ("never-revokes", "reports_in_order"),
        ("speaks-late", "reports_without_delay"),
        ("resigns-by-word", "resigns_by_order"),
        ("keeps-sessions", "leaves_no_session_open"),
        ("dies", "runs_until_it_is_told_to_end"),
    ];
    for some in flaws.chunks(3) {
        at_once(some, |(flaw, name)| {
            let checked = flawed(flaw);
            assert_eq!(checked.code, Some(1), "{flaw}: {}", checked.log);
            assert!(checked.that("failed").contains(name), "{flaw}: {}", checked.log);
        });
    }
}

#[test]
fn a_program_that_leaves_its_znode_when_it_is_terminated_is_told_so_and_may_take_part() {
    let checked = flawed("leaves-on-term");
    assert_eq!(checked.that("failed"), ["hands_over_when_terminated"], "{}", checked.log);
    assert_eq!(checked.code, Some(0), "{}", checked.log);
    assert!(checked.text("hands_over_when_terminated").starts_with("it left its znode to its session's end"));
}

#[test]
fn programs_that_are_none_are_told_what_they_lack() {
    let ended = check(&["sh", "-c", "echo no candidate >&2; exit 3"]);
    assert_eq!(ended.code, Some(1), "{}", ended.log);
    assert!(ended.text("says_hello").contains("it ended before"), "{}", ended.log);
    assert!(ended.text("says_hello").contains("`hustings candidate protocol`"), "{}", ended.log);
    assert!(ended.log.contains("no candidate"), "{}", ended.log);
    let babbles = check(&["yes", "leader"]).expect(1);
    assert!(babbles.text("speaks_the_protocol_alone").contains("leader"), "{}", babbles.log);
    let later = check(&["sh", "-c", r#"echo '{"m":"hello","protocol":2,"name":"new"}'; cat"#]);
    assert_eq!(later.code, Some(1), "{}", later.log);
    assert!(later.text("says_hello").contains("protocol 2"), "{}", later.log);
    let brief = check(&["sh", "-c", r#"echo '{"m":"hello","protocol":1,"name":"brief"}'"#]).expect(1);
    assert_eq!(brief.that("failed"), ["runs_until_it_is_told_to_end"], "{}", brief.log);
    assert!(brief.text("runs_until_it_is_told_to_end").contains("ended after its hello (exit status: 0)"));
    assert!(!brief.that("passed").contains(&"runs_twice"), "{}", brief.log);
    let missing = check(&["./no-such-program"]).expect(2);
    assert!(missing.log.contains("no-such-program"), "{}", missing.log);
}

#[test]
fn a_program_whose_hello_has_no_newline_is_told_so() {
    let script = r#"printf '{"m":"hello","protocol":1,"name":"open"}'; exec sleep 600"#;
    let checked = check(&["sh", "-c", script]).expect(1);
    let text = checked.text("says_hello");
    assert!(text.contains(r#"it wrote "{\"m\":\"hello\""#), "{text}");
    assert!(text.contains("without the newline that ends a message"), "{text}");
}

#[test]
fn what_was_found_before_the_examination_s_own_session_ended_is_told_without_a_verdict() {
    // On SIGTERM it stops the examination for longer than the timeout of that session.
    let script = format!(
        "trap 'kill -STOP $PPID; sleep 7; kill -CONT $PPID; exit 0' TERM; '{EXE}' candidate stand lock-race; exit $?"
    );
    let checked = check(&["sh", "-c", &script]).expect(4);
    assert!(checked.that("passed").contains(&"hands_over_when_it_is_killed"), "{}", checked.log);
    assert!(checked.log.contains("✓ hands_over_when_it_is_killed"), "{}", checked.log);
    let trouble = checked.found["trouble"].as_str().unwrap_or_default();
    assert!(trouble.contains("cannot be looked at by the examination's own session"), "{}", checked.log);
    assert!(checked.log.contains(&format!("error: {trouble}")), "{}", checked.log);
    assert!(checked.log.contains("no verdict") && !checked.log.contains("cannot take part"), "{}", checked.log);
}
