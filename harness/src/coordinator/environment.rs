//! The environment of a cell: the servers, the access to them, and the archive of its record.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;

use hustings_record::Touch;

use crate::access::Access;
use crate::console::progress::Progress;
use crate::coordinator::hosts::HostFactory;
use crate::ensemble::Ensemble;
use crate::links::RunLinks;
use crate::process::interrupt::Interrupt;
use crate::recording::archive::Archive;

/// What a cell needs from its run.
pub(super) struct Environment {
    /// Credentials for the servers, and the znode below which the run stays.
    pub(super) access: Access,
    /// The servers' addresses.
    pub(super) servers: Vec<SocketAddr>,
    /// The same addresses, as links reach them.
    pub(super) upstreams: Vec<String>,
    pub(super) links: Option<Rc<RunLinks>>,
    /// Path of the cell's znodes, below that of the access.
    pub(super) chroot: String,
    pub(super) seed: u64,
    pub(super) ensemble: Rc<dyn Ensemble>,
    pub(super) factory: Rc<HostFactory>,
    /// Folder of the shipped adapters.
    pub(super) adapters: PathBuf,
    pub(super) archive: Rc<RefCell<Archive>>,
    pub(super) interrupt: Interrupt,
    pub(super) progress: Progress,
}

impl Environment {
    /// The last touches of the sessions behind these hosts' links.
    ///
    /// # Errors
    /// A sentence for the verification on why that is unknown.
    pub(super) async fn touches(&self, hosts: &[u16]) -> Result<Vec<Touch>, String> {
        let links = self.links.as_ref().ok_or("last touches unknown: no links")?;
        links.touches(hosts).await.map(|touches| touches.list).map_err(|e| format!("last touches unknown: {e}"))
    }
}
