//! What a run may have left in a Toxiproxy of somebody else, by the note in its folder.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::control::Control;
use super::driver::resolve;
use super::error::LinkError;
use crate::cleanup::borrowed::{self, Note};

const FILE: &str = "toxiproxy";

#[derive(Debug, Serialize, Deserialize)]
struct Borrowed {
    url: String,
}

/// What the names of a run's proxies begin with.
#[must_use]
pub(crate) fn prefix(run_id: &str) -> String {
    format!("hustings-{run_id}-")
}

/// Notes that a run makes proxies there, before it does.
///
/// # Errors
/// The folder cannot be written to.
pub(crate) fn borrow(folder: &Path, url: &str) -> io::Result<Note> {
    Note::write(folder, FILE, &Borrowed { url: url.to_owned() })
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
    // The prefix follows from the run's id alone: a note can never name proxies of others.
    let borrowed = borrowed::read::<Borrowed>(folder, FILE)?;
    Ok(borrowed.map(|Borrowed { url }| ProxyDebt { url, prefix: prefix(run) }))
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
