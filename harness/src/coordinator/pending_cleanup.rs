//! Cleanup after a run that was stopped at once, on external servers and in an external Toxiproxy: removes leftovers
//! within a short bound, or reports them.

use std::path::Path;
use std::time::Duration;

use crate::access::Access;
use crate::ensemble::external;
use crate::links::pending_proxy_cleanup;

/// A user who interrupts twice does not want to wait. This is enough to delete some thousands of znodes.
const CLEANED_UP_WITHIN: Duration = Duration::from_secs(5);

/// Does the pending cleanup that the notes in the run's folder list, with the run's own access. Returns descriptions of
/// what may be left. `given_up`: the servers did not answer, and are not asked again.
pub(super) async fn clean_up(folder: &Path, run_id: &str, access: &Access, given_up: bool) -> Vec<String> {
    let mut pending = Vec::new();
    if let Ok(Some(cleanup)) = pending_proxy_cleanup(folder, run_id) {
        let (url, prefix) = (cleanup.url.clone(), cleanup.prefix.clone());
        let paying = tokio::task::spawn_blocking(move || cleanup.clean_up());
        if !matches!(tokio::time::timeout(CLEANED_UP_WITHIN, paying).await, Ok(Ok(Ok(_)))) {
            pending.push(format!("proxies {prefix}* may be left in the Toxiproxy at {url}"));
        }
    }
    if let Ok(Some(cleanup)) = external::pending_znode_cleanup(folder, run_id)
        && (given_up || !matches!(tokio::time::timeout(CLEANED_UP_WITHIN, cleanup.clean_up(access)).await, Ok(Ok(_))))
    {
        pending.push(format!("znodes {}* may be left on {}", cleanup.prefix, cleanup.servers));
    }
    pending
}
