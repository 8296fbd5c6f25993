//! Logs of a JVM: its safepoints, which are all of its stops; where it has none, its garbage collections.

use hustings_record::Nanos;
use hustings_record::words::quoted;

use super::clock::{JITTER_NS, LogClock};
use super::error::PauseError;
use super::lines::{LineMeaning, LogLine};
use super::log::{Coverage, PauseLogFormat, UnreadLines};
use super::longest_pauses::{LongestPauses, mark};
use super::overlaps::{NESTED_MAX, OverlapCheck};
use super::read_pauses::ReadPauses;
use super::stamp::{Stamp, nanos, strip};
use super::stop_cover::StopCover;

/// Words that only lines of a safepoint have (version 13 and later), and those before its whole length.
const SAFEPOINT: [&str; 3] = ["Safepoint \"", "Reaching safepoint:", "At safepoint:"];
const COLLECTION: &str = "GC(";
const TOTAL: &str = "Total:";
const SINCE_LAST: &str = "Time since last:";
/// Words that only lines of a stop have (to version 12), and those before its length.
const STOPPED: [&str; 3] = ["Total time for which", "threads were stopped", "Stopping threads took"];
const STOPPED_FOR: &str = "threads were stopped:";
/// A part of a safepoint that the lines of JDK 17 tell, and one that later versions' tell. (17.0.15)
const OF_JDK_17: &str = "Cleanup:";
const OF_LATER: &str = "Leaving safepoint:";
/// Collectors whose pauses are told wherever their collections are.
const STOPPING: [&str; 6] =
    ["Using G1", "Using Serial", "Using Parallel", "Using Concurrent Mark Sweep", "Using Shenandoah", "Using Epsilon"];
/// A collector whose pauses are told as phases alone.
const CONCURRENT: &str = "The Z Garbage Collector";
/// So many numbers of collections may be missing: a line that was filtered out is no lost file.
const NUMBERS_MISSING_MAX: u64 = 2;
/// Lines of a collection come after those of so many later ones at most.
const NUMBERS_BEHIND_MAX: u64 = 16;
/// By the lines of safepoints others came before them that are not in the log. So much time with such others is no lost file: short
/// ones may have been filtered out.
const UNLOGGED_MIN_NS: Nanos = 3_600_000_000_000;
/// Uptimes are told to the millisecond, and two of them make the gap between two pauses.
const PRECISION_NS: Nanos = 2_000_000;

/// The end of a pause.
#[derive(Clone, Copy)]
struct StampedEnd {
    /// Since the beginning of the log.
    at: Nanos,
    stamp: Stamp,
}

impl StampedEnd {
    /// How far its time may be off, against that of the pause before.
    fn tolerance(self) -> Nanos {
        match self.stamp {
            Stamp::Uptime(_) => PRECISION_NS,
            Stamp::Date(_) => JITTER_NS,
        }
    }
}

/// Pauses of one kind: those that were read, and lines that tell of one and were not.
struct PauseKindCount {
    read: LongestPauses,
    unread: UnreadLines,
    overlaps: OverlapCheck,
    /// The first line that was read.
    first: Option<(u64, String)>,
}

impl PauseKindCount {
    /// `nested_max`: so many of them may lie within a later one.
    fn new(most: usize, nested_max: usize) -> Self {
        let (read, overlaps) = (LongestPauses::new(most), OverlapCheck::new(nested_max));
        Self { read, unread: UnreadLines::default(), overlaps, first: None }
    }

    fn take(&mut self, line: &LogLine<'_>, lasted: Option<Nanos>, end: Option<StampedEnd>) {
        let Some(lasted) = lasted else { return self.unread.add(line.number, line.text) };
        self.first.get_or_insert_with(|| (line.number, quoted(line.text)));
        self.read.push(lasted, end.map(|end| end.at), end.map(|end| mark(&(end.stamp.ns(), lasted))));
        if let Some(end) = end {
            self.overlaps.take(line.number, (end.at.saturating_sub(lasted), end.at), end.tolerance());
        }
    }

    fn is_empty(&self) -> bool {
        self.read.count() == 0 && self.unread.count == 0
    }
}

pub(super) struct Jvm {
    clock: LogClock,
    safepoints: PauseKindCount,
    as_jdk_17: bool,
    stopped: PauseKindCount,
    collections: PauseKindCount,
    /// Collections in safepoints, and in stops.
    in_safepoints: StopCover,
    in_stopped: StopCover,
    /// When the last safepoint of this piece of the log was over, or the piece began.
    safepoint_at: Nanos,
    /// Times between safepoints in which others were not logged.
    unlogged: Nanos,
    collector: Collector,
    /// The first line that is of this and tells of no pause.
    first_other: Option<(u64, String)>,
}

