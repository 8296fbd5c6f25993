//! What is read of the logs of each collector and version of a JVM, with each kind of decoration, and what is refused: a log of
//! which no line tells of a pause is an answer only if it would have told of one.

use super::*;
use crate::tune::pauses::log::{Coverage, UnreadLines};

const fn safepoints(as_jdk_17: bool) -> PauseLogFormat {
    PauseLogFormat::Safepoints { as_jdk_17 }
}

/// The lengths of the pauses in microseconds.
fn read_of(log: &str) -> Result<(PauseLogFormat, Vec<u64>), String> {
    let log = read(log.as_bytes()).map_err(|error| error.to_string())?;
    assert_eq!(log.unread.count, 0, "{:?}", log.unread);
    Ok((log.shape, log.pauses.iter().map(|pause| pause.lasted / 1_000).collect()))
}

#[test]
fn every_collector_s_pauses_are_read() {
    let cases: [(&str, &str, PauseLogFormat, &[u64]); 12] = [
        (
            "G1 of 9 to 25, -Xlog:gc",
            "[0.007s][info][gc] Using G1\n\
             [0.500s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(256M) 2.345ms\n\
             [0.700s][info][gc] GC(1) Pause Young (Concurrent Start) (Metadata GC Threshold) 20M->5M(256M) 3.000ms\n\
             [0.701s][info][gc] GC(2) Concurrent Mark Cycle\n\
             [0.710s][info][gc] GC(2) Pause Remark 6M->6M(256M) 1.250ms\n\
             [0.711s][info][gc] GC(2) Pause Cleanup 6M->6M(256M) 0.100ms\n\
             [0.712s][info][gc] GC(2) Concurrent Mark Cycle 11.000ms\n\
             [0.900s][info][gc] GC(3) Pause Full (G1 Compaction Pause) 200M->100M(256M) 450.000ms\n",
            PauseLogFormat::Collections,
            &[2_345, 3_000, 1_250, 100, 450_000],
        ),
        (
            "Parallel, with the beginnings of -Xlog:gc*",
            "[0.007s][info][gc] Using Parallel\n\
             [0.400s][info][gc,start    ] GC(0) Pause Young (Allocation Failure)\n\
             [0.401s][info][gc,heap     ] GC(0) PSYoungGen: 65536K->5096K(76288K)\n\
             [0.401s][info][gc          ] GC(0) Pause Young (Allocation Failure) 64M->5M(245M) 7.500ms\n\
             [0.900s][info][gc,start    ] GC(1) Pause Full (Ergonomics)\n\
             [0.950s][info][gc          ] GC(1) Pause Full (Ergonomics) 60M->50M(245M) 50.125ms\n",
            PauseLogFormat::Collections,
            &[7_500, 50_125],
        ),
        (
            "Serial",
            "[0.007s][info][gc] Using Serial\n[0.4s][info][gc] GC(0) Pause Young (Allocation Failure) 8M->1M(30M) 4.000ms\n",
            PauseLogFormat::Collections,
            &[4_000],
        ),
        (
            "CMS of 9 to 13",
            "[0.007s][info][gc] Using Concurrent Mark Sweep\n\
             [0.4s][info][gc] GC(0) Pause Young (Allocation Failure) 8M->1M(30M) 4.000ms\n\
             [0.5s][info][gc] GC(1) Pause Initial Mark 9M->9M(30M) 0.500ms\n\
             [0.6s][info][gc] GC(1) Concurrent Mark 12.000ms\n\
             [0.7s][info][gc] GC(1) Pause Remark 9M->9M(30M) 1.500ms\n",
            PauseLogFormat::Collections,
            &[4_000, 500, 1_500],
        ),
        (
            "Shenandoah, with its statistics",
            "[0.007s][info][gc] Using Shenandoah\n\
             [0.4s][info][gc] Trigger: Learning 1 of 5. Free (179M) is below initial threshold (179M)\n\
             [0.4s][info][gc] GC(0) Concurrent reset 0.250ms\n\
             [0.4s][info][gc] GC(0) Pause Init Mark (unload classes) 0.150ms\n\
             [0.5s][info][gc] GC(0) Pause Final Mark (unload classes) 0.750ms\n\
             [0.6s][info][gc] GC(0) Pause Degenerated GC (Mark) 180M->90M(256M) 31.000ms\n\
             [0.7s][info][gc,stats] Pause Init Mark (G)            =    0.000 s (a =      150 us)\n",
            PauseLogFormat::Collections,
            &[150, 750, 31_000],
        ),
        (
            "ZGC of 11 to 23, by its phases",
            "[0.007s][info][gc,init] Initializing The Z Garbage Collector\n\
             [0.4s][info][gc,phases   ] GC(0) Pause Mark Start 0.012ms\n\
             [0.4s][info][gc,phases   ] GC(0) Concurrent Mark 3.000ms\n\
             [0.4s][info][gc,phases   ] GC(0) Pause Mark End 0.020ms\n\
             [0.4s][info][gc,phases   ] GC(0) Pause Relocate Start 0.009ms\n\
             [0.4s][info][gc          ] GC(0) Garbage Collection (Warmup) 52M(10%)->18M(4%)\n\
             [9.0s][info][gc,stats    ]       Phase: Pause Mark Start          0.012 / 0.012    0.012 / 0.012 ms\n",
            PauseLogFormat::Collections,
            &[12, 20, 9],
        ),
        (
            "generational ZGC of 21 and later",
            "[0.007s][info][gc,init] Initializing The Z Garbage Collector\n\
             [0.4s][info][gc          ] GC(0) Major Collection (Warmup)\n\
             [0.4s][info][gc,phases   ] GC(0) Y: Pause Mark Start (Major) 0.022ms\n\
             [0.4s][info][gc,phases   ] GC(0) O: Pause Mark End 0.031ms\n\
             [0.5s][info][gc,phases   ] GC(1) y: Pause Relocate Start 9123.000ms\n\
             [0.5s][info][gc          ] GC(0) Major Collection (Warmup) 52M(10%)->18M(4%) 0.1s\n",
            PauseLogFormat::Collections,
            &[22, 31, 9_123_000],
        ),
        ("8, by its stopped times", JDK_8, PauseLogFormat::StoppedTimes, &[1_250_000]),
        ("9 to 12, by its stopped times", JDK_11, PauseLogFormat::StoppedTimes, &[6_160]),
        (
            "13 to 16, by its safepoints",
            "[9.1s][info][safepoint] Safepoint \"G1CollectForAllocation\", Time since last: 9 ns, Reaching safepoint: 4000 ns, \
             At safepoint: 6000 ns, Total: 10000 ns\n",
            safepoints(false),
            &[10],
        ),
        ("17, by its safepoints", JDK_17, safepoints(true), &[1_210, 1_502_000]),
        ("25, by its safepoints", JDK_25, safepoints(false), &[0]),
    ];
    for (name, log, shape, lengths) in cases {
        assert_eq!(read_of(log), Ok((shape, lengths.to_vec())), "{name}");
    }
}

