//! Unusual conditions for the program: its outputs, its inputs, and interruptions.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::run_support::{Bench, files};
use rustix::process::Signal;

/// Longer than any of these takes.
const SOON: Duration = Duration::from_secs(60);

/// A simulated record that passes, with enough rounds for a gate.
pub(crate) fn simulated(bench: &Bench) {
    let run = ["simulate", "gate", "--only", "naive-resign", "--set", "repeat=2", "--out", "record", "--quiet"];
    bench.run(&run).expect(0);
}

/// Every option that writes a file and replaces one, with its command.
pub(crate) const WRITES: [&[&str]; 9] = [
    &["gate", "record", "--junit"],
    &["gate", "record", "--markdown"],
    &["gate", "record", "--bencher"],
    &["gate", "record", "--benchmark-action"],
    &["export", "record", "--csv"],
    &["export", "record", "--hdr"],
    &["export", "record", "--table"],
    &["list", "--runs", "--in", ".", "--page"],
    &["tune", "--pauses", "pauses.txt", "--weeks", "500", "--model", "--page"],
];

/// A command with its output path.
pub(crate) fn with<'a>(command: &[&'a str], target: &'a str) -> Vec<&'a str> {
    [command, &[target]].concat()
}

#[test]
fn whatever_is_written_goes_through_links_and_pipes_and_destroys_nothing_of_the_user_s() {
    let bench = Bench::new();
    simulated(&bench);
    bench.file("pauses.txt", &"120\n".repeat(40));
    for (number, command) in WRITES.iter().enumerate() {
        let name = |what: &str| format!("{what}-{number}");
        // The first output defines the expected content.
        bench.run(&with(command, &name("plain"))).expect(0);
        let wanted = fs::read(bench.path(&name("plain"))).expect("written");
        assert!(!wanted.is_empty());

        bench.file(&name("there"), "old");
        symlink(name("there"), bench.path(&name("link"))).expect("made");
        bench.run(&with(command, &name("link"))).expect(0);
        assert_eq!(fs::read(bench.path(&name("there"))).expect("read"), wanted, "{command:?}");
        assert!(bench.path(&name("link")).is_symlink(), "{command:?} took a link away");

        let pipe = bench.path(&name("pipe"));
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("it starts").success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).expect("read")
        });
        bench.run(&with(command, &name("pipe"))).expect(0);
        assert_eq!(reader.join().expect("it ends"), wanted, "{command:?}");
        assert!(fs::metadata(&pipe).expect("there").file_type().is_fifo(), "{command:?} took a pipe away");

        let out = bench.run(&with(command, "-")).expect(0).out;
        assert!(out.contains(std::str::from_utf8(&wanted).expect("a text").trim_end()), "{command:?}: {out}");

        for nowhere in ["record", "nowhere/x"] {
            let ran = bench.run(&with(command, nowhere)).expect(4);
            assert!(ran.err.contains(nowhere), "{command:?}: {}", ran.err);
        }
        assert!(!bench.path("-").exists());
    }
    assert_eq!(files(&bench.path("."), ".part").len(), 0);
    let hidden = fs::read_dir(bench.path(".")).expect("read").flatten();
    let hidden = hidden.filter(|entry| entry.file_name().to_string_lossy().starts_with(".hustings"));
    assert_eq!(hidden.count(), 0, "halves of files");
}

#[test]
fn the_verdict_is_told_though_it_cannot_be_written_down() {
    let bench = Bench::new();
    simulated(&bench);
    let ran = bench.run(&["gate", "record", "--junit", "nowhere/x", "--json"]).expect(4);
    assert!(ran.err.contains("gate: pass") && ran.err.contains("nowhere"), "{}", ran.err);
    assert!(ran.out.contains("\"verdict\": \"pass\""), "{}", ran.out);
    let twice = bench.run(&["gate", "record", "--junit", "x", "--markdown", "x"]).expect(2);
    assert!(twice.err.contains("--junit and --markdown"), "{}", twice.err);
    bench.run(&["gate", "record", "--junit", "-", "--json"]).expect(2);
}