/// What a line of a JVM tells of.
#[derive(Debug, PartialEq, Eq)]
enum JvmLine {
    Safepoint { lasted: Option<Nanos>, since_last: Option<Nanos>, as_jdk_17: bool },
    Stopped(Option<Nanos>),
    Collection(Option<Nanos>),
    Nothing,
}

/// Whether only a JVM writes such lines.
pub(super) fn is_one(line: &str) -> bool {
    strip(line).decorated || !matches!(says(line), JvmLine::Nothing)
}

impl Jvm {
    pub(super) fn new(most: usize) -> Self {
        Self {
            clock: LogClock::default(),
            safepoints: PauseKindCount::new(most, 0),
            as_jdk_17: true,
            stopped: PauseKindCount::new(most, 0),
            collections: PauseKindCount::new(most, NESTED_MAX),
            in_safepoints: StopCover::default(),
            in_stopped: StopCover::default(),
            safepoint_at: 0,
            unlogged: 0,
            collector: Collector::default(),
            first_other: None,
        }
    }

    pub(super) fn take(&mut self, line: &LogLine<'_>) -> Result<LineMeaning, PauseError> {
        let stripped = strip(line.text);
        let (before, pieces) = (self.clock.last_at(), self.clock.pieces());
        let ended = self.clock.at(stripped.stamps).map(|(at, stamp)| StampedEnd { at, stamp });
        if self.clock.is_scattered() {
            let what = "its times go back and forth: give one log, in order";
            return Err(PauseError::Damaged { line: line.number, what, text: quoted(line.text) });
        }
        let passed = (self.clock.pieces() == pieces).then(|| self.clock.last_at() - before);
        if passed.is_none() {
            for kind in [&mut self.safepoints, &mut self.stopped, &mut self.collections] {
                kind.overlaps.begin_piece();
            }
            self.in_safepoints.end_piece(before);
            self.in_stopped.end_piece(before);
            self.safepoint_at = self.clock.last_at();
        }
        self.collector.take(stripped.text, stripped.gc_init, passed);
        match says(stripped.text) {
            JvmLine::Safepoint { lasted, since_last, as_jdk_17 } => {
                self.as_jdk_17 &= as_jdk_17;
                self.in_safepoints.take_stop(began(ended, lasted));
                self.add_unlogged(ended, lasted.zip(since_last));
                self.safepoints.take(line, lasted, ended);
            }
            JvmLine::Stopped(lasted) => {
                self.in_stopped.take_stop(began(ended, lasted));
                self.stopped.take(line, lasted, ended);
            }
            JvmLine::Collection(lasted) => {
                if lasted.is_some() {
                    let ended = ended.map(|end| end.at);
                    self.in_safepoints.take_collection(line, ended);
                    self.in_stopped.take_collection(line, ended);
                }
                self.collections.take(line, lasted, ended);
            }
            JvmLine::Nothing => {
                if !stripped.gc_or_safepoint {
                    return Ok(LineMeaning::Other);
                }
                self.first_other.get_or_insert_with(|| (line.number, quoted(line.text)));
            }
        }
        Ok(LineMeaning::Yes)
    }

    /// Notes the time before a safepoint with this length, and of this time since the one before, if that one is not in the log.
    fn add_unlogged(&mut self, ended: Option<StampedEnd>, lasted_and_since: Option<(Nanos, Nanos)>) {
        let Some(end) = ended else { return };
        if let Some((lasted, since_last)) = lasted_and_since {
            let logged = lasted.saturating_add(since_last);
            let unlogged = end.at.saturating_sub(self.safepoint_at).saturating_sub(logged);
            if unlogged > UNLOGGED_MIN_NS {
                self.unlogged = self.unlogged.saturating_add(unlogged);
            }
        }
        self.safepoint_at = end.at;
    }

    /// None: it was about other things altogether.
    pub(super) fn finish(self) -> Result<Option<ReadPauses>, PauseError> {
        let (pieces, longest_gap) = (self.clock.pieces() as u64, self.clock.longest_gap());
        let mut coverage = Coverage { span: self.clock.covered(), pieces, longest_gap, ..Coverage::default() };
        let last_at = self.clock.last_at();
        let of = |format: PauseLogFormat, first: Option<(u64, String)>| Some((format, first?));
        let stopped = of(PauseLogFormat::StoppedTimes, self.stopped.first.clone());
        // A collection is a part of a safepoint: where a process tells of these, it tells of all its stops.
        let (shape, seen, outside) = if !self.safepoints.is_empty() {
            coverage.without(self.unlogged);
            let collection = of(PauseLogFormat::Collections, self.in_safepoints.finish(last_at));
            (PauseLogFormat::Safepoints { as_jdk_17: self.as_jdk_17 }, self.safepoints, stopped.or(collection))
        } else if !self.stopped.is_empty() {
            let collection = of(PauseLogFormat::Collections, self.in_stopped.finish(last_at));
            (PauseLogFormat::StoppedTimes, self.stopped, collection)
        } else {
            coverage.without(self.collector.missing);
            (PauseLogFormat::Collections, self.collections, None)
        };
        if let Some((other, (line, text))) = outside {
            return Err(PauseError::MixedKinds { line, text, kind: shape.about(), other: other.about() });
        }
        let PauseKindCount { read, unread, overlaps, first: _ } = seen;
        // That no pause was read is an answer only where none was there to be read.
        if read.count() == 0 && (unread.count > 0 || !self.collector.would_show()) {
            return match unread.first.or(self.first_other) {
                Some((line, text)) => Err(PauseError::NothingShown { line, text }),
                None => Ok(None),
            };
        }
        Ok(Some(ReadPauses { shape, kept: read, coverage, unread, overlaps: overlaps.finish()? }))
    }
}

