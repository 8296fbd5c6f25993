//! The one helper to give up waiting.

use std::pin::pin;

use futures::future::{Either, select};

/// The result of `what`; `None` when `over` comes first.
pub(crate) async fn run_until_cancelled<T>(over: impl Future<Output = ()>, what: impl Future<Output = T>) -> Option<T> {
    match select(pin!(what), pin!(over)).await {
        Either::Left((done, _)) => Some(done),
        Either::Right(_) => None,
    }
}