#[test]
fn a_log_that_tells_of_no_pause_is_an_answer_only_if_it_would_have() {
    for (name, log) in [
        ("a collector that stops, and never ran", "[0.007s][info][gc] Using G1\n"),
        (
            "one that hardly stops, whose phases are told",
            "[0.01s][info][gc,init] Initializing The Z Garbage Collector\n",
        ),
        ("one that never collects", "[0.01s][info][gc,init] Version: 21\n[0.01s][info][gc] Using Epsilon\n"),
    ] {
        assert_eq!(read_of(log), Ok((PauseLogFormat::Collections, Vec::new())), "{name}");
    }
    let refusal = "this log contains no pause, and its settings do not show that pauses were logged";
    for (name, log, line) in [
        (
            "-Xlog:gc of ZGC",
            "[0.1s][info][gc] Using The Z Garbage Collector\n\
             [9.1s][info][gc] GC(0) Major Collection (Proactive) 512M(50%)->128M(13%) 0.412s\n",
            "line 1",
        ),
        (
            "its set-up and its collections without their phases",
            "[0.1s][info][gc,init] Initializing The Z Garbage Collector\n\
             [9.1s][info][gc] GC(0) Garbage Collection (Warmup) 52M(10%)->18M(4%)\n",
            "line 1",
        ),
        (
            "-Xlog:safepoint+stats alone",
            "[0.2s][debug][safepoint,stats] VM Operation                 [ threads: total initial_running ][ time: sync ]\n\
             [0.2s][debug][safepoint,stats] G1CollectForAllocation       [       12        0 ][      1234 ]  0\n",
            "line 1",
        ),
        ("tags of collections without any", "[0.1s][info][gc,metaspace] GC(0) Metaspace: 1M(2M)->1M(2M)\n", "line 1"),
        ("a cut line alone", "[0.1s][info][gc] x\n[0.2s][info][safepoint] Safepoint \"Cle", "line 2"),
    ] {
        let why = read_of(log).expect_err(name);
        assert!(why.starts_with(line) && why.contains(refusal), "{name}: {why}");
    }
    let eight = "0.5: [GC (Allocation Failure) 33280K->5096K(125952K), 0.0123456 secs]\n";
    assert!(read_of(eight).expect_err("no stopped times").contains("line 1"), "version 8 without its stopped times");
}

