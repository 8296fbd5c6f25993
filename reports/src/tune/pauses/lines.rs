//! Lines of any bytes, one at a time and none of them long.

use std::io::{BufRead, Read as _};

use super::error::{LINE_BYTES_MAX, PauseError};

/// What a line is to the reader of one shape.
pub(super) enum LineMeaning {
    /// Understood.
    Yes,
    /// About something else.
    Other,
}

/// A line without its end and the space around it.
pub(super) struct LogLine<'a> {
    /// From 1.
    pub(super) number: u64,
    pub(super) text: &'a str,
    /// Bytes of the log up to its end.
    pub(super) bytes_until: u64,
    /// Its end is there: else whoever writes it may not be done.
    pub(super) is_whole: bool,
}

pub(super) struct LogLines<R> {
    input: R,
    number: u64,
    bytes_until: u64,
    bytes: Vec<u8>,
    text: String,
}

impl<R: BufRead> LogLines<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, number: 0, bytes_until: 0, bytes: Vec::new(), text: String::new() }
    }

    /// How many there were.
    pub(super) fn count(&self) -> u64 {
        self.number
    }

    pub(super) fn next(&mut self) -> Result<Option<LogLine<'_>>, PauseError> {
        self.bytes.clear();
        let read = (&mut self.input).take(LINE_BYTES_MAX + 1).read_until(b'\n', &mut self.bytes)?;
        if read == 0 {
            return Ok(None);
        }
        if self.number == 0 {
            refuse_encoded(&self.bytes)?;
        }
        self.number += 1;
        self.bytes_until += read as u64;
        if self.bytes.len() as u64 > LINE_BYTES_MAX {
            return Err(PauseError::LineTooLong { line: self.number });
        }
        self.text.clear();
        self.text.push_str(&String::from_utf8_lossy(&self.bytes));
        let text = self.text.trim_start_matches('\u{feff}').trim();
        let is_whole = self.bytes.ends_with(b"\n");
        Ok(Some(LogLine { number: self.number, text, bytes_until: self.bytes_until, is_whole }))
    }
}

/// Refuses the first bytes of a log that has to be converted.
fn refuse_encoded(begin: &[u8]) -> Result<(), PauseError> {
    if begin.starts_with(&[0xff, 0xfe]) || begin.starts_with(&[0xfe, 0xff]) {
        return Err(PauseError::Utf16);
    }
    if begin.starts_with(&[0x1f, 0x8b]) {
        return Err(PauseError::Compressed);
    }
    Ok(())
}
