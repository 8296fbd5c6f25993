//! `hustings tune`: its answer by the model, its use of a record, and its errors about unusable logs.

use crate::run_support::{Bench, EXE};
use serde_json::Value;

/// JSON on standard output of a run with this exit code.
fn answer(bench: &Bench, arguments: &[&str], code: i32) -> Value {
    bench.run(&[&["tune", "--json"], arguments].concat()).expect(code).json()
}

#[test]
fn the_answer_is_the_one_that_is_known_by_construction() {
    let bench = Bench::new();
    // 26 weeks: many pauses of 1 s, ten of 9 s. With a tick of 2 s and pings every T/3, they expire every session of 6
    // s. They expire 43 % of those of 10 s, 6.4 % of 12 s and none of 14 s. Nothing beyond the midpoint in 26 weeks is
    // a bound of 0.115.
    let pauses = "1000\n".repeat(400) + &"9000\n".repeat(10);
    let file = bench.file("pauses.txt", &pauses).display().to_string();
    let ask = ["--pauses", &file, "--weeks", "26", "--model", "--false-per-week", "0.13"];
    let shown = answer(&bench, &ask, 0);
    let rows = shown["advice"]["rows"].as_array().expect("rows");
    let false_at = |ms: u64| {
        let row = rows.iter().find(|row| row["timeout_ms"] == ms).expect("a row");
        row["false_failovers"]["per_week"].as_f64().expect("a rate")
    };
    assert!((false_at(6_000) - 10.0 / 26.0).abs() < 1e-9 && false_at(14_000) == 0.0);
    assert!((false_at(12_000) - 0.063_756 * 10.0 / 26.0).abs() < 1e-4, "{}", false_at(12_000));
    let recommended = &shown["advice"]["recommended"];
    assert_eq!((&recommended["grade"], &recommended["timeout_ms"]), (&"shown".into(), &12_000.into()));
    // A single week of the same is not enough evidence.
    let week = answer(&bench, &["--pauses", &file, "--weeks", "1", "--model"], 3);
    assert_eq!(week["advice"]["recommended"]["grade"], "estimated");
    let text = bench.run(&["tune", "--pauses", &file, "--weeks", "26", "--model"]).err;
    assert!(text.contains("410 pauses in 26 weeks, the longest 9.00 s") && text.contains("was not measured"), "{text}");
}

#[test]
fn the_answer_can_be_had_as_a_page_with_every_timeout_that_is_worth_a_look() {
    let bench = Bench::new();
    let file = bench.file("pauses.txt", &("1000\n".repeat(400) + "9000\n")).display().to_string();
    let asked = ["tune", "--pauses", &file, "--weeks", "26", "--model", "--tick-ms", "2000"];
    let told = bench.run(&[&asked[..], &["--page", "t.html"]].concat());
    let page = std::fs::read_to_string(bench.path("t.html")).expect("a page");
    assert_eq!((page.matches("<svg").count(), page.matches("class=\"taken\"").count()), (2, 1), "{}", told.err);
    let shown = page.matches("<tr").count() - 1;
    assert!((4..19).contains(&shown), "{shown} of 2 to 20 ticks: beyond the longest pause a longer T gains nothing");
    assert!(!page.contains("<td>40 s</td>"));
    assert!(!page.contains("<script") && page.contains("What it rests on") == told.err.contains("measured with"));
    let nowhere = bench.run(&[&asked[..], &["--page", "nowhere/t.html"]].concat()).expect(4);
    assert!(nowhere.err.contains("nowhere/t.html cannot be written: there is no folder nowhere"), "{}", nowhere.err);
}

#[test]
fn a_machine_that_is_watched_is_a_log_of_pauses() {
    let bench = Bench::new();
    let seen: Value = bench.run(&["doctor", "--watch", "machine.hlog", "--for", "300ms", "--json"]).expect(0).json();
    assert!(seen["watched_ns"].as_u64() >= Some(300_000_000), "{seen}");
    let advice = &answer(&bench, &["--pauses", "machine.hlog", "--weeks", "1", "--model"], 3)["advice"];
    assert_eq!((&advice["shape"], &advice["pauses"]), (&"intervals".into(), &1.into()), "{advice}");
    let again = bench.run(&["doctor", "--watch", "machine.hlog"]).expect(4);
    assert!(again.err.contains("choose another name"), "{}", again.err);
}

#[test]
fn a_log_that_is_removed_while_the_machine_is_watched_is_not_offered() {
    let bench = Bench::new();
    let mut watching = bench.start(bench.command(&["doctor", "--watch", "machine.hlog", "--for", "3s"]));
    watching.until("the log", || bench.path("machine.hlog").exists());
    std::fs::remove_file(bench.path("machine.hlog")).expect("removed");
    let ran = watching.end().expect(4);
    ran.error(&["machine.hlog was removed", "watch again"]);
    assert!(ran.err.contains("watched for") && !ran.err.contains("hustings tune"), "{}", ran.err);
}

