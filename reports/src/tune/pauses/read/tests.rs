use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::IntervalLogWriterBuilder;
use proptest::prelude::*;
use std::time::{Duration, UNIX_EPOCH};

use super::*;
use crate::tune::pauses::OverlappingPauses;
use crate::tune::pauses::error::LINE_BYTES_MAX;
use crate::tune::pauses::log::{Pause, PauseLogFormat};
use hustings_record::Nanos;

/// Of 17.0.15, but for the length of the second.
const JDK_17: &str = "\
[0.058s][info][safepoint] Safepoint \"G1TryInitiateConcMark\", Time since last: 42238182 ns, Reaching safepoint: 4036 ns, Cleanup: 6950 ns, At safepoint: 1199223 ns, Total: 1210209 ns
[2.500s][info][safepoint] Safepoint \"G1CollectFull\", Time since last: 881991 ns, Reaching safepoint: 992 ns, Cleanup: 1151 ns, At safepoint: 1501997857 ns, Total: 1502000000 ns
";

/// As published for other versions.
const JDK_25: &str = "[2026-11-23T10:00:00.000+0100][0.2s][info][safepoint   ] Safepoint \"G1PauseRemark\", Time since last: 1 ns, \
    Reaching safepoint: 10 ns, At safepoint: 30 ns, Leaving safepoint: 20 ns, Total: 60 ns, Threads: 0 runnable, 14 total\n";

const JDK_11: &str = "\
[2022-10-04T15:44:48.045-0400][0.997s][info ][safepoint      ] Leaving safepoint region
[2022-10-04T15:44:48.045-0400][0.997s][info ][safepoint      ] Total time for which application threads were stopped: 0.0061608 seconds, Stopping threads took: 0.0000084 seconds
[2022-10-04T15:44:49.046-0400][1.998s][info ][safepoint      ] Application time: 0.0001907 seconds
";

const JDK_8: &str = "\
OpenJDK 64-Bit Server VM (25.292-b10) for linux-amd64 JRE (1.8.0_292-b10)
CommandLine flags: -XX:+PrintGCApplicationStoppedTime
2015-06-05T07:00:00.123+0000: 12.345: [GC (Allocation Failure) 33280K->5096K(125952K), 0.0123456 secs]
2015-06-05T07:00:01.123+0000: 13.345: Total time for which application threads were stopped: 1.2500000 seconds, Stopping threads took: 0.0000123 seconds
";

