//! Proxies that a run may have left in a foreign Toxiproxy, according to the note in its folder.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::control::Control;
use super::driver::resolve;
use super::error::LinkError;
use crate::files::cleanup_notes::{self, CleanupNote};

const FILE: &str = "toxiproxy";

#[derive(Debug, Serialize, Deserialize)]
struct ToxiproxyNote {
    url: String,
}

/// Name prefix of a run's proxies.
#[must_use]
pub(crate) fn prefix(run_id: &str) -> String {
    format!("hustings-{run_id}-")
}

/// Notes that the run creates proxies there. Call it before creating them.
///
/// # Errors
/// The folder cannot be written to.
pub(crate) fn borrow(folder: &Path, url: &str) -> io::Result<CleanupNote> {
    CleanupNote::write(folder, FILE, &ToxiproxyNote { url: url.to_owned() })
}

/// Proxies of a run in a foreign Toxiproxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProxyCleanup {
    pub(crate) url: String,
    pub(crate) prefix: String,
}

/// Proxies that `run`, the owner of this folder, may have left in a Toxiproxy. None if it used none or removed all.
///
/// # Errors
/// The note cannot be read.
pub(crate) fn pending_proxy_cleanup(folder: &Path, run: &str) -> io::Result<Option<ProxyCleanup>> {
    // The prefix depends only on the run's id, so a note cannot name other runs' proxies.
    let borrowed = cleanup_notes::read::<ToxiproxyNote>(folder, FILE)?;
    Ok(borrowed.map(|ToxiproxyNote { url }| ProxyCleanup { url, prefix: prefix(run) }))
}

impl ProxyCleanup {
    /// Removes the proxies with their toxics, and returns their number. Blocks: not for a thread that runs futures.
    ///
    /// # Errors
    /// The Toxiproxy cannot be reached, or some proxies remain.
    pub(crate) fn clean_up(&self) -> Result<usize, LinkError> {
        let control = Control::connect(resolve(&self.url)?)?;
        let names: Vec<String> = control.all()?.into_keys().filter(|name| name.starts_with(&self.prefix)).collect();
        control.depopulate(&names)?;
        Ok(names.len())
    }
}
