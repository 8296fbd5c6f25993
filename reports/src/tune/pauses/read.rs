//! Sees from its lines what a log is, and reads it.

use std::io::BufRead;

use hustings_record::words::quoted;

use super::error::PauseError;
use super::intervals::{self, Intervals};
use super::jvm::{self, Jvm};
use super::lines::{LineMeaning, LogLine, LogLines};
use super::log::{PauseLog, UnreadLines};
use super::longest_pauses::LongestPauses;
use super::milliseconds::{self, Milliseconds};
use super::read_pauses::ReadPauses;

/// So many lines may stand before the first one that tells what the file is: banners, command lines.
const BANNER_LINES_MAX: u64 = 1_000;
/// So many lines and bytes may stand before the first line that is understood: what has more of them may never end.
const SILENT_LINES_MAX: u64 = 1_000_000;
const SILENT_BYTES_MAX: u64 = 64 << 20;
/// So many pauses are kept one by one, the longest.
const PAUSES_MAX: usize = 1_000_000;

/// One shape of log, line by line.
enum Reader {
    Milliseconds(Milliseconds),
    Jvm(Box<Jvm>),
    Intervals(Intervals),
}

impl Reader {
    /// The reader for what this line is, if that can be seen from it.
    fn of(line: &LogLine<'_>) -> Option<Self> {
        if milliseconds::is_one(line.text) {
            Some(Self::Milliseconds(Milliseconds::new(PAUSES_MAX)))
        } else if intervals::is_one(line.text) {
            Some(Self::Intervals(Intervals::new(PAUSES_MAX)))
        } else if jvm::is_one(line.text) {
            Some(Self::Jvm(Box::new(Jvm::new(PAUSES_MAX))))
        } else {
            None
        }
    }

    fn take(&mut self, line: &LogLine<'_>) -> Result<LineMeaning, PauseError> {
        match self {
            Self::Milliseconds(reader) => reader.take(line).map(|()| LineMeaning::Yes),
            Self::Jvm(reader) => reader.take(line),
            Self::Intervals(reader) => reader.take(line),
        }
    }

    fn finish(self) -> Result<Option<ReadPauses>, PauseError> {
        match self {
            Self::Milliseconds(reader) => Ok(Some(reader.finish())),
            Self::Jvm(reader) => reader.finish(),
            Self::Intervals(reader) => reader.finish().map(Some),
        }
    }
}

/// Reads a log; what it is, is seen from its lines.
///
/// # Errors
/// Of every kind that [`PauseError`] has, with the first line that is not understood.
pub fn read(input: impl BufRead) -> Result<PauseLog, PauseError> {
    let mut lines = LogLines::new(input);
    let (mut reader, mut comments) = (None, 0_u64);
    let (mut skipped, mut first_skipped) = (0_u64, None::<(u64, String)>);
    let (mut is_understood, mut cut) = (false, UnreadLines::default());
    while let Some(line) = lines.next()? {
        if !is_understood && (line.number > SILENT_LINES_MAX || line.bytes_until > SILENT_BYTES_MAX) {
            return Err(PauseError::SaysNothing { lines: line.number, bytes: line.bytes_until });
        }
        if line.text.is_empty() || line.text.starts_with('#') {
            comments += u64::from(!line.text.is_empty());
            continue;
        }
        if reader.is_none() {
            reader = Reader::of(&line);
        }
        let told = match &mut reader {
            Some(reader) => match reader.take(&line) {
                // The last line of a log that is being written. If it is the only one, nothing shows that it is of a log.
                Err(_) if !line.is_whole && is_understood => {
                    cut.add_cut(line.number, line.text);
                    LineMeaning::Yes
                }
                told => told?,
            },
            None if skipped >= BANNER_LINES_MAX => break,
            None => LineMeaning::Other,
        };
        if matches!((&reader, &first_skipped), (Some(Reader::Milliseconds(_)), Some(_))) {
            let (line, text) = first_skipped.unwrap_or_default();
            return Err(PauseError::NoNumber { line, text });
        }
        is_understood |= matches!(told, LineMeaning::Yes);
        if matches!(told, LineMeaning::Other) {
            skipped += 1;
            first_skipped.get_or_insert_with(|| (line.number, quoted(line.text)));
        }
    }
    let unknown = |first: Option<(u64, String)>| match first {
        Some((line, text)) => PauseError::UnknownShape { line, text },
        None => PauseError::Empty,
    };
    let ReadPauses { shape, kept, coverage, mut unread, overlaps } = match reader {
        None if first_skipped.is_none() && comments > 0 => ReadPauses::of_milliseconds(LongestPauses::new(0)),
        None => return Err(unknown(first_skipped)),
        Some(reader) => reader.finish()?.ok_or_else(|| unknown(first_skipped.clone()))?,
    };
    unread.count += cut.count;
    unread.first = unread.first.or(cut.first);
    let LongestPauses { left_out, left_out_max, .. } = kept;
    let (marks, lines) = (kept.marks(), lines.count());
    Ok(PauseLog {
        shape,
        pauses: kept.in_order(),
        coverage,
        unread,
        overlaps,
        marks,
        left_out,
        left_out_max,
        lines,
        skipped,
        first_skipped,
    })
}

#[cfg(test)]
mod tests;