#[test]
fn a_record_of_which_something_was_taken_away_passes_nowhere() {
    type RecordDamage = fn(&Path);
    let changes: [(&str, RecordDamage); 4] = [
        ("seal", |record| {
            let path = record.join("manifest.json");
            let mut manifest: serde_json::Value =
                serde_json::from_str(&fs::read_to_string(&path).expect("read")).expect("JSON");
            manifest.as_object_mut().expect("an object").remove("seal");
            manifest["ensemble_kind"] = "local".into();
            fs::write(&path, manifest.to_string()).expect("written");
        }),
        ("scenario.toml", |record| fs::remove_file(record.join("scenario.toml")).expect("it was there")),
        ("not named", |record| {
            let cell = fs::read_dir(record.join("events")).expect("read").flatten().next().expect("a cell").path();
            fs::write(cell.join("host-099.0.jsonl"), "").expect("written");
        }),
        ("extra.txt: not named", |record| fs::write(record.join("extra.txt"), "").expect("written")),
    ];
    for (told, change) in changes {
        let bench = Bench::new();
        simulated(&bench);
        bench.run(&["baseline", "save", "before", "record"]).expect(0);
        change(&bench.path("record"));
        for command in [
            &["check", "record"][..],
            &["gate", "record"],
            &["baseline", "save", "after", "record"],
            &["gate", "record", "--baseline", "before", "--force"],
        ] {
            let ran = bench.run(command).expect(3);
            assert!(ran.err.contains(told), "{command:?} of {told}: {}", ran.err);
        }
        let exported = bench.run(&["export", "record"]).expect(0);
        assert!(exported.err.contains("warning") && exported.err.contains(told), "{}", exported.err);
        bench.forget("record");
    }
}

#[test]
fn a_manifest_of_another_schema_is_refused() {
    let bench = Bench::new();
    simulated(&bench);
    let path = bench.path("record/manifest.json");
    let mut manifest: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&path).expect("read")).expect("JSON");
    manifest.as_object_mut().expect("an object").remove("seal");
    manifest["schema"] = 2.into();
    fs::write(&path, manifest.to_string()).expect("written");
    for command in [&["check", "record"][..], &["gate", "record"], &["export", "record"]] {
        let ran = bench.run(command).expect(4);
        assert!(ran.err.contains("schema 2, and this version reads 3"), "{command:?}: {}", ran.err);
    }
    bench.forget("record");
}

#[test]
fn stored_files_that_never_end_hold_nothing_up() {
    let bench = Bench::new();
    simulated(&bench);
    fs::create_dir_all(bench.path("runs/one")).expect("made");
    fs::create_dir_all(bench.path("baselines")).expect("made");
    fs::copy(bench.path("record/manifest.json"), bench.path("runs/one/manifest.json")).expect("copied");
    for pipe in ["runs/one/summary.json", "baselines/b.json", "history.csv"] {
        assert!(Command::new("mkfifo").arg(bench.path(pipe)).status().expect("it starts").success());
    }
    for (command, code) in [
        (&["list", "--runs"][..], 0),
        (&["gate", "record", "--baseline", "b", "--baselines", "baselines"], 4),
        (&["gate", "record", "--history", "history.csv"], 4),
    ] {
        let ran = bench.start(bench.command(command)).end_within(SOON).expect(code);
        assert!(ran.err.contains("no plain file"), "{command:?}: {}", ran.err);
    }
}

#[test]
fn what_names_hold_does_nothing_on_a_terminal() {
    let bench = Bench::new();
    simulated(&bench);
    let odd = "a\u{1b}[31m\u{7}\u{202e}b";
    for command in [
        &["run", "--set", &format!("{odd}=1"), "--dry-run"][..],
        &["run", "quick", "--only", odd, "--dry-run"],
        &["run", odd],
        &["gate", "record", "--baseline", odd],
        &["check", odd],
        &["report", odd],
        &["tune", "--pauses", odd],
    ] {
        let ran = bench.run(command);
        assert!(ran.code != 0 && ran.err.contains("error"), "{command:?}: {}", ran.err);
        let does = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!ran.err.contains(does), "{command:?}: {:?}", ran.err);
    }
}

