//! What a harness can do to servers that are its own.

use futures::future::LocalBoxFuture;

use super::EnsembleError;

/// What was seen when something was done to a server, for a receipt.
pub type ServerEvidence = Result<String, EnsembleError>;

/// The same of servers that were cut off, with what was counted and read of it, where there is somebody to count.
pub type SeenApart = Result<(String, Option<hustings_record::Evidence>), EnsembleError>;

/// Faults on servers. Every method returns when its effect on the process, container or network was seen, with what was
/// seen; what that does to the ensemble is for others to watch. What was done to a server that is asked for again is an
/// error, not a success: a fault that had no effect must not look like one that had.
pub trait ServerControl {
    /// Kills a server at once, as `kill -9` does, and waits until it is gone. Its data stays.
    fn kill(&self, server: u32) -> LocalBoxFuture<'_, ServerEvidence>;

    /// Starts a killed server again, on the same address and its old data; with `empty` its data is removed before.
    fn start(&self, server: u32, empty: bool) -> LocalBoxFuture<'_, ServerEvidence>;

    /// Stops a server where it is, as SIGSTOP does.
    fn pause(&self, server: u32) -> LocalBoxFuture<'_, ServerEvidence>;

    /// Lets a stopped server go on.
    fn resume(&self, server: u32) -> LocalBoxFuture<'_, ServerEvidence>;

    /// From now on nothing passes between these servers and the other ones. Clients reach all of them as before. `in_effect` is
    /// called when that is so, before it is watched for a while.
    fn cut_noting<'a>(&'a self, servers: &'a [u32], in_effect: &'a dyn Fn()) -> LocalBoxFuture<'a, SeenApart>;

    /// The same, for callers that do not need the moment.
    fn cut<'a>(&'a self, servers: &'a [u32]) -> LocalBoxFuture<'a, SeenApart> {
        self.cut_noting(servers, &|| ())
    }

    /// Lets everything pass between these servers and the other ones again.
    fn rejoin<'a>(&'a self, servers: &'a [u32]) -> LocalBoxFuture<'a, ServerEvidence>;
}
