//! Logs of more than one process, of more than one kind of pauses, and those that are cut off.

use super::*;

const HOUR_S: u64 = 3_600;
const DAY_S: u64 = 24 * HOUR_S;

/// A stop of 5 ms after these words, as JDK 17 writes it, so long after the one before.
fn safepoint(stamps: &str, since_last_s: u64) -> String {
    let parts = "Reaching safepoint: 1 ns, Cleanup: 1 ns, At safepoint: 1 ns, Total: 5000000 ns";
    format!("{stamps}[safepoint] Safepoint \"x\", Time since last: {} ns, {parts}\n", since_last_s * 1_000_000_000)
}

/// The same as JDK 11 writes it.
fn stopped(stamps: &str, s: u64) -> String {
    format!("{stamps}[safepoint] Total time for which application threads were stopped: {s}.0 seconds\n")
}

fn full(stamps: &str, number: u64) -> String {
    format!("{stamps}[gc] GC({number}) Pause Full (x) 4M->3M(4M) 20000.123ms\n")
}

/// A time of January 2026, or of another year, in hours.
fn date(year: u64, hour: u64) -> String {
    format!("[{year}-01-{:02}T{:02}:00:00.000+0000]", 1 + hour / 24, hour % 24)
}

fn uptime(s: u64) -> String {
    format!("[{s}.000s]")
}

fn covered_s(log: &str) -> (Option<u64>, u64, u64) {
    let coverage = read(log.as_bytes()).expect("read").coverage;
    (coverage.span.map(|ns| ns / 1_000_000_000), coverage.pieces, coverage.missing / 1_000_000_000)
}

#[test]
fn pauses_of_another_kind_than_the_rest_of_the_log_are_refused_by_their_line() {
    let of_17: String = (0..24).map(|hour| safepoint(&uptime(hour * HOUR_S), HOUR_S)).collect();
    let collections: String = (1..24).map(|hour| full(&uptime(hour * HOUR_S), hour)).collect();
    // A process that starts anew with -Xlog:gc, and one that did so before.
    assert!(refused(&(of_17.clone() + &collections)).starts_with("line 25: "), "after");
    assert!(refused(&(collections + &of_17)).starts_with("line 1: "), "before");
    assert!(refused(&(of_17 + &full(&uptime(7), 1))).starts_with("line 25: "), "one alone");
    // By dates nothing shows that another process began: an upgrade, and a change of -Xlog.
    let dated: String = (100..120).map(|hour| safepoint(&date(2026, hour), HOUR_S)).collect();
    let of_11: String = (0..20).map(|hour| stopped(&date(2026, hour), 12)).collect();
    let refusal = refused(&(of_11.clone() + &dated));
    assert!(
        refusal.starts_with("line 1: ") && refusal.contains("stopped times") && refusal.contains("safepoints"),
        "{refusal}"
    );
    assert!(refused(&(dated + &full(&date(2026, 200), 1) + &full(&date(2026, 300), 2))).starts_with("line 21: "));
    assert!(refused(&(of_11 + &full(&date(2026, 200), 1) + &full(&date(2026, 300), 2))).starts_with("line 21: "));
}

#[test]
fn collections_within_the_stops_of_their_own_process_are_parts_of_them() {
    let log = |kind: fn(&str) -> String| -> String {
        (1..9).map(|hour| full(&uptime(hour * HOUR_S), hour) + &kind(&uptime(hour * HOUR_S + 1))).collect()
    };
    let of_17 = log(|stamps| safepoint(stamps, HOUR_S));
    let of_11 = log(|stamps| stopped(stamps, 21));
    for log in [&of_17, &of_11] {
        assert_eq!(read(log.as_bytes()).expect("read").pauses.len(), 8);
        // A log that is cut off before the line of the last stop.
        let cut = log.clone() + &full(&uptime(9 * HOUR_S), 9);
        assert_eq!(read(cut.as_bytes()).expect("read").pauses.len(), 8);
    }
}

