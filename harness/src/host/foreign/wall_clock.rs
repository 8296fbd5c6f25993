//! The wall clock of a program: libfaketime takes it from a file, and the program reports the time that it reads. If it
//! cannot report, or still reads the true time (a runtime that bypasses the C library), nothing is verified.

use std::path::PathBuf;

use hustings_record::Nanos;

use crate::foreign::message::ToProgram;
use crate::foreign::program::Program;
use crate::process::clock;
use crate::process::utc;

/// libfaketime reads the file every second.
const SEEN_WITHIN_NS: Nanos = 4_000_000_000;
const ASK_AGAIN_NS: Nanos = 200_000_000;
/// Precision of reading a wall clock by request and reply.
const OFF_MS: i64 = 1_000;
/// Numbers of these requests, above those of the introduction.
const FIRST: u64 = 1_000;

/// The result: by how much the clock was ahead before and after.
pub(super) type ClockSetResult = Result<(i64, i64), String>;

#[derive(Default)]
pub(super) struct WallClock {
    /// libfaketime's file; None: the program was not started under it.
    file: Option<PathBuf>,
    /// The offset in the file.
    ahead_ms: i64,
    asked: u64,
    under_way: Option<ClockSetting>,
}

struct ClockSetting {
    by_ms: i64,
    /// The offset that the program reported before.
    before: Option<i64>,
    last: Option<i64>,
    asked_at: Nanos,
    until: Nanos,
}

impl WallClock {
    pub(super) fn new(file: Option<PathBuf>) -> Self {
        Self { file, ..Self::default() }
    }

    /// Begins to set it.
    ///
    /// # Errors
    /// It cannot be set.
    pub(super) fn set(&mut self, by_ms: i64, program: &Program) -> Result<(), String> {
        if self.file.is_none() {
            return Err("the program was not started under libfaketime".to_owned());
        }
        if self.under_way.is_some() {
            return Err("it is being set already".to_owned());
        }
        let until = clock::now() + SEEN_WITHIN_NS;
        self.under_way = Some(ClockSetting { by_ms, before: None, last: None, asked_at: 0, until });
        self.ask(program);
        Ok(())
    }

    /// Handles the program's report of its wall clock, in nanoseconds since 1970.
    pub(super) fn told(&mut self, n: u64, wall: Option<Nanos>) {
        let Some(setting) = self.under_way.as_mut().filter(|_| n == FIRST + self.asked) else { return };
        let Some(wall) = wall else { return };
        let ahead = i64::try_from(wall / 1_000_000).unwrap_or(i64::MAX).saturating_sub(utc::unix_ms());
        if setting.before.is_none() {
            setting.before = Some(ahead);
            self.ahead_ms += setting.by_ms;
            if let Some(file) = &self.file {
                // If it does not read the file, its reports show that.
                let _ = std::fs::write(file, written(self.ahead_ms));
            }
        } else {
            setting.last = Some(ahead);
        }
    }

    /// The result, once it is known or the deadline has passed.
    pub(super) fn look(&mut self, program: &Program) -> Option<ClockSetResult> {
        let setting = self.under_way.as_ref()?;
        let now = clock::now();
        if let (Some(before), Some(after)) = (setting.before, setting.last) {
            let there = (after - before - setting.by_ms).abs() <= OFF_MS;
            if there || now > setting.until {
                self.under_way = None;
                return Some(Ok((before, after)));
            }
        } else if now > setting.until {
            self.under_way = None;
            return Some(Err(
                "the program does not tell what its wall clock shows: it is not possible to say".to_owned()
            ));
        }
        if now > setting.asked_at + ASK_AGAIN_NS {
            self.ask(program);
        }
        None
    }

    fn ask(&mut self, program: &Program) {
        self.asked += 1;
        program.tell(ToProgram::Sync { n: FIRST + self.asked });
        if let Some(setting) = &mut self.under_way {
            setting.asked_at = clock::now();
        }
    }
}

/// libfaketime's format: seconds ahead.
pub(super) fn written(ahead_ms: i64) -> String {
    let sign = if ahead_ms < 0 { '-' } else { '+' };
    let ms = ahead_ms.unsigned_abs();
    format!("{sign}{}.{:03}\n", ms / 1_000, ms % 1_000)
}

#[cfg(test)]
mod tests {
    use super::written;

    #[test]
    fn a_clock_is_written_as_seconds_ahead() {
        assert_eq!([0, 3_600_000, -1_500].map(written), ["+0.000\n", "+3600.000\n", "-1.500\n"]);
    }
}
