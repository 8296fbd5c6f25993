//! The note in a run's folder of the ensemble that it borrowed: `hustings clean` removes by it what a killed run left there.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::znodes;

const FILE: &str = "external";
/// The note names some addresses; what is longer was not written by a run.
const BYTES_MAX: u64 = 64 << 10;

#[derive(Debug, Serialize, Deserialize)]
struct Borrowed {
    servers: Vec<SocketAddr>,
}

/// The note while its run lives.
#[derive(Debug)]
pub(super) struct Note(PathBuf);

impl Note {
    /// Written before the run creates its first znode, and whole or not at all.
    pub(super) fn write(folder: &Path, servers: &[SocketAddr]) -> io::Result<Self> {
        let (path, draft) = (folder.join(FILE), folder.join("external.draft"));
        fs::write(&draft, serde_json::to_vec(&Borrowed { servers: servers.to_vec() })?)?;
        fs::rename(draft, &path)?;
        Ok(Self(path))
    }

    /// Nothing is left on the ensemble.
    pub(super) fn settle(&self) -> io::Result<()> {
        fs::remove_file(&self.0)
    }
}

/// Znodes of a run on an ensemble of somebody else.
#[derive(Debug, PartialEq, Eq)]
pub struct Debt {
    pub servers: String,
    pub prefix: String,
}

/// What the run `run`, whose folder this is, may have left on an ensemble of somebody else; None if it borrowed none, or
/// removed its znodes.
///
/// # Errors
/// The note cannot be read.
pub fn debt(folder: &Path, run: &str) -> io::Result<Option<Debt>> {
    let path = folder.join(FILE);
    let meta = match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        meta => meta?,
    };
    if !meta.is_file() || meta.len() > BYTES_MAX {
        return Err(io::Error::other(format!("{} is not a file that a run writes", path.display())));
    }
    let borrowed: Borrowed = serde_json::from_slice(&fs::read(&path)?)?;
    // The prefix follows from the run's id alone: a note can never name znodes of others.
    Ok(Some(Debt { servers: super::options::cluster(&borrowed.servers), prefix: znodes::prefix(run) }))
}

impl Debt {
    /// Removes the znodes. Gives how many there were.
    ///
    /// # Errors
    /// Why some are left, or may be.
    pub async fn pay(&self) -> Result<u64, String> {
        znodes::remove(&self.servers, &self.prefix).await
    }
}

#[cfg(test)]
mod tests {
    use super::{Debt, Note, debt};

    #[test]
    fn a_note_stands_until_it_is_settled() {
        let folder = tempfile::tempdir().expect("a temp dir");
        assert_eq!(debt(folder.path(), "r").expect("read"), None);
        let note = Note::write(folder.path(), &["127.0.0.1:2181".parse().expect("an address")]).expect("written");
        let there = Debt { servers: "127.0.0.1:2181".to_owned(), prefix: "/hustings-r-".to_owned() };
        assert_eq!(debt(folder.path(), "r").expect("read"), Some(there));
        note.settle().expect("removed");
        assert_eq!(debt(folder.path(), "r").expect("read"), None);
        std::fs::write(folder.path().join("external"), "{").expect("written");
        assert!(debt(folder.path(), "r").is_err(), "a note that cannot be read is not nothing");
    }
}
