//! Logs of a JVM: its safepoints, which are all of its stops; where it has none, its garbage collections.

use hustings_record::Nanos;
use hustings_record::words::quoted;

use super::clock::Clock;
use super::error::PauseError;
use super::kept::Kept;
use super::lines::{Line, Told};
use super::log::Shape;
use super::stamp::{nanos, strip};

const SAFEPOINT: &str = "Safepoint \"";
const STOPPED: &str = "Total time for which application threads were stopped:";
/// A part of a safepoint that the lines of JDK 17 tell, and one that later versions' tell. (17.0.15)
const OF_JDK_17: &str = "Cleanup:";
const OF_LATER: &str = "Leaving safepoint:";

pub(super) struct Jvm {
    clock: Clock,
    safepoints: Kept,
    as_jdk_17: bool,
    stopped: Kept,
    collections: Kept,
    /// Lines that bear a tag of what this is about.
    tagged: bool,
}

/// What a line of a JVM tells of.
#[derive(Debug, PartialEq, Eq)]
enum Says {
    Safepoint(Nanos, bool),
    Stopped(Nanos),
    Collection(Nanos),
    Nothing,
    /// It was about to tell of a pause.
    Torn,
}

/// Whether only a JVM writes such lines.
pub(super) fn is_one(line: &str) -> bool {
    let stripped = strip(line);
    stripped.decorated || stripped.text.starts_with(STOPPED) || stripped.text.starts_with(SAFEPOINT)
}

impl Jvm {
    pub(super) fn new(most: usize) -> Self {
        let kept = || Kept::new(most);
        let clock = Clock::default();
        Self { clock, safepoints: kept(), as_jdk_17: true, stopped: kept(), collections: kept(), tagged: false }
    }

    pub(super) fn take(&mut self, line: &Line<'_>) -> Result<Told, PauseError> {
        let stripped = strip(line.text);
        self.tagged |= stripped.gc_or_safepoint;
        let ended = stripped.stamp.and_then(|stamp| self.clock.at(stamp));
        match says(stripped.text) {
            Says::Safepoint(lasted, as_jdk_17) => {
                self.as_jdk_17 &= as_jdk_17;
                self.safepoints.push(lasted, ended);
            }
            Says::Stopped(lasted) => self.stopped.push(lasted, ended),
            Says::Collection(lasted) => self.collections.push(lasted, ended),
            Says::Nothing if stripped.gc_or_safepoint => {}
            Says::Nothing => return Ok(Told::Other),
            Says::Torn => {
                let what = "a pause without its length";
                return Err(PauseError::Damaged { line: line.number, what, text: quoted(stripped.text) });
            }
        }
        Ok(Told::Yes)
    }

    /// None: it was about other things altogether.
    pub(super) fn finish(self) -> Option<(Shape, Kept, Option<Nanos>)> {
        let span = self.clock.span();
        // A collection is a part of a safepoint: where these are told, all stops are.
        if self.safepoints.count() > 0 {
            Some((Shape::Safepoints { as_jdk_17: self.as_jdk_17 }, self.safepoints, span))
        } else if self.stopped.count() > 0 {
            Some((Shape::StoppedTimes, self.stopped, span))
        } else if self.collections.count() > 0 || self.tagged {
            Some((Shape::Collections, self.collections, span))
        } else {
            None
        }
    }
}

fn says(text: &str) -> Says {
    if text.starts_with(SAFEPOINT) {
        let total = text.rsplit_once("Total:").and_then(|(_, total)| nanos(total.split_once(" ns")?.0.trim(), 1.0));
        let as_jdk_17 = text.contains(OF_JDK_17) && !text.contains(OF_LATER);
        return total.map_or(Says::Torn, |total| Says::Safepoint(total, as_jdk_17));
    }
    if let Some(rest) = text.strip_prefix(STOPPED) {
        let seconds = rest.split_once(" seconds").and_then(|(seconds, _)| nanos(seconds.trim(), 1e9));
        return seconds.map_or(Says::Torn, Says::Stopped);
    }
    let collection = text.strip_prefix("GC(").and_then(|rest| rest.split_once(") ")).map_or(text, |(_, rest)| rest);
    if !collection.trim_start().starts_with("Pause ") {
        return Says::Nothing;
    }
    // Its beginning is told too, without a length.
    let last = collection.split_whitespace().next_back().unwrap_or_default();
    let lasted = last.strip_suffix("ms").and_then(|ms| nanos(ms, 1e6));
    lasted.map_or(Says::Nothing, Says::Collection)
}
