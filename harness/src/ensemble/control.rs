//! Actions on servers that the harness itself started.

use futures::future::LocalBoxFuture;

use super::EnsembleError;

/// The observed effect of an action on a server, for the verification.
pub type ServerEvidence = Result<String, EnsembleError>;

/// The same for servers that were cut off, with the counted and decoded evidence where a counter exists.
pub type PartitionEvidence = Result<(String, Option<hustings_record::Evidence>), EnsembleError>;

/// Faults on servers. Every method returns when its effect on the process, container or network was observed, with that
/// observation. Others observe the consequences for the ensemble. Repeating an action that is already in effect is an
/// error ([`EnsembleError::InEffect`]), not a success: a fault without effect must not look like one with effect. After
/// any other error, the action may have taken effect, or may still do so: undo it.
pub trait ServerControl {
    /// Kills a server at once, as `kill -9` does, and waits until it is gone. Its data stays.
    fn kill(&self, server: u32) -> LocalBoxFuture<'_, ServerEvidence>;

    /// Starts a killed server again, on the same address and its old data; `empty` removes its data before.
    fn start(&self, server: u32, empty: bool) -> LocalBoxFuture<'_, ServerEvidence>;

    /// Stops a server in place, as SIGSTOP does.
    fn pause(&self, server: u32) -> LocalBoxFuture<'_, ServerEvidence>;

    /// Resumes a stopped server, also after a pause that failed.
    fn resume(&self, server: u32) -> LocalBoxFuture<'_, ServerEvidence>;

    /// Blocks all traffic between these servers and the others. Clients reach all of them as before. Calls `in_effect`
    /// when the cut is in effect, before it is observed for a while.
    fn cut_noting<'a>(&'a self, servers: &'a [u32], in_effect: &'a dyn Fn()) -> LocalBoxFuture<'a, PartitionEvidence>;

    /// The same, for callers that do not need the moment.
    fn cut<'a>(&'a self, servers: &'a [u32]) -> LocalBoxFuture<'a, PartitionEvidence> {
        self.cut_noting(servers, &|| ())
    }

    /// Restores the traffic between these servers and the others, also after a cut that failed.
    fn rejoin<'a>(&'a self, servers: &'a [u32]) -> LocalBoxFuture<'a, ServerEvidence>;
}