#[test]
fn pauses_that_stand_inside_another_line_are_read_or_counted() {
    let unread = |log: &str| {
        let log = read(log.as_bytes()).expect("read");
        (log.pauses.iter().map(|pause| pause.lasted / 1_000_000).collect::<Vec<_>>(), log.unread)
    };
    let inside = "2026-08-01T00:00:00.000+0000: 1.0: [GC (Allocation Failure) 2026-08-01T00:00:00.100+0000: 1.1: Total time for \
        which application threads were stopped: 0.2500000 seconds, Stopping threads took: 0.0000123 seconds\n";
    let torn =
        "2026-08-01T00:00:01.000+0000: 2.0: Total time for which application threads were stopp[GC (Allocation\n";
    assert_eq!(unread(inside), (vec![250], UnreadLines::default()));
    let (pauses, left) = unread(&format!("{inside}{torn}{inside}{torn}"));
    assert_eq!((pauses, left.count), (vec![250, 250], 2));
    let (line, text) = left.first.expect("the first of them");
    assert!(line == 2 && text.contains("Total time for which"), "{line}: {text}");

    let collection = "[0.1s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(256M) 12.000ms\n";
    let (pauses, left) =
        unread(&format!("{collection}hello{collection}[0.2s][info][gc] GC(1) Pause Young (Normal) (G1 Ev"));
    assert_eq!((pauses, left.count), (vec![12, 12], 1));
    // What stops the process is in a safepoint, where these are told.
    let (pauses, left) = unread(&format!("{JDK_17}[0.2s][info][gc] GC(1) Pause Young (Normal) (G1 Ev"));
    assert_eq!((pauses, left.count), (vec![1, 1_502], 0));
}

#[test]
fn times_of_every_decoration_tell_how_long_was_watched() {
    let said = "Safepoint \"x\", Time since last: 1 ns, Reaching safepoint: 1 ns, Cleanup: 1 ns, At safepoint: 1 ns, Total: 4 ns";
    for (name, first, second) in [
        ("uptime", "[8467205.000s]", "[8467265.000s]"),
        ("uptimemillis", "[5000ms]", "[65000ms]"),
        ("uptimenanos", "[5000000000ns]", "[65000000000ns]"),
        ("time", "[2026-08-01T00:00:00.000+0200]", "[2026-08-01T00:01:00.000+0200]"),
        ("utctime", "[2026-08-01T00:00:00.000+0000]", "[2026-08-01T00:01:00.000+0000]"),
        ("timemillis", "[1785542400000ms]", "[1785542460000ms]"),
        ("timenanos of a machine that is up for 98 days", "[8467205000000000ns]", "[8467265000000000ns]"),
        ("time and uptime", "[2026-08-01T00:00:00.000+0200][3.0s]", "[2026-08-01T00:01:00.000+0200][63.0s]"),
        ("a comma for the point", "[5,000s]", "[65,000s]"),
    ] {
        let log = format!("{first}[host][7][info][safepoint] {said}\n{second}[host][7][info][safepoint] {said}\n");
        let read = read(log.as_bytes()).expect(name);
        let apart = read.pauses[1].ended.expect(name) - read.pauses[0].ended.expect(name);
        assert_eq!((read.coverage.span, apart), (Some(60_000_000_000), 60_000_000_000), "{name}");
    }
    let bare = read(said.as_bytes()).expect("no decorations at all");
    assert_eq!((bare.coverage.span, bare.pauses.len()), (None, 1));
}

#[test]
fn a_rotated_file_covers_what_lies_between_its_own_lines() {
    let line =
        |s: u64| format!("[{s}.000s][info][gc] GC({}) Pause Young (Normal) (x) 24M->4M(256M) 12.000ms\n", s / 100);
    let file = |from: u64| -> String { (0..10).map(|step| line(from + 100 * step)).collect() };
    let covers = |log: &str| {
        let Coverage { span, pieces, missing, .. } = read(log.as_bytes()).expect("read").coverage;
        (span.map(|ns| ns / 1_000_000_000), pieces, missing / 1_000_000_000)
    };
    assert_eq!(covers(&file(8_000_000)), (Some(900), 1, 0));
    assert_eq!(covers(&(file(5_000) + &file(6_000))), (Some(1_900), 1, 0), "the next file");
    assert_eq!(covers(&(file(6_000) + &file(5_000))), (Some(1_800), 2, 0), "the wrong order");
    assert_eq!(covers(&(file(5_000) + &file(100))), (Some(1_800), 2, 0), "a new process");
    assert_eq!(covers(&(file(5_000) + &file(9_000))), (Some(1_800), 1, 3_100), "a file between them is lost");
    assert_eq!(covers(&line(5_000)), (Some(0), 1, 0), "one line covers nothing");
    let last = line(6_000).replace("GC(60)", &format!("GC({})", u64::MAX));
    assert_eq!(covers(&(file(5_000) + &last)), (Some(900), 1, 100), "no number is too large");
}