#[test]
fn an_uptime_that_falls_begins_a_new_piece_though_the_date_rises() {
    let day = |year: u64| -> String {
        (0..24).map(|hour| safepoint(&(date(year, hour) + &uptime(hour * HOUR_S)), HOUR_S)).collect()
    };
    assert_eq!(covered_s(&day(2026)), (Some(23 * HOUR_S), 1, 0));
    assert_eq!(covered_s(&(day(2026) + &day(2027))), (Some(46 * HOUR_S), 2, 0));
}

#[test]
fn a_clock_that_is_set_after_the_first_line_adds_no_time() {
    let set: String = (0..10).map(|hour| safepoint(&(date(2026, hour) + &uptime(2 + hour * HOUR_S)), HOUR_S)).collect();
    assert_eq!(covered_s(&(safepoint(&(date(2000, 0) + &uptime(1)), 0) + &set)), (Some(1 + 9 * HOUR_S), 1, 0));
}

#[test]
fn time_before_a_safepoint_whose_predecessor_is_not_in_the_log_is_not_watched() {
    let day = |from: u64| -> String { (0..24).map(|hour| safepoint(&uptime(from + hour * HOUR_S), HOUR_S)).collect() };
    assert_eq!(covered_s(&day(0)), (Some(23 * HOUR_S), 1, 0));
    // Host A, then host B, which is up for 180 days.
    let (span, pieces, missing) = covered_s(&(day(0) + &day(180 * DAY_S)));
    assert_eq!((span, pieces), (Some(47 * HOUR_S), 1));
    assert!(missing.abs_diff(180 * DAY_S - 24 * HOUR_S) <= 1, "{missing}");
    // One that was quiet says so, and short ones may have been filtered out.
    assert_eq!(covered_s(&(day(0) + &safepoint(&uptime(180 * DAY_S), 180 * DAY_S - 23 * HOUR_S))).2, 0);
    assert_eq!(covered_s(&(day(0) + &safepoint(&uptime(23 * HOUR_S + HOUR_S), 1))).2, 0);
}

#[test]
fn numbers_of_collections_that_begin_anew_are_of_another_process() {
    let collections =
        |day: u64, from: u64| -> String { (0..10).map(|at| full(&date(2026, day * 24 + at), from + at)).collect() };
    assert_eq!(
        covered_s(&(collections(0, 100) + &collections(20, 0))),
        (Some(18 * HOUR_S), 1, 20 * DAY_S - 9 * HOUR_S)
    );
}

#[test]
fn an_interval_log_of_two_tags_is_refused_with_both() {
    let log = |tags: [Option<&str>; 2]| {
        let mut log = Vec::new();
        let mut serializer = V2DeflateSerializer::new();
        let mut writer = IntervalLogWriterBuilder::new()
            .with_base_time(UNIX_EPOCH)
            .with_max_value_divisor(1e6)
            .begin_log_with(&mut log, &mut serializer)
            .expect("a log");
        for (tag, second) in tags.into_iter().zip([0, 5]) {
            let mut histogram = Histogram::<u64>::new(3).expect("a histogram");
            histogram.record(20_000_000_000).expect("recorded");
            let tag = tag.and_then(hdrhistogram::serialization::interval_log::Tag::new);
            let (from, lasted) = (Duration::from_secs(second), Duration::from_secs(5));
            writer.write_histogram(&histogram, from, lasted, tag).expect("written");
        }
        read(log.as_slice()).map(|log| log.coverage.longest_interval).map_err(|error| error.to_string())
    };
    assert_eq!(log([Some("app"), Some("app")]).map(|ns| ns / 1_000_000_000), Ok(5));
    let refusal = log([Some("control"), Some("app")]).expect_err("refused");
    assert!(refusal.contains("its tag is \"app\"") && refusal.contains("first interval is \"control\""), "{refusal}");
    assert!(log([None, Some("app")]).expect_err("refused").contains("first interval is none"));
}

#[test]
fn a_last_line_without_its_end_is_not_taken_for_whole() {
    let cut = read("5\n90".as_bytes()).expect("read");
    assert_eq!((cut.pauses.len(), cut.unread.count, cut.unread.first.expect("the line").0), (1, 1, 2));
    let whole = read("5\n90\n".as_bytes()).expect("read");
    assert_eq!((whole.pauses.len(), whole.unread.count), (2, 0));
    assert_eq!(read("5\n12x".as_bytes()).expect("read").unread.count, 1);
}
