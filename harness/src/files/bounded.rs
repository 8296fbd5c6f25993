//! Reads files that users name, up to a size limit: a path may lead to an endless device.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use crate::console::output::inform;

const BOM: char = '\u{feff}';
/// Scenarios, limits, keys and similar files are far shorter.
pub const SMALL: u64 = 16 << 20;

/// A pipe may be silent for so long before a user is told that it is waited for.
const SILENT_PIPE: Duration = Duration::from_secs(2);

/// While the input lasts, a line says this often how much of it is read.
const PROGRESS_EVERY: Duration = Duration::from_secs(10);

/// An open file that a user named.
#[derive(Debug)]
pub struct UserFile {
    file: File,
    /// Its drop ends the wait for the first bytes.
    wait: Option<Sender<()>>,
    progress: ReadProgress,
}

/// Opens the file. A pipe is waited for, as a shell's `<(…)` needs it. If nobody writes for a moment, that is said once.
///
/// # Errors
/// It cannot be opened.
pub fn open(path: &Path) -> io::Result<UserFile> {
    UserFile::new(path.display().to_string(), fs::metadata(path), || File::open(path))
}

/// Standard input. A pipe is waited for as in [`open`].
///
/// # Errors
/// It cannot be opened once more.
pub fn standard_input() -> io::Result<UserFile> {
    let file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    UserFile::new("standard input".to_owned(), file.metadata(), || Ok(file))
}

impl UserFile {
    /// Opens it, after the wait for a pipe has begun: the opening itself waits for a writer.
    fn new(
        shown: String,
        there: io::Result<fs::Metadata>,
        open: impl FnOnce() -> io::Result<File>,
    ) -> io::Result<Self> {
        let is_pipe = there.is_ok_and(|there| there.file_type().is_fifo());
        let wait = is_pipe.then(|| wait_for(shown.clone()));
        Ok(Self { file: open()?, wait, progress: ReadProgress::new(shown) })
    }
}

impl Read for UserFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer);
        drop(self.wait.take());
        if let Ok(bytes) = &read
            && let Some(line) = self.progress.after(*bytes, Instant::now())
        {
            inform!("{line}");
        }
        read
    }
}

/// How much of an input is read.
#[derive(Debug)]
struct ReadProgress {
    shown: String,
    bytes: u64,
    shown_at: Instant,
}

impl ReadProgress {
    fn new(shown: String) -> Self {
        Self { shown, bytes: 0, shown_at: Instant::now() }
    }

    /// Counts these bytes. Gives a line for the user if one is due.
    fn after(&mut self, bytes: usize, now: Instant) -> Option<String> {
        self.bytes += bytes as u64;
        if now.duration_since(self.shown_at) < PROGRESS_EVERY {
            return None;
        }
        self.shown_at = now;
        Some(format!("read {} MiB of {} so far", self.bytes >> 20, self.shown))
    }
}

/// Begins the wait for a pipe.
fn wait_for(shown: String) -> Sender<()> {
    let (wait, end) = channel();
    let say_so = move || {
        if end.recv_timeout(SILENT_PIPE) == Err(RecvTimeoutError::Timeout) {
            inform!("waiting for {shown}, a pipe that nobody writes to");
        }
    };
    // Without a thread it is waited for all the same.
    let _ = Builder::new().name("pipe".to_owned()).spawn(say_so);
    wait
}

/// The content of the file.
///
/// # Errors
/// It cannot be read, or is longer than `most` bytes.
pub fn bytes(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open(path)?.take(most + 1).read_to_end(&mut content)?;
    if content.len() as u64 > most {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it is longer than {most} bytes, and no such file is"),
        ));
    }
    Ok(content)
}

/// The text of the file, without a byte order mark.
///
/// # Errors
/// As for [`bytes`], or the content is not UTF-8.
pub fn text(path: &Path, most: u64) -> io::Result<String> {
    let mut text = String::from_utf8(bytes(path, most)?).map_err(|error| {
        io::Error::new(io::ErrorKind::InvalidData, format!("it is no text in UTF-8: {}", error.utf8_error()))
    })?;
    if text.starts_with(BOM) {
        text.remove(0);
    }
    Ok(text)
}

/// As [`text`], for a stored file such as a record's. It must be a plain file, because reading a pipe would block.
///
/// # Errors
/// As for [`text`], or it is not a plain file.
pub fn stored_text(path: &Path, most: u64) -> io::Result<String> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no plain file"));
    }
    text(path, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_that_lasts_is_told_of_by_its_length() {
        let mut progress = ReadProgress::new("it".to_owned());
        let begun = progress.shown_at;
        let mut after = |seconds| progress.after(3 << 20, begun + Duration::from_secs(seconds));
        assert_eq!([after(0), after(9)], [None, None]);
        assert_eq!(after(11).as_deref(), Some("read 9 MiB of it so far"));
        assert_eq!(after(20), None);
        assert_eq!(after(21).as_deref(), Some("read 15 MiB of it so far"));
    }

    #[test]
    fn what_never_ends_and_what_is_no_text_are_refused() {
        let endless = text(Path::new("/dev/zero"), 1_000).unwrap_err();
        assert!(endless.to_string().contains("longer than 1000 bytes"), "{endless}");
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [b'a', 0xff]).unwrap();
        assert_eq!(bytes(file.path(), 2).unwrap(), [b'a', 0xff]);
        assert!(text(file.path(), 2).unwrap_err().to_string().contains("no text"));
        assert!(bytes(file.path(), 1).is_err());
        std::fs::write(file.path(), "\u{feff}name = 1").unwrap();
        assert_eq!(text(file.path(), 100).unwrap(), "name = 1");
    }
}
