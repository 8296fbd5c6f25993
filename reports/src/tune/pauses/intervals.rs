//! Interval logs of HdrHistogram. What records pauses that way mostly fills in what a blocked sampler missed, so that a pause of
//! a second sampled every millisecond is a thousand values: counts of values are no counts of pauses. Of each interval the
//! longest is read, which is told apart and which nothing is filled in above.

use std::time::Duration;

use hdrhistogram::serialization::interval_log::{IntervalLogHistogram, IntervalLogIterator, LogEntry};
use hustings_record::Nanos;
use hustings_record::words::quoted;

use super::error::PauseError;
use super::kept::Kept;
use super::lines::{Line, Told};

/// The legend above the intervals.
const LEGEND: &str = "\"StartTimestamp\"";
/// What writers divide the longest value by is in no field of the log: their own default makes milliseconds of it.
const UNIT_NS: f64 = 1e6;
/// No interval has a longer pause: a year.
const MAX: f64 = 366.0 * 86_400e3;

pub(super) struct Intervals {
    kept: Kept,
    /// The tag of the first interval, if it has one: others are logs of something else.
    tag: Option<Option<String>>,
    /// From the first interval's beginning.
    first: Option<Duration>,
    watched: Duration,
}

/// Whether the line is the legend or an interval.
pub(super) fn is_one(text: &str) -> bool {
    text.starts_with(LEGEND) || with_interval(text, |_| ()).is_some()
}

fn with_interval<T>(text: &str, then: impl FnOnce(IntervalLogHistogram<'_>) -> T) -> Option<T> {
    // An interval has four fields, five with a tag; only then is the line worth a copy.
    if !(3..=4).contains(&text.matches(',').count()) {
        return None;
    }
    let line = format!("{text}\n");
    match IntervalLogIterator::new(line.as_bytes()).next() {
        Some(Ok(LogEntry::Interval(interval))) => Some(then(interval)),
        _ => None,
    }
}

impl Intervals {
    pub(super) fn new(most: usize) -> Self {
        Self { kept: Kept::new(most), tag: None, first: None, watched: Duration::ZERO }
    }

    pub(super) fn take(&mut self, line: &Line<'_>) -> Result<Told, PauseError> {
        if line.text.starts_with(LEGEND) {
            return Ok(Told::Yes);
        }
        let damaged = |what| PauseError::Damaged { line: line.number, what, text: quoted(line.text) };
        with_interval(line.text, |interval| self.add(&interval))
            .ok_or_else(|| damaged("no interval of a histogram"))?
            .map_err(damaged)
    }

    fn add(&mut self, interval: &IntervalLogHistogram<'_>) -> Result<Told, &'static str> {
        let tag = interval.tag().map(|tag| tag.as_str().to_owned());
        if *self.tag.get_or_insert_with(|| tag.clone()) != tag {
            return Ok(Told::Other);
        }
        let ms = interval.max();
        if !(0.0..=MAX).contains(&ms) {
            return Err("its longest value is no time in milliseconds");
        }
        let first = *self.first.get_or_insert(interval.start_timestamp());
        let ended = interval.start_timestamp().saturating_add(interval.duration()).saturating_sub(first);
        self.watched = self.watched.saturating_add(interval.duration());
        if ms > 0.0 {
            self.kept.push((ms * UNIT_NS).round() as Nanos, Some(whole(ended)));
        }
        Ok(Told::Yes)
    }

    /// The pauses, and how long was watched: gaps between intervals are not.
    pub(super) fn finish(self) -> (Kept, Nanos) {
        (self.kept, whole(self.watched))
    }
}

fn whole(time: Duration) -> Nanos {
    Nanos::try_from(time.as_nanos()).unwrap_or(Nanos::MAX)
}
