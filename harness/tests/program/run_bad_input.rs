//! Mistakes of users: each ends with the right code and one message with the place and the remedy. It starts nothing
//! that stays, and leaves no record behind.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use crate::run_support::scenario::calm;
use crate::run_support::{Bench, EXE, ProgramOutput, summary_of};

/// Checks that it ends the same way for every form of the request, and leaves nothing.
fn refused(bench: &Bench, command: Command, code: i32, words: &[&str]) -> ProgramOutput {
    let ran = bench.start(command).end().expect(code);
    ran.error(words);
    assert_eq!(ran.out, "", "standard output is for results");
    bench.assert_nothing_left();
    assert!(!bench.path("record").exists(), "a record of nothing");
    ran
}

fn run_calm(bench: &Bench, more: &[&str]) -> Command {
    bench.command(&[&["run", &bench.scenario(&calm()), "--out", "record"], more].concat())
}

#[test]
fn words_that_are_not_known_are_refused_with_the_nearest_ones() {
    let bench = Bench::new();
    let cases: &[(&[&str], &[&str])] = &[
        (&["quik"], &["quik", "did you mean `quick`?", "thousand"]),
        (&["no-such-thing"], &["no-such-thing", "split-brain", "nor a file"]),
        (&["/dev/zero"], &["/dev/zero", "longer than 16777216 bytes"]),
        (
            &["quick", "--set", "matrix.recipe=naiv"],
            &["--set matrix.recipe=naiv", "did you mean `naive`?", "lock-race"],
        ),
        (&["quick", "--set", "election.grups=3"], &["election.grups", "did you mean `groups`?"]),
        (&["quick", "--set", "faults.crsh.for_t=2"], &["crsh", "did you mean `crash`?"]),
        (&["quick", "--set", "matrix.fault=crsh"], &["matrix.fault", "did you mean `crash`?"]),
        (&["quick", "--set", "election.groups"], &["no `=`", "key=value"]),
        (&["quick", "--set", ""], &["--set ''", "no `=`"]),
        (&["quick", "--candidate", "./x", "--candidate-set", ""], &["--candidate-set ''", "example leader_wakes=one"]),
        (&["quick", "--only", ""], &["--only ''", "no such cell"]),
        (&[""], &["'' is neither"]),
        (&["quick", "--set", "=3"], &["--set =3", "key=value"]),
        (&["quick", "--set", "election.groups=many"], &["election.groups=many", "a whole number"]),
        (&["quick", "--set", "election.groups=99999999999999999999"], &["a whole number from", "9223372036854775807"]),
        (&["quick", "--further", "-1"], &["--further", "from 0 to 1000"]),
        (&["quick", "--set", "election.groups=0"], &["election.groups", "0 groups", "candidates"]),
        (&["quick", "--set", "election.groups=1000001"], &["election.groups", "choose 0 to"]),
        (&["quick", "--set", "election.groups=-1"], &["election.groups=-1"]),
        (&["quick", "--set", "ensemble.servers=2"], &["ensemble.servers", "choose 1, 3 or 5"]),
        (&["quick", "--set", "matrix.recipe=broken:no-relist"], &["broken on purpose", "allow_broken"]),
        (&["quick", "--seed", "x"], &["--seed", "x"]),
        (&["quick", "--seed", "-1"], &["--seed", "from 0 to 18446744073709551615"]),
        (&["quick", "--ensemble", "cloud"], &["cloud", "local"]),
        (&["quick", "--base-port", "70000"], &["--base-port", "70000"]),
    ];
    for (arguments, words) in cases {
        let command = bench.command(&[&["run", "--out", "record"], *arguments].concat());
        refused(&bench, command, 2, words);
    }
}

