//! Cleanup after a run that was stopped at once, on external servers and in an external Toxiproxy: removes leftovers
//! within a short bound, or reports them.

use std::path::Path;
use std::time::Duration;

use crate::access::Access;
use crate::ensemble::external;
use crate::links::proxy_debt;

/// A user who interrupts twice does not want to wait. This is enough to delete some thousands of znodes.
const PAID_WITHIN: Duration = Duration::from_secs(5);

/// Does the pending cleanup that the notes in the run's folder list, with the run's own access. Returns descriptions of
/// what may be left.
pub(super) async fn settle(folder: &Path, run_id: &str, access: &Access) -> Vec<String> {
    let mut owed = Vec::new();
    if let Ok(Some(debt)) = proxy_debt(folder, run_id) {
        let (url, prefix) = (debt.url.clone(), debt.prefix.clone());
        let paying = tokio::task::spawn_blocking(move || debt.pay());
        if !matches!(tokio::time::timeout(PAID_WITHIN, paying).await, Ok(Ok(Ok(_)))) {
            owed.push(format!("proxies {prefix}* may be left in the Toxiproxy at {url}"));
        }
    }
    if let Ok(Some(debt)) = external::debt(folder, run_id)
        && !matches!(tokio::time::timeout(PAID_WITHIN, debt.pay(access)).await, Ok(Ok(_)))
    {
        owed.push(format!("znodes {}* may be left on {}", debt.prefix, debt.servers));
    }
    owed
}