#[test]
fn a_time_to_watch_is_refused_where_nothing_is_watched() {
    let bench = Bench::new();
    for more in [&[] as &[&str], &["--zookeeper-home", "/tmp"]] {
        bench.run(&[&["doctor", "--for", "3s"], more].concat()).expect(2).error(&["--for", "--watch"]);
    }
}

#[test]
fn a_working_directory_that_is_gone_is_named_and_no_program_is_blamed() {
    let bench = Bench::new();
    for command in [&["doctor"][..], &["candidate", "check", "--", "sleep", "1"]] {
        let shell = "mkdir gone && cd gone && rmdir ../gone && exec \"$0\" \"$@\"";
        let mut gone = std::process::Command::new("sh");
        gone.args(["-c", shell, EXE]).args(command);
        bench.at_home(&mut gone);
        let ran = bench.start(gone).end().expect(4);
        assert!(ran.err.contains("the working directory cannot be used"), "{}", ran.err);
        assert!(ran.err.contains("change to a folder that exists") && !ran.err.contains("JAVA_HOME"), "{}", ran.err);
    }
}

#[test]
fn no_pause_says_what_zero_means() {
    let bench = Bench::new();
    let file = bench.file("none.txt", "# none\n").display().to_string();
    let ran = bench.run(&["tune", "--pauses", &file, "--weeks", "6", "--model"]).expect(3);
    let said = ran.err.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["No pause was seen in 6 weeks", "at most 3 in as long: 0.5 a week"] {
        assert!(said.contains(words), "{said}");
    }
    let missing =
        answer(&bench, &["--pauses", &file, "--weeks", "6", "--model"], 3)["advice"]["recommended"]["weeks_missing"]
            .clone();
    assert!((missing.as_f64().expect("weeks") - (2.995_73 / 0.25 - 6.0)).abs() < 0.01);
}

#[test]
fn rotated_logs_are_watched_between_their_own_lines() {
    let bench = Bench::new();
    let line = |at: u32, s: f64| {
        format!("[{at}.000s][info][safepoint] Total time for which application threads were stopped: {s} seconds\n")
    };
    // A week in each of two files, and ten weeks between them that nobody logged.
    bench.file("gc.log.0", &(line(0, 0.5) + &line(604_800, 0.5)));
    bench.file("gc.log.1", &(line(6_652_800, 0.4) + &line(7_257_600, 0.4)));
    let both = answer(&bench, &["--pauses", "gc.log.0", "gc.log.1", "--model"], 3);
    let advice = &both["advice"];
    assert!((advice["weeks"].as_f64().expect("weeks") - 2.0).abs() < 1e-9 && advice["pauses"] == 4, "{advice}");
    bench.file("ms.txt", "12\n");
    let mixed = bench.run(&["tune", "--pauses", "gc.log.0", "ms.txt", "--model"]).expect(2);
    mixed.error(&["ms.txt", "a file of milliseconds", "one kind"]);
    bench
        .run(&["tune", "--pauses", "gc.log.0", "./gc.log.0", "--model"])
        .expect(2)
        .error(&["gc.log.0", "the same pauses"]);
    std::fs::copy(bench.path("gc.log.0"), bench.path("copy")).expect("copied");
    bench.run(&["tune", "--pauses", "gc.log.0", "copy", "--model"]).expect(2).error(&["copy", "the same pauses"]);
}

#[test]
fn a_part_of_a_log_that_is_given_twice_is_refused() {
    let bench = Bench::new();
    let line = |at: u32| {
        format!("[{}.000s] Total time for which application threads were stopped: 0.0{at} seconds\n", at * 600)
    };
    let lines: Vec<String> = (0..100).map(line).collect();
    bench.file("a.log", &lines.concat());
    bench.file("earlier.log", &lines[..90].concat());
    for files in [["a.log", "earlier.log"], ["earlier.log", "a.log"]] {
        let ran = bench.run(&["tune", "--model", "--pauses", files[0], files[1]]).expect(2);
        ran.error(&["a.log", "earlier.log", "90 pauses", "give each part of a log once"]);
    }
    bench.file("twice.log", &(lines.concat() + &lines.concat()));
    bench.run(&["tune", "--model", "--pauses", "twice.log"]).expect(2).error(&["twice.log holds 100 pauses twice"]);
}