/// What a log tells of the collector.
#[derive(Default)]
struct Collector {
    /// It says which one it is, and that stops the process while it collects.
    stopping: bool,
    /// It says that it hardly does, and how it is set up: then its phases are told too.
    concurrent: bool,
    init: bool,
    /// Lines of a collection.
    ran: bool,
    /// The highest number of a collection in this piece of the log.
    number: Option<u64>,
    /// Between lines of which numbers of collections are missing.
    missing: Nanos,
}

impl Collector {
    /// `passed`: since the line before; None: this one begins a new piece of the log.
    fn take(&mut self, text: &str, is_init: bool, passed: Option<Nanos>) {
        self.init |= is_init;
        self.stopping |= STOPPING.iter().any(|name| text.starts_with(name));
        self.concurrent |= text.contains(CONCURRENT);
        let number = text.strip_prefix(COLLECTION).and_then(|rest| rest.split_once(')')?.0.parse::<u64>().ok());
        let Some(number) = number else { return };
        self.ran = true;
        let Some((last, passed)) = self.number.zip(passed) else {
            self.number = Some(number);
            return;
        };
        // Another process counts anew.
        let is_another = number.saturating_add(NUMBERS_BEHIND_MAX) < last;
        if is_another || number > last.saturating_add(1 + NUMBERS_MISSING_MAX) {
            self.missing = self.missing.saturating_add(passed);
        }
        self.number = Some(if is_another { number } else { last.max(number) });
    }

    /// Whether a pause of it would be in the log, if there had been one.
    fn would_show(&self) -> bool {
        !self.ran && (self.stopping || self.concurrent && self.init)
    }
}

/// When a pause of this length began.
fn began(ended: Option<StampedEnd>, lasted: Option<Nanos>) -> Option<Nanos> {
    ended.zip(lasted).map(|(end, lasted)| end.at.saturating_sub(lasted))
}

fn says(text: &str) -> JvmLine {
    let has = |words: &[&str]| words.iter().any(|words| text.contains(words));
    // Two threads may have written into one line.
    if has(&SAFEPOINT) {
        let total = text.rsplit_once(TOTAL).and_then(|(_, total)| nanos(total.split_once(" ns")?.0.trim(), 1.0));
        let since = text.split_once(SINCE_LAST).and_then(|(_, rest)| nanos(rest.split_once(" ns")?.0.trim(), 1.0));
        let as_jdk_17 = has(&[OF_JDK_17]) && !has(&[OF_LATER]);
        return JvmLine::Safepoint { lasted: total, since_last: since, as_jdk_17 };
    }
    if has(&STOPPED) {
        let after = text.split_once(STOPPED_FOR).map(|(_, rest)| rest);
        return JvmLine::Stopped(after.and_then(|rest| nanos(rest.split_once(" seconds")?.0.trim(), 1e9)));
    }
    // The last collection of the line: what stands before it is another thread's.
    let collection = text.rfind(COLLECTION).and_then(|at| text[at..].split_once(") ")).map_or(text, |(_, rest)| rest);
    let Some(pause) = of_generation(collection.trim_start()).strip_prefix("Pause ") else { return JvmLine::Nothing };
    let last = pause.split_whitespace().next_back().unwrap_or_default();
    if let Some(lasted) = last.strip_suffix("ms").and_then(|ms| nanos(ms, 1e6)) {
        return JvmLine::Collection(Some(lasted));
    }
    // Its beginning is told too, by its kind and cause: without a length, and without what it freed.
    let whole = pause.matches('(').count() == pause.matches(')').count() && !last.contains("->");
    let begins = whole && (last.ends_with(')') || last.bytes().all(|byte| byte.is_ascii_alphabetic()));
    if begins { JvmLine::Nothing } else { JvmLine::Collection(None) }
}

/// Without the generation that the phase is of: `Y: `, `y: `, `O: `.
fn of_generation(text: &str) -> &str {
    text.split_once(": ").filter(|(before, _)| ["Y", "y", "O"].contains(before)).map_or(text, |(_, rest)| rest)
}
