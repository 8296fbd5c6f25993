//! What a cell runs on: the servers, the way to them, and what keeps its record.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;

use crate::access::Access;
use crate::console::progress::Progress;
use crate::coordinator::hosts::HostFactory;
use crate::ensemble::Ensemble;
use crate::links::RunLinks;
use crate::process::interrupt::Interrupt;
use crate::recording::archive::Archive;

/// What a cell needs from its run.
pub(super) struct Environment {
    /// Who the run is to the servers, and below which znode it stays.
    pub(super) access: Access,
    /// The servers' addresses.
    pub(super) servers: Vec<SocketAddr>,
    /// The same, as links reach them.
    pub(super) upstreams: Vec<String>,
    pub(super) links: Option<Rc<RunLinks>>,
    /// Path under which the cell's znodes live, below that of the access.
    pub(super) chroot: String,
    pub(super) seed: u64,
    pub(super) ensemble: Rc<dyn Ensemble>,
    pub(super) factory: Rc<HostFactory>,
    /// Where the adapters are that ship.
    pub(super) adapters: PathBuf,
    pub(super) archive: Rc<RefCell<Archive>>,
    pub(super) interrupt: Interrupt,
    pub(super) progress: Progress,
}