#[test]
fn a_log_of_pauses_that_overlap_is_refused_with_the_remedy() {
    let bench = Bench::new();
    let line =
        |at: u32| format!("[{}.000s] Total time for which application threads were stopped: 700.0 seconds\n", at * 600);
    bench.file("stopped.log", &(0..2_000).map(line).collect::<String>());
    let ran = bench.run(&["tune", "--model", "--timeout-ms", "10000", "--pauses", "stopped.log"]).expect(2);
    ran.error(&["stopped.log", "line 3", "line 2", "give one log per process"]);
}

#[test]
fn the_exit_code_is_about_the_timeout_that_was_asked_about() {
    let bench = Bench::new();
    bench.file("pauses.txt", &("1000\n".repeat(400) + &"9000\n".repeat(10)));
    for (timeout, code, said) in [
        ("6000", 1, "Your T = 6 s is too short"),
        ("14000", 0, "Your T = 14 s is long enough"),
        ("60000", 0, "Your T = 60 s (granted as 40 s) is long enough"),
        ("10000", 3, "Your T = 10 s is probably too short"),
    ] {
        let ask = ["tune", "--pauses", "pauses.txt", "--weeks", "26", "--model", "--timeout-ms", timeout];
        let ran = bench.run(&[&ask[..], &["--false-per-week", "0.15"]].concat()).expect(code);
        assert!(ran.err.split_whitespace().collect::<Vec<_>>().join(" ").contains(said), "{}", ran.err);
    }
    let ask = ["tune", "--pauses", "pauses.txt", "--weeks", "26", "--model", "--timeout-ms", "10s"];
    bench.run(&ask).expect(2).error(&["--timeout-ms", "10000"]);
}

#[test]
fn weeks_that_a_log_s_own_times_contradict_show_nothing() {
    let bench = Bench::new();
    // An hour of safepoints, and a log of a single line.
    let hour: String = (0..60).map(|at| safepoint(at * 60, 5, 59_995)).collect();
    bench.file("hour.log", &hour);
    bench.file("one.log", "[0.007s][info][gc] Using G1\n");
    for (log, said) in [("hour.log", "the log covers 59.0 min"), ("one.log", "the log covers 0 s")] {
        let ran = bench.run(&["tune", "--model", "--weeks", "52", "--pauses", log]).expect(3);
        let text = ran.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(said) && text.contains("it does not show 52.0 weeks"), "{text}");
    }
}

/// A line of a JVM about a stop of `ms`, that was over at `at_s`, and `since_ms` after the one before.
fn safepoint(at_s: u64, ms: u64, since_ms: u64) -> String {
    let (total, since) = (ms * 1_000_000, since_ms * 1_000_000);
    let parts = format!("Time since last: {since} ns, Reaching safepoint: 1 ns, Cleanup: 1 ns, At safepoint: 1 ns");
    format!("[{at_s}.000s][safepoint] Safepoint \"x\", {parts}, Total: {total} ns\n")
}

#[test]
fn a_log_of_two_kinds_of_pauses_is_refused_by_the_line() {
    let bench = Bench::new();
    let day: String = (0..24).map(|at| safepoint(at * 3_600, 5, 3_599_995)).collect();
    let full = |at: u64| format!("[{}.0s][info][gc] GC({at}) Pause Full (x) 4M->3M(4M) 20000.123ms\n", at * 3_600);
    bench.file("mixed.log", &(day + &(1..1_000).map(full).collect::<String>()));
    let ran = bench.run(&["tune", "--model", "--pauses", "mixed.log"]).expect(2);
    ran.error(&["mixed.log", "line 25", "garbage collections of a JVM", "different kinds of pauses"]);
}

#[test]
fn lines_that_are_skipped_are_in_the_page_and_in_the_json() {
    let bench = Bench::new();
    bench.file("pauses.log", &("hello\n".to_owned() + &safepoint(0, 5, 0) + &safepoint(60, 5, 59_995)));
    let asked = ["--pauses", "pauses.log", "--model", "--page", "t.html"];
    let advice = &answer(&bench, &asked, 3)["advice"];
    assert_eq!((&advice["skipped"], &advice["first_skipped"][0]), (&1.into(), &1.into()), "{advice}");
    let page = std::fs::read_to_string(bench.path("t.html")).expect("a page");
    assert!(page.contains("1 line tells of other things than pauses and was skipped; the first is line 1"), "{page}");
}

