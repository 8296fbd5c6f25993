//! A manager's slot on its host: its lead, and what it says it does.

use super::snapshot::NodeSight;
use crate::host::Token;

/// One step of a manager, for the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ManagerStep {
    /// Its view of a server changed, and is to be published.
    Saw { node: u16, sight: NodeSight },
    /// It begins a failover to this server.
    Decided { promote: u16, from: Option<u16> },
    /// There is no master, and no server that it could promote.
    FoundNoCandidate,
    /// It sends a promotion.
    Promotes { node: u16 },
    /// What came of it.
    Promoted { node: u16, how: Result<(), String> },
    /// It made a server a replica, or tried to.
    Moved { node: u16, master: u16, how: Result<(), String> },
    /// Clients see this master now.
    Published { master: Option<u16> },
    /// It gave its round up, for this reason.
    GaveUp { why: String },
}

/// A manager's slot on its host.
#[expect(async_fn_in_trait, reason = "a host is single-threaded: its futures need no Send")]
pub trait ManagerSlot {
    /// The token of the lead that it believes in.
    fn token(&self) -> Option<Token>;
    /// Waits until that is another one than `known`. Cancel-safe.
    async fn token_changed(&self, known: Option<Token>);
    /// Gives the lead up, so that another manager tries.
    fn resign(&self);
    fn log(&self, step: ManagerStep);
}
