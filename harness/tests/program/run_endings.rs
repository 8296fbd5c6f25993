//! Runs that are ended from outside: everything borrowed is left as it was, and nothing of others is touched.

use std::process::Command;
use std::time::Duration;

use crate::run_support::scenario::{EMBEDDED, LENIENT, endless, scenario};
use crate::run_support::toxiproxy::{proxies, toxiproxy};
use crate::run_support::{Bench, RunningProgram, assert_verified_and_whole, summary_of, wait_until};
use hustings_record::{LinkUse, RunState};
use rustix::process::Signal;

const END_WITHIN: Duration = Duration::from_secs(60);

/// A run with a fault that lasts for ten minutes.
fn begun(bench: &Bench, wrapper: Option<&str>, more: &[&str]) -> RunningProgram {
    let file = bench.scenario(&endless("partition"));
    let arguments = [&["run", &file, "--out", "record"][..], &EMBEDDED, more].concat();
    let command = match wrapper {
        None => bench.command(&arguments),
        Some(wrapper) => {
            let mut command = Command::new(wrapper);
            command.arg(crate::run_support::EXE).args(&arguments);
            bench.at_home(&mut command);
            command
        }
    };
    bench.start(command)
}

/// Such a run in the middle of its fault.
fn in_the_middle(bench: &Bench, wrapper: Option<&str>, more: &[&str]) -> RunningProgram {
    begun(bench, wrapper, more).in_its_fault(&bench.path("record"))
}

#[test]
fn a_closed_terminal_a_quit_and_a_termination_end_a_run_like_ctrl_c() {
    // They begin at the same time.
    let runs = [Signal::HUP, Signal::QUIT, Signal::TERM].map(|signal| {
        let bench = Bench::new();
        let running = begun(&bench, None, &[]);
        (signal, bench, running)
    });
    for (signal, bench, running) in runs {
        let running = running.in_its_fault(&bench.path("record"));
        running.signal(signal);
        running.end_within(END_WITHIN).expect(130);
        bench.assert_nothing_left();
        let summary = summary_of(&bench.path("record"));
        assert_eq!(summary.manifest.state, RunState::Interrupted, "{signal:?}");
        let verifications = &summary.cells[0].faults.verifications;
        assert!(verifications[0].healed.is_some(), "{signal:?}: what was broken was healed: {verifications:?}");
    }
}

#[test]
fn a_closed_terminal_is_nothing_to_a_run_under_nohup() {
    let bench = Bench::new();
    let mut running = in_the_middle(&bench, Some("nohup"), &[]);
    running.signal(Signal::HUP);
    let goes_on = !wait_until(Duration::from_secs(2), || running.try_wait().is_some());
    assert!(goes_on, "it ended: {}", running.said());
    running.signal(Signal::INT);
    running.end_within(END_WITHIN).expect(130);
    bench.assert_nothing_left();
}

#[test]
fn a_toxiproxy_of_others_is_left_as_it_was_even_by_two_ctrl_cs() {
    let bench = Bench::new();
    let (theirs, api) = toxiproxy(&bench);
    let running = in_the_middle(&bench, None, &["--toxiproxy", &api]);
    let there = proxies(&api);
    assert!(!there.is_empty() && there.iter().all(|name| name.starts_with("hustings-")), "{there:?}");
    running.signal(Signal::INT);
    std::thread::sleep(Duration::from_millis(50));
    running.signal(Signal::INT);
    running.end_within(END_WITHIN).expect(130);
    assert_eq!(proxies(&api), Vec::<String>::new());
    bench.assert_nothing_left();
    drop(theirs);
}

/// A run with links in this Toxiproxy, killed in the middle of its fault. None of its processes is left.
fn kill_in_the_middle(bench: &Bench, api: &str) {
    let running = in_the_middle(bench, None, &["--toxiproxy", api]);
    running.signal(Signal::KILL);
    running.end().expect(128 + 9);
    bench.assert_no_process_left();
}

#[test]
fn clean_takes_the_proxies_of_a_killed_run_away_and_no_others() {
    let bench = Bench::new();
    let (theirs, api) = toxiproxy(&bench);
    let other = r#"{"name":"hustings-others","listen":"127.0.0.1:0","upstream":"127.0.0.1:1"}"#;
    let client = reqwest::blocking::Client::builder().no_proxy().build().expect("a client");
    let made = client.post(format!("http://{api}/proxies")).body(other).send();
    assert!(made.expect("it answers").status().is_success());
    kill_in_the_middle(&bench, &api);
    assert!(proxies(&api).len() > 1, "nobody took them away");
    let dry = bench.run(&["clean", "--dry-run"]).expect(0);
    assert!(dry.err.contains("would remove the proxies"), "{}", dry.err);
    let ran = bench.run(&["clean"]).expect(0);
    assert!(ran.err.contains(&format!("from the Toxiproxy at {api}")), "{}", ran.err);
    assert_eq!(proxies(&api), ["hustings-others"]);
    bench.assert_nothing_left();
    drop(theirs);
}

#[test]
fn what_cannot_be_cleaned_yet_is_told_and_stays_noted() {
    let bench = Bench::new();
    let (theirs, api) = toxiproxy(&bench);
    kill_in_the_middle(&bench, &api);
    drop(theirs);
    let ran = bench.run(&["clean"]).expect(4);
    assert!(ran.err.contains("could not be removed") && ran.err.contains(&api), "{}", ran.err);
    assert_eq!(bench.leftovers().len(), 1, "the note is still there");
}

#[test]
fn two_runs_share_a_toxiproxy_and_do_not_meet() {
    let (first, second) = (Bench::new(), Bench::new());
    let (theirs, api) = toxiproxy(&first);
    let quick = scenario("", "[faults.partition]\nkind = \"partition\"\nfor_t = 1.5\n") + LENIENT;
    let longer = in_the_middle(&first, None, &["--toxiproxy", &api, "--toxiproxy-ports", "28700-28799"]);
    let before = proxies(&api);
    let file = second.scenario(&quick);
    let more = ["--ensemble", "embedded", "--toxiproxy", &api, "--toxiproxy-ports", "28700-28799"];
    let ran = second.run(&[&["run", &file, "--out", "record"], &more[..]].concat());
    ran.fails_nothing();
    second.assert_nothing_left();
    let cells = summary_of(&second.path("record")).cells;
    assert_eq!(cells[0].info.links, LinkUse::External);
    assert_verified_and_whole(&cells[0]);
    assert_eq!(proxies(&api), before, "those of the first run are all there, and no others");
    // Fewer ports have no room for both.
    let tight = ["--ensemble", "embedded", "--toxiproxy", &api, "--toxiproxy-ports", "28700-28709"];
    let refused = second.run(&[&["run", &file, "--out", "other"], &tight[..]].concat()).expect(4);
    refused.error(&["28700 to 28709", "others", "--toxiproxy-ports"]);
    longer.signal(Signal::INT);
    longer.end_within(END_WITHIN).expect(130);
    assert_eq!(proxies(&api), Vec::<String>::new());
    drop(theirs);
}
