//! The note in a run's folder of the Toxiproxy that it borrowed: what a run that was killed left there is removed by it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::control::Control;
use super::driver::resolve;
use super::error::LinkError;

const FILE: &str = "toxiproxy";
/// The note names one address; what is longer was not written by a run.
const BYTES_MAX: u64 = 64 << 10;

#[derive(Debug, Serialize, Deserialize)]
struct Borrowed {
    url: String,
}

/// What the names of a run's proxies begin with.
#[must_use]
pub(crate) fn prefix(run_id: &str) -> String {
    format!("hustings-{run_id}-")
}

/// The note while its run has proxies there.
#[derive(Debug)]
pub(crate) struct Note(PathBuf);

impl Note {
    /// Written before the run makes its first proxy, and whole or not at all.
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub(crate) fn write(folder: &Path, url: &str) -> io::Result<Self> {
        let (path, draft) = (folder.join(FILE), folder.join("toxiproxy.draft"));
        fs::write(&draft, serde_json::to_vec(&Borrowed { url: url.to_owned() })?)?;
        fs::rename(draft, &path)?;
        Ok(Self(path))
    }

    /// Nothing is left there.
    ///
    /// # Errors
    /// The note cannot be removed.
    pub(crate) fn settle(self) -> io::Result<()> {
        fs::remove_file(self.0)
    }
}

/// Proxies of a run in a Toxiproxy of somebody else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProxyDebt {
    pub(crate) url: String,
    pub(crate) prefix: String,
}

/// What the run `run`, whose folder this is, may have left in a Toxiproxy; None if it borrowed none, or took all away.
///
/// # Errors
/// The note cannot be read.
pub(crate) fn proxy_debt(folder: &Path, run: &str) -> io::Result<Option<ProxyDebt>> {
    let path = folder.join(FILE);
    let meta = match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        meta => meta?,
    };
    if !meta.is_file() || meta.len() > BYTES_MAX {
        return Err(io::Error::other(format!("{} is not a file that a run writes", path.display())));
    }
    let borrowed: Borrowed = serde_json::from_slice(&fs::read(&path)?)?;
    Ok(Some(ProxyDebt { url: borrowed.url, prefix: prefix(run) }))
}

impl ProxyDebt {
    /// Removes the proxies, with whatever they bear. Gives how many there were. Blocks: not for a thread that runs futures.
    ///
    /// # Errors
    /// The Toxiproxy cannot be reached, or some are left.
    pub(crate) fn pay(&self) -> Result<usize, LinkError> {
        let control = Control::connect(resolve(&self.url)?)?;
        let names: Vec<String> = control.all()?.into_keys().filter(|name| name.starts_with(&self.prefix)).collect();
        control.depopulate(&names)?;
        Ok(names.len())
    }
}

#[cfg(test)]
mod tests {
    use super::{Note, ProxyDebt, proxy_debt};

    #[test]
    fn a_note_stands_until_it_is_settled() {
        let folder = tempfile::tempdir().expect("a temp dir");
        assert_eq!(proxy_debt(folder.path(), "r").expect("read"), None);
        let note = Note::write(folder.path(), "http://127.0.0.1:8474").expect("written");
        let there = ProxyDebt { url: "http://127.0.0.1:8474".to_owned(), prefix: "hustings-r-".to_owned() };
        assert_eq!(proxy_debt(folder.path(), "r").expect("read"), Some(there));
        note.settle().expect("removed");
        assert_eq!(proxy_debt(folder.path(), "r").expect("read"), None);
        std::fs::write(folder.path().join("toxiproxy"), "{").expect("written");
        assert!(proxy_debt(folder.path(), "r").is_err(), "a note that cannot be read is not nothing");
    }
}