#[test]
fn no_text_from_outside_is_a_line_of_its_own_in_a_jobs_log() {
    let bench = Bench::new();
    simulated(&bench);
    let odd = "a\r\n::error::boo";
    bench.file("limits.toml", "\"a\\r\\n::error::boo\" = 1\n");
    bench.file("scenario.toml", "name = \"x\"\n[election]\nrecipe = \"a\\n::error::boo\"\n");
    for command in [
        &["run", odd][..],
        &["run", "quick", "--only", odd, "--dry-run"],
        &["run", "scenario.toml", "--dry-run"],
        &["gate", "record", "--limits", "limits.toml", "--github"],
        &["gate", "record", "--baseline", odd],
        &["check", odd],
        &["tune", "--model", "--client", odd, "--pauses", "x"],
    ] {
        let ran = bench.run(command);
        assert!(ran.code != 0 && ran.err.contains("::error::boo"), "{command:?}: {}", ran.err);
        assert!(!ran.err.lines().any(|line| line.trim_start().starts_with("::")), "{command:?}: {}", ran.err);
    }
}

#[test]
fn whatever_asks_a_command_to_end_gets_130_and_nothing_is_left() {
    let program = ["candidate", "check", "--", "sleep", "300"];
    let simulates = ["simulate", "quick", "--set", "repeat=900", "--out", "half"];
    let known = ["simulate", "--known", "--seeds", "0..1000000"];
    let serves = ["proxy", "--listen", "127.0.0.1:0"];
    let mut begun = Vec::new();
    for (command, signals) in [
        (&program[..], &[Signal::INT, Signal::TERM][..]),
        (&simulates, &[Signal::INT, Signal::TERM, Signal::HUP]),
        (&known, &[Signal::QUIT]),
        (&serves, &[Signal::INT, Signal::TERM, Signal::HUP]),
    ] {
        for &signal in signals {
            let bench = Bench::new();
            let running = bench.start(bench.command(command));
            begun.push((command, signal, bench, running));
        }
    }
    begun.iter_mut().for_each(|(_, signal, _, running)| running.until_it_handles(*signal));
    // Time for all of them to get into the middle of their work.
    std::thread::sleep(Duration::from_millis(1_500));
    for (command, signal, bench, running) in begun {
        running.signal(signal);
        running.end_within(SOON).expect(130);
        assert!(!bench.path("half").exists(), "{command:?}: half a record");
        bench.assert_nothing_left();
    }
}

#[test]
fn a_proxy_that_cannot_say_where_it_listens_ends_with_4() {
    let bench = Bench::new();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("it is there");
    let mut command = bench.command(&["proxy", "--listen", "127.0.0.1:0"]);
    let ran = command.stdout(full).stderr(Stdio::piped()).output().expect("it runs");
    assert_eq!(ran.status.code(), Some(4));
    let told = String::from_utf8_lossy(&ran.stderr);
    assert!(told.contains("standard output cannot be written") && !told.contains("bug"), "{told}");
}

#[test]
fn a_program_that_ended_or_says_nonsense_is_told_of_at_once_and_by_name() {
    let bench = Bench::new();
    for (script, told) in
        [("exit 7", "exit status: 7"), ("echo hi; sleep 300 & setsid sleep 300 & exit 3", "exit status: 3")]
    {
        let began = std::time::Instant::now();
        let ran = bench.run(&["candidate", "check", "--", "sh", "-c", script]).expect(1);
        assert!(ran.err.contains(told), "{}", ran.err);
        assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
        assert_eq!(ran.err.contains("\"hi\""), script.contains("hi"), "{}", ran.err);
    }
    bench.assert_nothing_left();
}

