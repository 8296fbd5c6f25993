//! Reads files that users name, up to a size limit: a path may lead to an endless device.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

const BOM: char = '\u{feff}';
/// Scenarios, limits, keys and similar files are far shorter.
pub const SMALL: u64 = 16 << 20;

/// The content of the file.
///
/// # Errors
/// It cannot be read, or is longer than `most` bytes.
pub fn bytes(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut content)?;
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
