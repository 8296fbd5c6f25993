//! The resource as leaders reach it over HTTP.

use std::time::Duration;

use super::intake::Said;

/// An answer to a write that takes longer is none.
const WRITE_AT_MOST: Duration = Duration::from_secs(120);

/// Writes, for all seats of a process: a new leader finds a connection that another one has opened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resource(reqwest::Client);

impl Resource {
    /// Sends a write to a seat's address, and waits for the answer. Whatever became of it, the next one is due then.
    pub(crate) async fn write(&self, address: &str, said: &Said) {
        let Ok(body) = serde_json::to_string(said) else { return };
        if let Ok(answer) = self.0.post(address).body(body).timeout(WRITE_AT_MOST).send().await {
            // Only a connection whose answer was read to its end is there for the next write.
            let _ = answer.bytes().await;
        }
    }
}
