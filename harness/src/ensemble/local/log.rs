//! A server's log file: the whole file for a record, its end for an error.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::ensemble::log;

pub(super) const LOG_FILE: &str = "server.log";
/// At most this much is read; of a longer log, its end.
const LOG_BYTES_MAX: u64 = 64 << 20;
/// Bytes of a log's end that an error message may need.
const TAIL_BYTES: u64 = 16 << 10;

/// All complete lines of the log, or of its last 64 MiB.
pub(super) fn read(path: &Path) -> io::Result<String> {
    let (text, torn) = read_end(path, LOG_BYTES_MAX)?;
    Ok(match text.split_once('\n') {
        Some((_, whole)) if torn => whole.to_owned(),
        _ => text,
    })
}

/// The last lines of the log, indented.
pub(super) fn read_tail(path: &Path) -> io::Result<String> {
    Ok(log::tail(&read_end(path, TAIL_BYTES)?.0))
}

/// The last bytes, and whether earlier ones were left out.
fn read_end(path: &Path, bytes_max: u64) -> io::Result<(String, bool)> {
    let mut file = File::open(path)?;
    let from = file.metadata()?.len().saturating_sub(bytes_max);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes)?;
    Ok((String::from_utf8_lossy(&bytes).into_owned(), from > 0))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::{LOG_BYTES_MAX, read, read_tail};

    #[test]
    fn a_log_is_read_whole_and_its_tail_in_lines() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        let text: String = (0..100).map(|n| format!("line {n}\n")).collect();
        file.write_all(text.as_bytes()).expect("written");
        assert_eq!(read(file.path()).expect("read"), text);
        let tail = read_tail(file.path()).expect("read");
        assert_eq!(tail.lines().count(), 15);
        assert!(tail.ends_with("  line 99"), "{tail}");
    }

    #[test]
    fn of_a_log_that_is_too_long_the_last_whole_lines_are_read() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        // Sparse: it takes no disk space.
        file.as_file().set_len(LOG_BYTES_MAX).expect("made long");
        file.as_file_mut().write_all(b"first\nsecond\n").expect("written");
        let mut end = std::fs::OpenOptions::new().append(true).open(file.path()).expect("opened");
        end.write_all(b"more").expect("written");
        let read = read(file.path()).expect("read");
        assert!(read.starts_with("second\n"), "{}", &read[..20]);
        assert!(read.ends_with("more"));
    }
}
