//! What a run that was ended at once may have left on servers and in a Toxiproxy of somebody else: removed in a moment, or told.

use std::path::Path;
use std::time::Duration;

use crate::access::Access;
use crate::ensemble::external;
use crate::links::proxy_debt;

/// Whoever asks twice does not want to wait; some thousands of znodes are gone by then.
const PAID_WITHIN: Duration = Duration::from_secs(5);

/// Pays what the notes in the run's folder say that it owes, by what the run knows. Gives what may be left, in words.
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
