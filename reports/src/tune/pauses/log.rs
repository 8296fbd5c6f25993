//! What a log of pauses says, whatever its shape.

use hustings_record::Nanos;
use hustings_record::words::quoted;
use serde::Serialize;

use super::overlaps::OverlappingPauses;

/// A week in nanoseconds.
pub const WEEK_NS: f64 = 7.0 * 86_400e9;

/// One time in which the process did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// When it was over, since the beginning of the log; None where the log tells no times.
    pub ended: Option<Nanos>,
    pub lasted: Nanos,
}

/// The shape of a log of pauses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PauseLogFormat {
    /// A number of milliseconds a line.
    #[default]
    Milliseconds,
    /// `-Xlog:safepoint` of a JVM of version 13 or later.
    Safepoints {
        /// The lines are as those of a JDK 17, on which this was tried. Other versions' lines are known from what was published.
        as_jdk_17: bool,
    },
    /// `-Xlog:safepoint` of versions 9 to 12, and `-XX:+PrintGCApplicationStoppedTime` of version 8.
    StoppedTimes,
    /// `-Xlog:gc`: collections alone.
    Collections,
    /// An interval log of HdrHistogram, as jHiccup writes it.
    Intervals,
}

impl PauseLogFormat {
    /// What it is, for people.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::Milliseconds => "a file of milliseconds",
            Self::Safepoints { .. } => "safepoints of a JVM (-Xlog:safepoint)",
            Self::StoppedTimes => "stopped times of a JVM of version 8 to 12",
            Self::Collections => "garbage collections of a JVM (-Xlog:gc)",
            Self::Intervals => "an interval log of HdrHistogram",
        }
    }

    /// What such a log does not show, or what is not sure about reading it.
    #[must_use]
    pub fn doubt(self) -> Option<&'static str> {
        match self {
            Self::Milliseconds | Self::Safepoints { as_jdk_17: true } => None,
            Self::Safepoints { as_jdk_17: false } => Some(
                "the lines differ from those of JDK 17: they are read as they were published for other versions, and were not \
                 tried on one",
            ),
            Self::StoppedTimes => {
                Some("lines of JDK 8 to 12 are read as they were published, and were not tried on one")
            }
            Self::Collections => Some(
                "a lower bound: the time to reach a safepoint, and stops for other reasons than a collection, are not in it; \
                 -Xlog:safepoint has them",
            ),
            Self::Intervals => Some(
                "of each interval its longest pause: others in the same interval are not in it; taken for milliseconds as the \
                 histograms inside are a million times as much: look whether the longest pause is as long as you know it",
            ),
        }
    }
}

/// How much time a log covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// What lies between the first and the last line of each of its pieces; None where it tells no times.
    pub span: Option<Nanos>,
    /// Pieces whose times rise, in the worst case of the files: more than one where a process was started anew, or files were put
    /// together in another order.
    pub pieces: u64,
    /// What was taken off the span, because lines are missing there: by the numbers of the collections, or by the time that each
    /// safepoint tells of since the one before.
    pub missing: Nanos,
    /// The longest time between two lines of one piece.
    pub longest_gap: Nanos,
    /// The longest interval, of a log of intervals.
    pub longest_interval: Nanos,
}

impl Coverage {
    /// Both together: what lies between two files is not covered.
    fn and(self, other: Self) -> Self {
        let span = match (self.span, other.span) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
        Self {
            span,
            pieces: self.pieces.max(other.pieces),
            missing: self.missing.saturating_add(other.missing),
            longest_gap: self.longest_gap.max(other.longest_gap),
            longest_interval: self.longest_interval.max(other.longest_interval),
        }
    }

    pub(super) fn without(&mut self, missing: Nanos) {
        self.missing = self.span.map_or(0, |span| missing.min(span));
        self.span = self.span.map(|span| span - self.missing);
    }
}

/// Lines that hold the words of a pause and could not be read: how many, and the first of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UnreadLines {
    pub count: u64,
    pub first: Option<(u64, String)>,
}

impl UnreadLines {
    pub(super) fn add(&mut self, line: u64, text: &str) {
        self.count += 1;
        self.first.get_or_insert_with(|| (line, quoted(text)));
    }

    /// The last line of a log, without its end.
    pub(super) fn add_cut(&mut self, line: u64, text: &str) {
        self.count += 1;
        self.first.get_or_insert_with(|| (line, format!("{}, which has no line end and may be cut", quoted(text))));
    }
}

/// What a log says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PauseLog {
    pub shape: PauseLogFormat,
    /// In the order of the log.
    pub pauses: Vec<Pause>,
    pub coverage: Coverage,
    pub unread: UnreadLines,
    /// Pauses that overlap an earlier one, where they are few: a log with many is refused.
    pub overlaps: OverlappingPauses,
    /// A mark of each pause with a time, sorted: files that share marks tell of the same pauses. Of the first file alone.
    pub marks: Vec<u64>,
    /// Pauses that are not among `pauses`, because there are too many: how many, and the longest of them.
    pub left_out: u64,
    pub left_out_max: Nanos,
    pub lines: u64,
    /// Lines that tell of something else, and the first of them.
    pub skipped: u64,
    pub first_skipped: Option<(u64, String)>,
}

impl PauseLog {
    /// Appends the log of another file: rotated logs, or those of several processes. Its times follow on those of this one.
    ///
    /// # Errors
    /// It has another shape, which is returned.
    pub fn append(&mut self, other: Self) -> Result<(), PauseLogFormat> {
        self.shape = match (self.shape, other.shape) {
            (PauseLogFormat::Safepoints { as_jdk_17: one }, PauseLogFormat::Safepoints { as_jdk_17: another }) => {
                PauseLogFormat::Safepoints { as_jdk_17: one && another }
            }
            (one, another) if one == another => one,
            (_, another) => return Err(another),
        };
        let after = self.coverage.span.unwrap_or(0);
        let later = |pause: Pause| Pause { ended: pause.ended.map(|ended| ended.saturating_add(after)), ..pause };
        self.pauses.extend(other.pauses.into_iter().map(later));
        self.coverage = self.coverage.and(other.coverage);
        self.unread.count += other.unread.count;
        self.unread.first = self.unread.first.take().or(other.unread.first);
        self.overlaps.count += other.overlaps.count;
        self.overlaps.first = self.overlaps.first.take().or(other.overlaps.first);
        self.left_out += other.left_out;
        self.left_out_max = self.left_out_max.max(other.left_out_max);
        self.lines += other.lines;
        self.skipped += other.skipped;
        self.first_skipped = self.first_skipped.take().or(other.first_skipped);
        Ok(())
    }

    /// The same as [`PauseLog::weeks`], with the 0 of a log whose lines are all of one time.
    #[must_use]
    pub fn own_weeks(&self) -> Option<f64> {
        self.coverage.span.map(|span| span as f64 / WEEK_NS)
    }

    /// How many weeks may have been logged: those between which lines are missing too.
    #[must_use]
    pub fn weeks_at_most(&self) -> Option<f64> {
        self.coverage.span.map(|span| span.saturating_add(self.coverage.missing) as f64 / WEEK_NS)
    }

    /// How many weeks were logged, by the log's own times.
    #[must_use]
    pub fn weeks(&self) -> Option<f64> {
        self.coverage.span.filter(|span| *span > 0).map(|span| span as f64 / WEEK_NS)
    }
}