#[test]
fn files_that_are_no_scenarios_are_refused_with_their_line() {
    let bench = Bench::new();
    let cases: &[(&str, &[&str])] = &[
        ("name = \"x\"\n[election]\nrecipee = \"naive\"\n", &["line 3", "recipee", "did you mean `recipe`?"]),
        ("name = \"x\"\n[election]\nrecipe = \"zab\"\n", &["line 3", "unknown recipe `zab`", "predecessor-watch"]),
        ("name = \"x\n", &["line 1"]),
        ("", &["name"]),
        ("name = \"x\"\n[matrix]\nfault = [\"none\", \"flood\"]\n", &["matrix.fault", "flood"]),
        ("name = \"x\"\n[election]\ngroup_names = [\"a/b\"]\ngroups = 1\n", &["a/b", "slash", "choose another name"]),
        ("\u{0}\u{1}", &["line 1"]),
        (
            &format!("name = \"x\"\n{} = 1\n", "y".repeat(500_000)),
            &["line 2", "unknown key `yyy", "…yyy", "known are name"],
        ),
    ];
    for (text, words) in cases {
        let file = bench.file("mine.toml", text).display().to_string();
        let command = bench.command(&["run", "--out", "record", &file]);
        refused(&bench, command, 2, &[&["mine.toml"], *words].concat());
    }
    fs::write(bench.path("binary.toml"), [0xff, 0xfe, 0x00]).expect("written");
    refused(&bench, bench.command(&["run", "--out", "record", "binary.toml"]), 2, &["binary.toml", "UTF-8"]);
    refused(&bench, bench.command(&["run", "--out", "record", "."]), 2, &["nor a file", "directory"]);
}

#[test]
fn a_missing_java_is_named_with_what_to_install() {
    let bench = Bench::new();
    let mut nowhere = run_calm(&bench, &["--ensemble", "local"]);
    nowhere.env("PATH", "").env_remove("JAVA_HOME");
    refused(&bench, nowhere, 4, &["no Java", "PATH", "default-jre-headless"]);
    let mut wrong = run_calm(&bench, &["--ensemble", "local"]);
    wrong.env("JAVA_HOME", "/no/such/jre");
    refused(&bench, wrong, 4, &["JAVA_HOME is /no/such/jre", "bin/java"]);
}

#[test]
fn a_broken_zookeeper_home_is_named_with_what_it_lacks() {
    let bench = Bench::new();
    let mut missing = run_calm(&bench, &[]);
    missing.env("ZOOKEEPER_HOME", bench.path("nothing"));
    refused(&bench, missing, 4, &["nothing", "no such folder", "--zookeeper-home"]);
    fs::create_dir_all(bench.path("empty/lib")).expect("made");
    let home = bench.path("empty").display().to_string();
    refused(&bench, run_calm(&bench, &["--zookeeper-home", &home]), 4, &["lib/zookeeper-<version>.jar"]);
}

#[test]
fn a_server_that_dies_at_its_start_is_told_with_its_last_log_lines() {
    let bench = Bench::new();
    let lib = bench.path("release/lib");
    fs::create_dir_all(&lib).expect("made");
    for jar in ["zookeeper-3.8.0.jar", "zookeeper-jute-3.8.0.jar", "slf4j-api-1.7.jar"] {
        fs::write(lib.join(jar), "a download that was cut off").expect("written");
    }
    let home = bench.path("release").display().to_string();
    let ran = refused(&bench, run_calm(&bench, &["--zookeeper-home", &home]), 4, &["server 1 died", "QuorumPeerMain"]);
    assert!(ran.err.contains("last log lines"), "{}", ran.err);
}

#[test]
fn a_taken_port_is_named_with_its_use() {
    let bench = Bench::new();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("its address").port().to_string();
    let wanted = [&format!("port {port}"), "client port of server 1", "base port"];
    refused(&bench, run_calm(&bench, &["--base-port", &port]), 4, &wanted);
}

#[test]
fn a_descriptor_limit_that_is_too_low_is_told_with_the_arithmetic() {
    let bench = Bench::new();
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -n 500 && exec \"$0\" run thousand --out record", EXE]);
    bench.at_home(&mut shell);
    refused(&bench, shell, 4, &["5000 sessions / 5 hosts = 1000", "+ 64", "1064", "500", "ulimit -Hn"]);
}

#[test]
fn a_descriptor_limit_that_no_command_gets_along_with_is_told() {
    let bench = Bench::new();
    for command in ["list", "proxy --listen 127.0.0.1:0", "run quick --out record"] {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit -n 7 && exec \"$0\" {command}"), EXE]);
        bench.at_home(&mut shell);
        refused(&bench, shell, 4, &["16 more descriptors", "ulimit -Hn"]);
    }
}

#[test]
fn what_exceeds_every_machine_is_refused_with_the_simulation_that_does_not() {
    let bench = Bench::new();
    refused(&bench, bench.command(&["run", "million", "--out", "record"]), 4, &["`hustings simulate million`"]);
}

