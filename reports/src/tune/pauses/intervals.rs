//! Interval logs of HdrHistogram. What records pauses that way mostly fills in what a blocked sampler missed, so that a pause of
//! a second sampled every millisecond is a thousand values: counts of values are no counts of pauses. Of each interval the
//! longest is read, which is told apart and which nothing is filled in above.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogHistogram, IntervalLogIterator, LogEntry};
use hustings_record::numbers::{nanos, whole};
use hustings_record::words::quoted;

use super::clock::APART_NS;
use super::error::PauseError;
use super::lines::{LineMeaning, LogLine};
use super::log::{Coverage, PauseLogFormat, UnreadLines};
use super::longest_pauses::{LongestPauses, mark};
use super::overlaps::OverlapCheck;
use super::read_pauses::ReadPauses;

/// The legend above the intervals, and how it calls a second column that is no length.
const LEGEND: &str = "\"StartTimestamp\"";
const ENDS: &str = "\"EndTimestamp\"";
/// A length of so many seconds is a time since 1970.
const LENGTH_MAX: Duration = Duration::from_secs(366 * 86_400);
/// What writers divide the longest value by is in no field of the log: their own default makes milliseconds of nanoseconds, and the
/// histogram inside shows whether it was that.
const UNIT_NS: f64 = 1e6;
/// Intervals lie over each other by no more of their length: the clock was set.
const OVERLAP_MAX: f64 = 0.1;
/// What lies in different pieces of the log is taken to be so far apart.
const APART: Duration = Duration::from_nanos(APART_NS);
/// The log has its longest value with so many digits behind the point.
const ROUNDED_MS: f64 = 1e-3;
/// A histogram of one digit has its longest value to a tenth.
const ROUNDED_SHARE: f64 = 0.1;
/// No interval has a longer pause: a year.
const MAX: f64 = 366.0 * 86_400e3;

pub(super) struct Intervals {
    kept: LongestPauses,
    overlaps: OverlapCheck,
    /// The tag of the first interval, if it has one: a log with another one too is of several things.
    tag: Option<Option<String>>,
    /// The beginning and the end of the interval before.
    before: Option<(Duration, Duration)>,
    /// When that one ended, with the time that is taken to lie between two pieces.
    at: Duration,
    pieces: u64,
    watched: Duration,
    longest: Duration,
    /// The second column is an end, by the legend.
    ends: bool,
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
        Self {
            kept: LongestPauses::new(most),
            overlaps: OverlapCheck::new(0),
            tag: None,
            before: None,
            at: Duration::ZERO,
            pieces: 1,
            watched: Duration::ZERO,
            longest: Duration::ZERO,
            ends: false,
        }
    }

    pub(super) fn take(&mut self, line: &LogLine<'_>) -> Result<LineMeaning, PauseError> {
        if line.text.starts_with(LEGEND) {
            self.ends = line.text.contains(ENDS);
            return Ok(LineMeaning::Yes);
        }
        let damaged = |what| PauseError::Damaged { line: line.number, what, text: quoted(line.text) };
        let added = with_interval(line.text, |interval| {
            self.check_tag(&interval, line)?;
            self.add(&interval, line).map_err(damaged)
        });
        added.ok_or_else(|| damaged("no interval of a histogram"))?
    }

    fn check_tag(&mut self, interval: &IntervalLogHistogram<'_>, line: &LogLine<'_>) -> Result<(), PauseError> {
        let tag = interval.tag().map(|tag| tag.as_str().to_owned());
        let first = self.tag.get_or_insert_with(|| tag.clone());
        if *first == tag {
            return Ok(());
        }
        let name = |tag: Option<&str>| tag.map_or_else(|| "none".to_owned(), quoted);
        Err(PauseError::SecondTag { line: line.number, tag: name(tag.as_deref()), first: name(first.as_deref()) })
    }

    fn add(&mut self, interval: &IntervalLogHistogram<'_>, line: &LogLine<'_>) -> Result<LineMeaning, &'static str> {
        let ms = interval.max();
        if !(0.0..=MAX).contains(&ms) {
            return Err("its longest value is no time in milliseconds");
        }
        check_unit(interval, ms)?;
        let from = interval.start_timestamp();
        // A log without that legend may have ends too: nobody logs an interval of years.
        let to = if self.ends || interval.duration() > LENGTH_MAX {
            interval.duration()
        } else {
            from.saturating_add(interval.duration())
        };
        let lasted = to
            .checked_sub(from)
            .filter(|lasted| *lasted <= LENGTH_MAX)
            .ok_or("its end is no time after its beginning")?;
        let passed = match self.before {
            None => lasted,
            Some((began, _)) if from < began => {
                self.pieces += 1;
                self.overlaps.begin_piece();
                APART.saturating_add(lasted)
            }
            Some((began, ended)) if from.saturating_add((ended - began).mul_f64(OVERLAP_MAX)) < ended => {
                return Err(
                    "it begins before the one before it has ended: its second column may be an end, and is read as a length",
                );
            }
            Some((_, ended)) => to.saturating_sub(ended),
        };
        self.at = self.at.saturating_add(passed);
        self.before = Some((from, to));
        self.watched = self.watched.saturating_add(lasted);
        self.longest = self.longest.max(lasted);
        if ms > 0.0 {
            let (longest, at) = (whole((ms * UNIT_NS).round()), nanos(self.at));
            self.kept.push(longest, Some(at), Some(mark(&line.text)));
            // It was over at some moment of the interval: at its beginning, if it left room for the next one.
            let (began, ended) = (at.saturating_sub(longest), at.saturating_sub(nanos(lasted)));
            self.overlaps.take(line.number, (began, ended), whole(ROUNDED_SHARE * longest as f64));
        }
        Ok(LineMeaning::Yes)
    }

    /// The pauses, and how long was watched: gaps between intervals are not.
    pub(super) fn finish(self) -> Result<ReadPauses, PauseError> {
        Ok(ReadPauses {
            shape: PauseLogFormat::Intervals,
            kept: self.kept,
            coverage: Coverage {
                span: Some(nanos(self.watched)),
                pieces: self.pieces,
                longest_interval: nanos(self.longest),
                ..Coverage::default()
            },
            unread: UnreadLines::default(),
            overlaps: self.overlaps.finish()?,
        })
    }
}

/// Whether the longest value is that of the histogram, in milliseconds of nanoseconds.
fn check_unit(interval: &IntervalLogHistogram<'_>, ms: f64) -> Result<(), &'static str> {
    let bytes = STANDARD.decode(interval.encoded_histogram()).map_err(|_| "its histogram is not base64")?;
    let histogram: Histogram<u64> =
        Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|_| "its histogram cannot be read")?;
    let inside = histogram.max() as f64 / UNIT_NS;
    let digits = 10_f64.powi(-i32::from(histogram.sigfig()));
    let off = (inside - ms).abs();
    (off <= ROUNDED_MS + 2.0 * digits * inside.max(ms)).then_some(()).ok_or(
        "its longest value in milliseconds is not that of the histogram inside, which is taken for nanoseconds: give the \
         pauses as a number of milliseconds a line",
    )
}