#[test]
fn what_is_missing_or_has_no_meaning_is_told_before_anything_is_done() {
    let bench = Bench::new();
    simulated(&bench);
    bench.file("pauses.txt", "120\n");
    bench.file("no-limit.toml", "[cells.\"*\"]\n");
    symlink("record/manifest.json", bench.path("into-record")).expect("a link");
    symlink("none-yet", bench.path("dangling")).expect("a link");
    let (long, marked) = ("x".repeat(100_000), "\u{202e}x");
    bench.file("long.toml", &format!("injections = 4\nnope_{} = 1\n", "x".repeat(100_000)));
    bench.file("marked.toml", "\u{feff}injections = 4\n");
    for (command, told) in [
        (&["run", "quick", "--candidate", "./no-such", "--dry-run"][..], "no program \"./no-such\""),
        (&["run", "quick", "--candidate", "no-such-at-all", "--dry-run"], "\"no-such-at-all\" in PATH"),
        (&["run", "quick", "--candidate", "./pauses.txt", "--dry-run"], "not executable"),
        (
            &["run", "split-brain", "--candidate", "/bin/true {connect} {group}", "--dry-run"],
            "--set election.groups=1 --set election.hosts=5 --set election.candidates_per_group=5, and {resource}",
        ),
        (
            &["run", "quick", "--candidate", "/bin/true {group}", "--set", "election.groups=1", "--dry-run"],
            "foreign.candidate.command: tells the program its election, and not where to write; add {resource}",
        ),
        (&["tune", "--pauses", "pauses.txt", "--weeks", "8", "--model", "--page", "pauses.txt"], "it is read"),
        (
            &[
                "tune",
                "--pauses",
                "pauses.txt",
                "--connect",
                "127.0.0.1:1",
                "--auth-file",
                "long.toml",
                "--page",
                "long.toml",
            ],
            "--page long.toml: it is read",
        ),
        (&["tune", "--pauses", "pauses.txt", "--weeks", "-8", "--model"], "--weeks -8"),
        (&["gate", "record", "--limits", "marked.toml", "--junit", "marked.toml"], "it is read"),
        (&["gate", "record", "--junit", "record/manifest.json"], "lies in a record"),
        (&["gate", "record", "--markdown", "into-record"], "lies in a record"),
        (&["baseline", "save", "manifest", "record", "--baselines", "record"], "lies in a record"),
        (&["gate", "record", "--limits", "no-limit.toml"], "it says nothing"),
        (&["gate", "record", "--delta", "5%"], "--delta has no effect"),
        (&["gate", "record", "--commit", "abc"], "--commit has no effect"),
        (&["simulate", "quick", "--known"], "--known"),
        (&["simulate", "--known", "no-such-bug"], "no known bug is called"),
        (&["run", "quick", "--candidate", "python3 'mine.py", "--dry-run"], "within a quote"),
        (&["run", "quick", "--candidate", "python3", "my.py", "--dry-run"], "--candidate 'python3 my.py'"),
        (&["run", "--candidate", "python3", "my.py", "--dry-run"], "quote the command: --candidate 'python3 my.py'"),
        (&["run", "quick", "--connect", "127.0.0.1:1,127.0.0.1:1", "--dry-run"], "twice"),
        (&["explain", ""], "figure or term \"\" ("),
        (&["baseline", "show", "nope"], "there is no baseline baselines/nope.json"),
        (&["tune", "--pauses", "pauses.txt", "--weeks", "1e-300", "--model"], "--weeks 1e-300"),
        (&["tune", "--pauses", "pauses.txt", "--weeks", "8w", "--model"], "a number"),
        (&["run", "quick", "--base-port", "0", "--dry-run"], "--base-port"),
        (&["run", "quick", "--base-port", "65528", "--dry-run"], "choose 65527 at most"),
        (&["run", "quick", "--base-port", "65535", "--ensemble", "embedded", "--dry-run"], "ports end at 65535"),
        (&["run", "--zookeeper-home", "/zk", "--ensemble", "embedded", "--dry-run"], "leave one of the two out"),
        (&["run", "quick", "--chaos", "--for", "0s", "--dry-run"], "--for"),
        (&["init", "record/events/x"], "lies in a record"),
        (&["run", "quick", "--toxiproxy", "7\n7", "--dry-run"], "--toxiproxy '7"),
        (&["run", "quick", "--toxiproxy", "0x10", "--dry-run"], "it would be read as 0.0.0.16"),
        (&["export", "record", "--csv", "record/events/x"], "lies in a record"),
        (&["gate", "record", "--junit", "one", "--markdown", "./one"], "name the same file"),
        (&["export", "record", "--csv", "none-yet", "--hdr", "dangling"], "name the same file"),
        (&["run", "quick", "--ensemble", &long], "xxx…xxx"),
        (&["run", "quick", "--ensemble", marked], "'\u{fffd}x'"),
        (&["baseline", "save", &long, "record"], "100 at most"),
        (&["run", "gate", "--against-exe", "/bin/true", "--dry-run"], "/bin/true is no hustings"),
        (&["run", "gate", "--against-exe", "pauses.txt", "--dry-run"], "no hustings that can be started"),
        (&["candidate", "check", "--", "./no-such"], "no program \"./no-such\""),
        (&["compare", "record", "record"], "one record"),
        (&["gate", "--figures", "--json"], "--figures"),
        (&["gate", "record", "--limits", "long.toml"], "line 2, column"),
        (&["tune", "--pauses", "pauses.txt", "--weeks", "8", "--model", "--ensemble", "embedded"], "--ensemble"),
        (&["tune", "--pauses", "pauses.txt", "--weeks", "8", "--model", "--tls-ca", "/dev/zero"], "--tls-ca"),
        (&["tune", "--pauses", "pauses.txt", "--weeks", "8", "--model", "--zookeeper-home", "/zk"], "--zookeeper-home"),
        (&["simulate", "quick", "--seeds", "0..3", "--out", "x"], "--out"),
        (&["simulate", "quick", "--schedule", "1", "--cell", "nope"], "no cell nope"),
        (&["run", "quick", "--delta", "5%", "--dry-run"], "--delta"),
    ] {
        let ran = bench.run(command).expect(2);
        assert!(ran.err.contains(told) && ran.err.len() < 4_000, "{command:?}: {}", ran.err);
    }
    bench.run(&["gate", "record", "--limits", "marked.toml"]).expect(0);
    let mute = ["run", "split-brain", "--candidate", "/bin/true {connect} {group} {resource}", "--dry-run"];
    let sets = ["election.groups=1", "election.hosts=5", "election.candidates_per_group=5"].map(|set| ["--set", set]);
    bench.run(&[&mute[..], sets.as_flattened()].concat()).expect(0);
    // No seed is too large.
    bench.run(&["simulate", "quick", "--seeds", "18446744073709551614..18446744073709551615"]).expect(0);
    bench.assert_nothing_left();
}

