//! A number of milliseconds a line, and comments behind `#`.

use hustings_record::numbers::whole;
use hustings_record::words::quoted;

use super::error::PauseError;
use super::lines::LogLine;
use super::log::UnreadLines;
use super::longest_pauses::LongestPauses;
use super::read_pauses::ReadPauses;

/// Nobody waits longer than a year for a process.
const MS_MAX: f64 = 366.0 * 86_400e3;

pub(super) struct Milliseconds {
    kept: LongestPauses,
    /// A last line without its end: the number there may be the beginning of a longer one.
    unread: UnreadLines,
}

/// Whether the line is a number, or what was meant to be one.
pub(super) fn is_one(text: &str) -> bool {
    number(text).parse::<f64>().is_ok()
}

fn number(text: &str) -> &str {
    text.split('#').next().unwrap_or_default().trim()
}

impl Milliseconds {
    pub(super) fn new(most: usize) -> Self {
        Self { kept: LongestPauses::new(most), unread: UnreadLines::default() }
    }

    pub(super) fn take(&mut self, line: &LogLine<'_>) -> Result<(), PauseError> {
        let ms = number(line.text).parse().ok().filter(|ms| (0.0..=MS_MAX).contains(ms));
        let ms = ms.ok_or_else(|| PauseError::NoNumber { line: line.number, text: quoted(line.text) })?;
        if line.is_whole {
            self.kept.push(whole((ms * 1e6_f64).round()), None, None);
        } else {
            self.unread.add_cut(line.number, line.text);
        }
        Ok(())
    }

    pub(super) fn finish(self) -> ReadPauses {
        ReadPauses { unread: self.unread, ..ReadPauses::of_milliseconds(self.kept) }
    }
}
