//! Watches an idle machine: how late a thread wakes that sleeps 1 ms at a time. Anything that delays it (other work, a
//! hypervisor, a suspended machine) also delays all other processes. Pauses of a single process, such as its garbage
//! collection, do not show.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::IntervalLogWriterBuilder;
use hustings_record::Nanos;
use hustings_record::numbers::nanos;
use serde::Serialize;

use crate::process::clock;

const TICK: Duration = Duration::from_millis(1);
/// An interval of the log. The reader takes the longest pause of each.
const INTERVAL_NS: Nanos = 5_000_000_000;
/// Pauses longer than this are counted.
const LONG_NS: Nanos = 10_000_000;
/// Upper bound of recorded pauses.
const MAX_NS: u64 = 86_400_000_000_000;

/// Result of watching.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WatchReport {
    pub watched_ns: Nanos,
    pub longest_ns: Nanos,
    /// Pauses of more than 10 ms.
    pub over_10_ms: u64,
}

/// Watches until `at_most` has passed or `stop` is set. Writes an HdrHistogram interval log, which `hustings tune`
/// reads.
///
/// # Errors
/// The log cannot be written.
pub fn watch(mut out: impl Write, at_most: Option<Duration>, stop: &AtomicBool) -> io::Result<WatchReport> {
    let at_most = at_most.map_or(Nanos::MAX, nanos);
    let mut histogram = Histogram::<u64>::new_with_bounds(1, MAX_NS, 2).map_err(io::Error::other)?;
    let mut serializer = V2DeflateSerializer::new();
    let mut builder = IntervalLogWriterBuilder::new();
    builder.add_comment("how late a thread woke that slept 1 ms at a time, in nanoseconds").with_max_value_divisor(1e6);
    let mut log = builder.begin_log_with(&mut out, &mut serializer)?;
    let begin = clock::now();
    let (mut from, mut before, mut seen) = (begin, begin, WatchReport::default());
    let mut over = false;
    while !over {
        thread::sleep(TICK);
        let now = clock::now();
        let late = (now - before).saturating_sub(nanos(TICK));
        histogram.saturating_record(late.max(1));
        seen.longest_ns = seen.longest_ns.max(late);
        seen.over_10_ms += u64::from(late > LONG_NS);
        (before, seen.watched_ns) = (now, now - begin);
        over = stop.load(Ordering::Relaxed) || seen.watched_ns >= at_most;
        if over || now - from >= INTERVAL_NS {
            let (since, long) = (Duration::from_nanos(from - begin), Duration::from_nanos(now - from));
            log.write_histogram(&histogram, since, long, None)
                .map_err(|error| io::Error::other(format!("{error:?}")))?;
            histogram.reset();
            from = now;
        }
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_watched_is_read_by_whoever_reads_pauses() {
        let (mut log, stop) = (Vec::new(), AtomicBool::new(false));
        let seen = watch(&mut log, Some(Duration::from_millis(60)), &stop).expect("written");
        let read = hustings_reports::tune::pauses::read(log.as_slice()).expect("read");
        assert_eq!((read.pauses.len(), read.lines > 1), (1, true));
        let told = read.pauses[0].lasted;
        assert!(
            told <= seen.longest_ns + seen.longest_ns / 50 + 1_000_000 && seen.watched_ns >= 60_000_000,
            "{seen:?}"
        );
    }

    #[test]
    fn it_stops_when_it_is_told_to() {
        let seen = watch(Vec::new(), None, &AtomicBool::new(true)).expect("written");
        assert!(seen.watched_ns > 0);
    }
}
