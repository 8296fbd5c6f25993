//! Notes in a run's folder of the state that it borrowed. After a `kill -9`, `hustings clean` uses them to restore it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Notes contain a few addresses. A longer file was not written by a run.
const BYTES_MAX: u64 = 64 << 10;

/// A note of pending cleanup. It exists as long as its run has something to restore.
#[derive(Debug)]
pub(crate) struct CleanupNote(PathBuf);

impl CleanupNote {
    /// Writes the note, atomically. Call it before borrowing anything.
    ///
    /// # Errors
    /// The folder cannot be written to, or `what` is not representable in JSON.
    pub(crate) fn write(folder: &Path, name: &str, what: &impl Serialize) -> io::Result<Self> {
        let (path, draft) = (folder.join(name), folder.join(format!("{name}.draft")));
        fs::write(&draft, serde_json::to_vec(what)?)?;
        fs::rename(draft, &path)?;
        Ok(Self(path))
    }

    /// Removes the note, because no cleanup is pending.
    ///
    /// # Errors
    /// The note cannot be removed.
    pub(crate) fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.0)
    }
}

/// The note of this name in a run's folder. None: no cleanup is pending.
///
/// # Errors
/// It cannot be read, is no plain file, is longer than a note of a run, or contains something else than a `T`.
pub(crate) fn read<T: DeserializeOwned>(folder: &Path, name: &str) -> io::Result<Option<T>> {
    let path = folder.join(name);
    let meta = match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        meta => meta?,
    };
    if !meta.is_file() || meta.len() > BYTES_MAX {
        return Err(io::Error::other(format!("{} is not a file that a run writes", path.display())));
    }
    Ok(Some(serde_json::from_slice(&fs::read(&path)?)?))
}

#[cfg(test)]
mod tests {
    use super::{CleanupNote, read};

    #[test]
    fn a_note_stands_until_it_is_settled() {
        let folder = tempfile::tempdir().expect("a temp dir");
        assert_eq!(read::<String>(folder.path(), "debt").expect("read"), None);
        let note = CleanupNote::write(folder.path(), "debt", &"a znode").expect("written");
        assert_eq!(read::<String>(folder.path(), "debt").expect("read").as_deref(), Some("a znode"));
        note.remove().expect("removed");
        assert_eq!(read::<String>(folder.path(), "debt").expect("read"), None);
        std::fs::write(folder.path().join("debt"), "{").expect("written");
        assert!(read::<String>(folder.path(), "debt").is_err(), "a note that cannot be read is not nothing");
        std::fs::remove_file(folder.path().join("debt")).expect("removed");
        std::os::unix::fs::symlink("/dev/zero", folder.path().join("debt")).expect("made");
        assert!(read::<String>(folder.path(), "debt").is_err(), "nor is what leads elsewhere");
    }
}
