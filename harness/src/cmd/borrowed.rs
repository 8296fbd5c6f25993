//! What `hustings clean` removes from ensembles and Toxiproxies that a killed run had borrowed: its znodes and proxies, by the
//! notes in its folder.

use std::io;
use std::path::Path;

use tokio::runtime::Builder;

use crate::ensemble::external::{Debt, debt};
use crate::links::{ProxyDebt, proxy_debt};
use crate::output::inform;

/// Removes the proxies and the znodes of run `run`, whose folder this is, and says what it did; true if none can be left.
pub(super) fn clear(folder: &Path, run: &str, dry_run: bool) -> bool {
    // The one whatever becomes of the other.
    let proxies = clear_proxies(folder, run, dry_run);
    clear_znodes(folder, run, dry_run) && proxies
}

fn clear_proxies(folder: &Path, run: &str, dry_run: bool) -> bool {
    let at = folder.display();
    let ProxyDebt { url, prefix } = match proxy_debt(folder, run) {
        Ok(None) => return true,
        Ok(Some(debt)) => debt,
        Err(error) => {
            inform!(
                "left alone {at}: its note of the Toxiproxy that it used cannot be read: {error}; see to the proxies \
                 hustings-{run}-* yourself, then remove the folder"
            );
            return false;
        }
    };
    if dry_run {
        inform!("would remove the proxies {prefix}* of run {run} from the Toxiproxy at {url}");
        return true;
    }
    match (ProxyDebt { url: url.clone(), prefix: prefix.clone() }).pay() {
        Ok(count) => {
            inform!("removed {count} proxies {prefix}* of run {run} from the Toxiproxy at {url}");
            true
        }
        Err(why) => {
            inform!(
                "left alone {at}: the proxies {prefix}* of run {run} could not be removed: {why}; run this again when the \
                 Toxiproxy can be reached, or remove the folder if it is gone for good"
            );
            false
        }
    }
}

fn clear_znodes(folder: &Path, run: &str, dry_run: bool) -> bool {
    let debt = match debt(folder, run) {
        Ok(None) => return true,
        Ok(Some(debt)) => debt,
        Err(error) => {
            inform!(
                "left alone {}: its note of the ensemble that it used cannot be read: {error}; see to the znodes \
                 /hustings-{run}-* yourself, then remove the folder",
                folder.display()
            );
            return false;
        }
    };
    let Debt { servers, prefix } = &debt;
    if dry_run {
        inform!("would remove the znodes {prefix}* of run {run} from {servers}");
        return true;
    }
    match pay(&debt) {
        Ok(count) => {
            inform!("removed {count} znodes {prefix}* of run {run} from {servers}");
            true
        }
        Err(why) => {
            inform!(
                "left alone {}: the znodes {prefix}* of run {run} could not be removed from {servers}: {why}; run this again \
                 when the servers can be reached, or remove the folder if they are gone for good",
                folder.display()
            );
            false
        }
    }
}

fn pay(debt: &Debt) -> Result<u64, String> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(|error: io::Error| error.to_string())?;
    runtime.block_on(debt.pay())
}