#[test]
fn folders_that_cannot_hold_a_record_are_refused_before_anything_is_started() {
    let bench = Bench::new();
    bench.file("file", "mine");
    fs::create_dir(bench.path("old")).expect("made");
    bench.file("old/manifest.json", "{}");
    let out = |path: &str| bench.command(&["run", &bench.scenario(&calm()), "--out", path]);
    let ran = refused(&bench, out("file/record"), 4, &["file is not a folder", "--out"]);
    assert!(!ran.err.contains("ensemble:"), "{}", ran.err);
    refused(&bench, out("file"), 4, &["file is not a folder"]);
    refused(&bench, out("old"), 4, &["old holds a record already", "another --out"]);
    let inside = |path: &str, record: &str| format!("--out {path}: it lies in a record ({record})");
    refused(&bench, out("old/events/new"), 2, &[&inside("old/events/new", "old"), "another --out"]);
    fs::create_dir(bench.path("old/events")).expect("made");
    symlink("old/events", bench.path("link")).expect("made");
    refused(&bench, out("link/new/deep"), 2, &["--out link/new/deep: it lies in a record", "another --out"]);
    let mut by_default = bench.command(&["simulate", "quick", "--quiet"]);
    by_default.current_dir(bench.path("old"));
    refused(&bench, by_default, 2, &["it lies in a record (.)", "another --out"]);
    assert!(!bench.path("old/runs").exists());
    assert_eq!(fs::read_to_string(bench.path("file")).expect("text"), "mine");
    assert_eq!(fs::read_to_string(bench.path("old/manifest.json")).expect("text"), "{}");

    let mut elsewhere = run_calm(&bench, &[]);
    elsewhere.env("HUSTINGS_TMP", bench.path("no-such-folder"));
    refused(&bench, elsewhere, 4, &["no-such-folder", "HUSTINGS_TMP"]);
}

#[test]
fn a_folder_that_is_not_ones_own_is_refused() {
    let bench = Bench::new();
    fs::create_dir(bench.path("locked")).expect("made");
    let mut command = Command::new(EXE);
    if rustix::process::geteuid().is_root() {
        // Root may write anywhere, another user may not. The program may be where only root can reach it.
        fs::copy(EXE, bench.path("program")).expect("copied");
        for name in [".", "locked"] {
            fs::set_permissions(bench.path(name), Permissions::from_mode(0o755)).expect("changed");
        }
        command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "./program"]);
    } else {
        fs::set_permissions(bench.path("locked"), Permissions::from_mode(0o500)).expect("changed");
    }
    command.args(["run", "quick", "--out", "locked/record"]);
    bench.at_home(&mut command);
    refused(&bench, command, 4, &["nothing can be written to locked", "denied", "--out"]);
}

#[test]
fn a_toxiproxy_that_is_not_there_is_named() {
    let bench = Bench::new();
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its address").to_string();
    let over = |url: &str| run_calm(&bench, &["--set", "election.links=always", "--toxiproxy", url]);
    refused(&bench, over(&free), 4, &[&free, "refused"]);
    refused(&bench, over("ftp://x"), 2, &["ftp://x", "http://HOST:PORT"]);
}

#[test]
fn a_timeout_that_the_ensemble_clamps_is_told_and_the_negotiated_one_is_used() {
    let bench = Bench::new();
    // Below two ticks of 400 ms.
    let text = calm().replace("session_timeout_ms = 4000", "session_timeout_ms = 150");
    let ran = bench.run(&["run", &bench.scenario(&text), "--out", "record"]);
    // Sessions of 0.8 s may end on a machine that stalls for that long: the messages are the same.
    ran.fails_nothing();
    bench.assert_nothing_left();
    let summary = summary_of(&bench.path("record"));
    assert_eq!((summary.cells[0].info.timeout_asked_ms, summary.cells[0].timeout_ms), (150, Some(800)));
    let report = fs::read_to_string(bench.path("record/report.html")).expect("a report");
    for told in [&ran.err, &report] {
        assert!(told.contains("150 ms") && told.contains("800 ms"), "it is told: {told}");
    }
}

#[test]
fn records_that_are_not_there_are_told() {
    let bench = Bench::new();
    bench.file("manifest.json", "{\"schema\": 99}");
    fs::create_dir(bench.path("empty")).expect("made");
    for command in ["check", "report"] {
        bench.run(&[command, "empty"]).expect(4).error(&["empty/manifest.json", "is this the folder of a run?"]);
        bench.run(&[command, "no-such-folder"]).expect(4).error(&["no-such-folder"]);
        bench.run(&[command, "."]).expect(4).error(&["manifest.json", "schema 99"]);
    }
}