const GC: &str = "\
[0.005s][info][gc,init] Version: 17.0.18 (release)
[0.100s][info][gc,start] GC(0) Pause Young (Normal) (G1 Evacuation Pause)
[0.112s][info][gc,phases] GC(0)   Evacuate Collection Set: 11.0ms
[0.112s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(256M) 12.345ms
[0.300s][info][gc] GC(1) Concurrent Mark Cycle 44.321ms
";

/// What is read of a log, in milliseconds with the time of each.
fn check(log: &str, shape: PauseLogFormat, span_ms: Option<f64>, pauses: &[(Option<f64>, f64)]) -> PauseLog {
    let read = read(log.as_bytes()).expect("read");
    let ms = |ns: Nanos| ns as f64 / 1e6;
    assert_eq!(read.shape, shape);
    let found: Vec<_> = read.pauses.iter().map(|pause| (pause.ended.map(ms), ms(pause.lasted))).collect();
    assert_eq!(found, pauses);
    assert_eq!(read.coverage.span.map(ms), span_ms);
    read
}

fn refused(log: &str) -> String {
    read(log.as_bytes()).expect_err("refused").to_string()
}

#[test]
fn safepoints_of_jdk_17_are_read_whole_with_the_time_to_reach_them() {
    let shape = PauseLogFormat::Safepoints { as_jdk_17: true };
    check(JDK_17, shape, Some(2_442.0), &[(Some(0.0), 1.210_209), (Some(2_442.0), 1_502.0)]);
    assert_eq!(shape.doubt(), None);
}

#[test]
fn other_versions_of_a_jvm_are_read_and_marked() {
    let later = check(JDK_25, PauseLogFormat::Safepoints { as_jdk_17: false }, Some(0.0), &[(Some(0.0), 0.000_06)]);
    assert!(later.shape.doubt().is_some());
    check(JDK_11, PauseLogFormat::StoppedTimes, Some(1_001.0), &[(Some(0.0), 6.160_8)]);
    let eight = check(JDK_8, PauseLogFormat::StoppedTimes, Some(1_000.0), &[(Some(1_000.0), 1_250.0)]);
    assert_eq!((eight.skipped, eight.first_skipped.expect("the banner").0), (3, 1));
}

#[test]
fn collections_count_where_safepoints_are_not_told_and_are_marked_as_a_lower_bound() {
    let log = check(GC, PauseLogFormat::Collections, Some(295.0), &[(Some(107.0), 12.345)]);
    assert!(log.shape.doubt().expect("a doubt").contains("lower bound"));
    // A safepoint around a collection is one pause, not two.
    let both = read(format!("{GC}{JDK_17}").as_bytes()).expect("read");
    assert_eq!((both.shape, both.pauses.len()), (PauseLogFormat::Safepoints { as_jdk_17: true }, 2));
}

#[test]
fn a_file_of_milliseconds_has_comments_and_no_times() {
    check(
        "# mine\n 12.5\n\n7 # a long one\r\n0\n",
        PauseLogFormat::Milliseconds,
        None,
        &[(None, 12.5), (None, 7.0), (None, 0.0)],
    );
    check("# none\n", PauseLogFormat::Milliseconds, None, &[]);
}

#[test]
fn an_interval_log_gives_the_longest_of_each_interval() {
    let mut log = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut writer = IntervalLogWriterBuilder::new()
        .add_comment("[Logged with jHiccup]")
        .with_base_time(UNIX_EPOCH)
        .with_max_value_divisor(1e6)
        .begin_log_with(&mut log, &mut serializer)
        .expect("a log");
    for (second, values) in [(0, &[2_000_000_u64, 900_000_000][..]), (5, &[][..]), (10, &[1_000_000][..])] {
        let mut histogram = Histogram::<u64>::new(3).expect("a histogram");
        values.iter().for_each(|value| histogram.record(*value).expect("recorded"));
        let interval = Duration::from_secs(5);
        writer.write_histogram(&histogram, Duration::from_secs(second), interval, None).expect("written");
    }
    let log = read(log.as_slice()).expect("read");
    assert_eq!((log.shape, log.coverage.span), (PauseLogFormat::Intervals, Some(15_000_000_000)));
    assert_eq!(
        log.pauses.iter().map(|pause| pause.ended).collect::<Vec<_>>(),
        [Some(5_000_000_000), Some(15_000_000_000)]
    );
    // A histogram of three digits.
    let near = |pause: &Pause, ms: f64| (pause.lasted as f64 / 1e6 / ms - 1.0).abs() < 2e-3;
    assert!(near(&log.pauses[0], 900.0) && near(&log.pauses[1], 1.0), "{:?}", log.pauses);
}

#[test]
fn an_interval_log_of_another_unit_or_with_ends_is_told_from_one_of_milliseconds() {
    let log = |divisor: f64, ends: bool, seconds: &[u64]| {
        let mut log = Vec::new();
        let mut serializer = V2DeflateSerializer::new();
        let mut writer = IntervalLogWriterBuilder::new()
            .with_base_time(UNIX_EPOCH)
            .with_max_value_divisor(divisor)
            .begin_log_with(&mut log, &mut serializer)
            .expect("a log");
        for &second in seconds {
            let mut histogram = Histogram::<u64>::new(3).expect("a histogram");
            histogram.record(227_000_000).expect("recorded");
            let (from, lasted) = (Duration::from_secs(second), Duration::from_secs(if ends { second + 5 } else { 5 }));
            writer.write_histogram(&histogram, from, lasted, None).expect("written");
        }
        let text = String::from_utf8(log).expect("text");
        read(text.as_bytes()).map(|log| (log.coverage.span.map(|ns| ns / 1_000_000_000), log.pauses.len()))
    };
    let refused = |log: Result<_, PauseError>| log.expect_err("refused").to_string();
    assert_eq!(log(1e6, false, &[0, 5, 10]).expect("read"), (Some(15), 3));
    assert!(refused(log(1e3, false, &[0])).contains("is not that of the histogram inside"));
    assert!(refused(log(1.0, false, &[0])).contains("is not that of the histogram inside"));
    assert!(refused(log(1e6, true, &[0, 5, 10])).contains("its second column may be an end"));
    let since_1970 = 1_785_542_400;
    assert_eq!(
        log(1e6, true, &[since_1970, since_1970 + 5]).expect("read"),
        (Some(10), 2),
        "no interval lasts for decades"
    );
}

/// Safepoints (from, to), in seconds, that end in order.
fn safepoints_of(pauses: impl IntoIterator<Item = (u64, u64)>) -> String {
    let parts = "Reaching safepoint: 1 ns, Cleanup: 1 ns, At safepoint: 1 ns";
    let line = |(from, to): (u64, u64)| {
        format!("[{to}.000s][safepoint] Safepoint \"x\", {parts}, Total: {} ns\n", (to - from) * 1_000_000_000)
    };
    pauses.into_iter().map(line).collect()
}

#[test]
fn a_log_whose_pauses_overlap_is_none_of_one_process() {
    // The first line of a log begins it: its own pause lies before.
    let told = refused(&safepoints_of((1..100).map(|at| (at * 600, at * 600 + 700))));
    assert!(told.starts_with("line 3: its pause begins 100 s before the one of line 2 is over"), "{told}");
    assert!(told.contains("97 of 99 pauses") && told.contains("give one log per process"), "{told}");
    let stopped = "[0.0s][safepoint] Entering safepoint region: Cleanup\n\
        [1000.0s] Total time for which application threads were stopped: 700.0 seconds\n\
        [1600.0s] Total time for which application threads were stopped: 700.0 seconds\n";
    assert!(refused(stopped).contains("begins 100 s before the one of line 2"));
    let collections = "[0.0s][gc] Using G1\n\
        [1000.0s][gc] GC(0) Pause Full (x) 2M->1M(3M) 700000.000ms\n\
        [1600.0s][gc] GC(1) Pause Full (x) 2M->1M(3M) 700000.000ms\n";
    assert!(refused(collections).contains("line 3: its pause begins 100 s before the one of line 2"));
}

#[test]
fn few_overlaps_are_counted_and_pauses_of_processes_one_after_the_other_are_none() {
    let apart = |from: u64| (0..150).map(move |at| (from + at * 100, from + at * 100 + 10));
    let log = |text: String| read(text.as_bytes()).expect("read").overlaps;
    assert_eq!(log(safepoints_of(apart(10))), OverlappingPauses::default());
    let one = log(safepoints_of(apart(10).chain([(14_910, 15_000)])));
    assert_eq!((one.count, one.first.map(|(line, _)| line)), (1, Some(151)));
    // Uptimes of the second process are the same as those of the first.
    assert_eq!(log(safepoints_of(apart(10).chain(apart(5)))), OverlappingPauses::default());
}

#[test]
fn an_interval_log_has_no_pause_that_began_before_another_was_over() {
    let log = |longest_s: u64| {
        let mut log = Vec::new();
        let mut serializer = V2DeflateSerializer::new();
        let mut writer = IntervalLogWriterBuilder::new()
            .with_base_time(UNIX_EPOCH)
            .with_max_value_divisor(1e6)
            .begin_log_with(&mut log, &mut serializer)
            .expect("a log");
        for second in (100..200).step_by(5) {
            let mut histogram = Histogram::<u64>::new(3).expect("a histogram");
            histogram.record(longest_s * 1_000_000_000).expect("recorded");
            let (from, lasted) = (Duration::from_secs(second), Duration::from_secs(5));
            writer.write_histogram(&histogram, from, lasted, None).expect("written");
        }
        read(log.as_slice()).map(|log| log.overlaps.count)
    };
    // One may be over where its interval begins, and the next where its own ends.
    assert_eq!(log(9).expect("read"), 0);
    assert!(log(60).expect_err("refused").to_string().contains("overlap an earlier one"));
}

#[test]
fn what_is_not_understood_is_named_by_its_line() {
    for (log, told) in [
        ("12\nlong\n", "line 2: \"long\" is no number"),
        ("long\n12\n", "line 1: \"long\" is no number"),
        ("12\n-3\n", "line 2: \"-3\" is no number"),
        ("12\nNaN\n", "line 2: \"NaN\" is no number"),
        ("# x\nNaN", "line 2: \"NaN\" is no number"),
        ("# x\n\nhello world\nagain\n", "line 3: \"hello world\" is not understood"),
        ("[1.0s][info][class,load] java.lang.Object\n", "line 1: \"[1.0s][info][class,load] java.lang.Object\" is not"),
        ("[1.0s][info][safepoint] Safepoint \"x\", Total: ns\n", "line 1: \"[1.0s][info][safepoint] Safepoint \\\"x"),
        ("\"StartTimestamp\",\"Interval_Length\"\n1,2\n", "line 2: no interval of a histogram"),
        ("\"StartTimestamp\"\n1.0,1.0,-5.0,HIST\n", "line 2: its longest value is no time"),
        ("\"StartTimestamp\"\n1.0,1.0,5.0,HISTFAAA\n", "line 2: its histogram cannot be read"),
        ("", "it is empty"),
    ] {
        assert!(refused(log).contains(told), "{log:?}: {}", refused(log));
    }
    let long = "1".repeat(LINE_BYTES_MAX as usize + 1);
    assert!(refused(&long).contains("line 1 is longer"));
}

#[test]
fn a_log_that_has_to_be_converted_is_told_by_the_command_for_that() {
    let utf_16 = "12\n".encode_utf16();
    let little: Vec<u8> = [0xff, 0xfe].into_iter().chain(utf_16.clone().flat_map(u16::to_le_bytes)).collect();
    let big: Vec<u8> = [0xfe, 0xff].into_iter().chain(utf_16.flat_map(u16::to_be_bytes)).collect();
    // A compressed log may have no end of a line within the longest one.
    let packed: Vec<u8> = [0x1f, 0x8b, 8].into_iter().chain(vec![7; LINE_BYTES_MAX as usize + 1]).collect();
    for (log, told) in [(&little, "iconv -f UTF-16"), (&big, "iconv -f UTF-16"), (&packed, "zcat FILE | hustings tune")]
    {
        let error = read(log.as_slice()).expect_err("refused").to_string();
        assert!(error.contains(told), "{error}");
    }
    check("\u{feff}12\n", PauseLogFormat::Milliseconds, None, &[(None, 12.0)]);
}

#[test]
fn a_log_in_which_nothing_is_understood_is_not_read_to_its_end() {
    // As a device of random bytes has them: a line that could be of a JVM, and none that tells of a pause.
    let line = format!("[1.0s][info][class,load] {}\n", "x".repeat(500_000));
    let told = refused(&line.repeat(140));
    assert!(told.contains("nothing is understood in its first 135 lines"), "{told}");
    assert!(refused(&"\n".repeat(1_000_001)).contains("nothing is understood"), "empty lines");
    // One that is understood, however late, makes it a log.
    check(&format!("{}12\n", "# mine\n".repeat(20_000)), PauseLogFormat::Milliseconds, None, &[(None, 12.0)]);
}

proptest! {
    #[test]
    fn no_bytes_make_the_readers_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        drop(read(bytes.as_slice()));
    }

    #[test]
    fn no_change_of_a_known_line_makes_them_panic(
        which in 0..5_usize, at in any::<prop::sample::Index>(), with in prop::collection::vec(any::<u8>(), 0..6), cut in 0..6_usize,
    ) {
        let hiccups = "\"StartTimestamp\"\n1.5,2.25,30.125,HISTFAAA\nTag=A,3.75,2.25,1.0,HISTFAAA\n";
        let mut bytes = [JDK_17, JDK_11, JDK_8, GC, hiccups][which].as_bytes().to_vec();
        let at = at.index(bytes.len());
        bytes.splice(at..(at + cut).min(bytes.len()), with);
        drop(read(bytes.as_slice()));
    }

    #[test]
    fn milliseconds_come_back(all in prop::collection::vec(0_u32..100_000_000, 1..40)) {
        let text: String = all.iter().map(|us| format!("{}\n", f64::from(*us) / 1e3)).collect();
        let log = read(text.as_bytes()).expect("read");
        let back: Vec<u64> = log.pauses.iter().map(|pause| pause.lasted / 1_000).collect();
        prop_assert_eq!(back, all.iter().map(|us| u64::from(*us)).collect::<Vec<_>>());
    }
}

mod jvms;
mod processes;