#[test]
fn a_log_that_is_still_written_is_read_up_to_its_last_whole_line() {
    let bench = Bench::new();
    let log = "# stopped\n120\n130\n12x";
    let tune = ["tune", "--pauses", "pauses.txt", "--weeks", "500", "--model"];
    bench.file("pauses.txt", log);
    assert_ne!(bench.run(&tune).code, 2);
    bench.file("pauses.txt", &format!("{log}\n"));
    assert!(bench.run(&tune).expect(2).err.contains("line 4"));
    bench.file("pauses.txt", "NaN");
    assert!(bench.run(&tune).expect(2).err.contains("line 1"));
}

/// Every option that reads a file, with its command.
const READS: [&[&str]; 16] = [
    &["check"],
    &["report"],
    &["export"],
    &["calibrate"],
    &["compare", "record"],
    &["gate"],
    &["gate", "record", "--limits"],
    &["gate", "record", "--baseline"],
    &["gate", "record", "--history"],
    &["baseline", "save", "x"],
    &["tune", "--model", "--weeks", "8", "--pauses"],
    &["tune", "--pauses", "pauses.txt", "--weeks", "8", "--record"],
    &["simulate", "quick", "--timing"],
    &["simulate"],
    &["run", "--dry-run"],
    &["run", "quick", "--dry-run", "--connect", "127.0.0.1:1", "--auth-file"],
];

#[test]
fn whatever_is_read_may_be_anything_and_is_refused_by_its_name() {
    let bench = Bench::new();
    simulated(&bench);
    bench.file("pauses.txt", "120\n");
    bench.file("empty", "");
    bench.file("long", &"x".repeat(2_000_000));
    fs::write(bench.path("bytes"), [0xff, 0xfe, 0, 0x1b, b'\n', 0xc3]).expect("written");
    symlink("round", bench.path("round")).expect("made");
    fs::create_dir(bench.path("folder")).expect("made");
    for command in READS {
        for bad in ["missing", "empty", "long", "bytes", "round", "folder", "record/manifest.json/x", "/dev/zero", ""] {
            // A missing history is created, and a file of settings may be empty.
            let is_history = command.ends_with(&["--history"]);
            let may_be_empty = is_history || command.ends_with(&["--limits"]) || command.ends_with(&["--timing"]);
            if is_history && bad == "missing" || may_be_empty && bad == "empty" {
                continue;
            }
            let ran = bench.start(bench.command(&with(command, bad))).end_within(SOON);
            assert!([2, 4].contains(&ran.code), "{command:?} {bad}: {} {}", ran.code, ran.err);
            assert!(ran.err.contains(bad) && !ran.err.contains("bug"), "{command:?} {bad}: {}", ran.err);
            assert!(ran.err.len() < 8_000, "{command:?} {bad}: it echoes all of it");
        }
    }
    bench.assert_nothing_left();
}
