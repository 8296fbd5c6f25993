//! What a run may have left on an ensemble of somebody else, by the note in its folder.

use std::io;
use std::net::SocketAddr;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::znodes;
use crate::note::{self, Note};

const FILE: &str = "external";

#[derive(Debug, Serialize, Deserialize)]
struct Borrowed {
    servers: Vec<SocketAddr>,
}

/// Notes that a run creates znodes there, before it does.
pub(super) fn borrow(folder: &Path, servers: &[SocketAddr]) -> io::Result<Note> {
    Note::write(folder, FILE, &Borrowed { servers: servers.to_vec() })
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
    // The prefix follows from the run's id alone: a note can never name znodes of others.
    let borrowed = note::read::<Borrowed>(folder, FILE)?;
    let owed = |servers: &[SocketAddr]| Debt { servers: super::options::cluster(servers), prefix: znodes::prefix(run) };
    Ok(borrowed.map(|Borrowed { servers }| owed(&servers)))
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