#[test]
fn logs_that_cannot_be_used_are_refused_by_the_line() {
    let bench = Bench::new();
    for (content, told) in [
        ("12\nsoon\n", "line 2: \"soon\" is no number of milliseconds"),
        ("2026-01-01 INFO hello\n", "line 1: \"2026-01-01 INFO hello\" is not understood"),
        ("", "it is empty"),
        ("12\n", "log: it does not say for how long pauses were recorded (a file of milliseconds): give --weeks"),
    ] {
        let file = bench.file("log", content).display().to_string();
        bench.run(&["tune", "--pauses", &file, "--model"]).expect(2).error(&["log", told]);
    }
    let many: Vec<String> =
        (1..=12).map(|at| bench.file(&format!("{at}.txt"), &format!("{at}\n")).display().to_string()).collect();
    let many: Vec<&str> = ["tune", "--model", "--pauses"].into_iter().chain(many.iter().map(String::as_str)).collect();
    bench.run(&many).expect(2).error(&["8.txt and 4 more: they do not say for how long pauses were recorded"]);
    bench.run(&["tune", "--pauses", "no-such-file", "--model"]).expect(2).error(&["no-such-file"]);
    let file = bench.file("log", "12\n").display().to_string();
    for wrong in [
        ["--weeks", "0"],
        ["--weeks", "NaN"],
        ["--false-per-week", "0"],
        ["--timeout-ms", "-1"],
        ["--timeout-ms", "2147483648"],
        ["--tick-ms", "0"],
        ["--client", "perl"],
        ["--step-down", "never"],
    ] {
        bench.run(&[&["tune", "--pauses", &file, "--model"][..], &wrong[..]].concat()).expect(2).error(&[wrong[0]]);
    }
    bench.run(&["tune", "--pauses", &file, "--weeks", "1", "--record", "nowhere"]).expect(4).error(&["nowhere"]);
}

#[test]
fn a_curve_that_was_measured_holds_in_another_run() {
    let bench = Bench::new();
    let file = bench.file("pauses.txt", "3000\n").display().to_string();
    let bands = |record: &str, seed: &str| {
        bench.run(&["simulate", "pauses", "--seed", seed, "--out", record, "-q"]);
        // The servers are no real ones: such a curve shows nothing for certain.
        let found = answer(&bench, &["--pauses", &file, "--weeks", "20", "--record", record], 3);
        assert_eq!(
            (&found["measured"]["real_servers"], &found["measured"]["verdict"]),
            (&false.into(), &"pass".into())
        );
        let recommended = &found["advice"]["recommended"];
        assert_eq!(recommended["grade"], "estimated");
        assert!(recommended["doubt"].as_str().is_some_and(|doubt| doubt.contains("not measured on real servers")));
        assert!(
            found["measured"]["crashes"]["n"].as_u64() > Some(0) && found["measured"]["left_out"]["unverified"] == 0
        );
        found["measured"]["bands"].as_array().expect("bands").clone()
    };
    let (one, other) = (bands("one", "1"), bands("other", "2"));
    assert!(one.len() >= 10 && one.len() == other.len());
    let of = |band: &Value, key: &str| band[key].as_f64().expect("a number");
    let sessions: f64 = one.iter().map(|band| of(band, "sessions")).sum();
    assert!(sessions >= 400.0, "{sessions} sessions met a pause");
    assert_eq!(of(&one[0], "expired"), 0.0, "half of T expires nothing");
    assert_eq!(one.last().map(|band| of(band, "expired") == of(band, "sessions")), Some(true), "1.4 T expires all");
    for (one, other) in one.iter().zip(&other) {
        // The first run's fitted curve for such pauses is within the second run's observations, give or take one in
        // ten.
        let fitted = of(one, "fitted");
        assert!(of(other, "low") - 0.1 <= fitted && fitted <= of(other, "high") + 0.1, "{one} {other}");
    }
    // A record without pauses has no curve.
    bench.run(&["simulate", "quick", "--only", "naive-resign", "--out", "resigned", "-q"]).expect(0);
    bench
        .run(&["tune", "--pauses", &file, "--weeks", "20", "--record", "resigned"])
        .expect(2)
        .error(&["too few for a curve", "`hustings run pauses` makes such a record"]);
}

#[test]
fn a_measurement_that_cannot_begin_is_refused_before_anything_is_started() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("full")).expect("a folder");
    let file = bench.file("full/pauses.txt", "3000\n").display().to_string();
    let ask = ["tune", "--pauses", &file, "--weeks", "20", "--ensemble", "embedded"];
    bench.run(&[&ask[..], &["--out", "full"]].concat()).expect(4).error(&["not empty"]);
    bench.run(&[&ask[..], &["--set", "election.grps=3"]].concat()).expect(2).error(&["grps", "groups"]);
    // Both options define what to measure.
    bench.run(&[&ask[..], &["--model", "--record", "full"]].concat()).expect(2).error(&["--model", "--record"]);
    // Logs are read first: a user does not wait minutes for a measurement before an error in a file is reported.
    let wrong = bench.file("wrong.txt", "soon\n").display().to_string();
    bench.run(&["tune", "--pauses", &wrong, "--weeks", "1"]).expect(2).error(&["line 1"]);
    bench.assert_nothing_left();
}
