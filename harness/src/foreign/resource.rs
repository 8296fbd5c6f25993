//! HTTP client of leaders for the resource.

use std::time::Duration;

use super::intake::WriteStatement;

/// A reply that takes longer counts as none.
const WRITE_AT_MOST: Duration = Duration::from_secs(120);

/// Sends writes for all slots of a process: a new leader reuses a connection that another slot opened.
#[derive(Clone, Debug)]
pub(crate) struct Resource(reqwest::Client);

impl Resource {
    /// Ignores the environment's proxies, because the resource is on this machine.
    ///
    /// # Errors
    /// The client cannot be set up.
    pub(crate) fn new() -> reqwest::Result<Self> {
        reqwest::Client::builder().no_proxy().build().map(Self)
    }

    /// Sends a write to a slot's URL, and waits for the reply. The next write is due then, regardless of the result.
    pub(crate) async fn write(&self, address: &str, said: &WriteStatement) {
        let Ok(body) = serde_json::to_string(said) else { return };
        if let Ok(answer) = self.0.post(address).body(body).timeout(WRITE_AT_MOST).send().await {
            // A connection is reusable for the next write only after its reply was read completely.
            let _ = answer.bytes().await;
        }
    }
}
