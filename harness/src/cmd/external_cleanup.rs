//! Used by `hustings clean`: removes the znodes and proxies of a killed run from external ensembles and Toxiproxies,
//! according to the notes in its folder.

use std::io;
use std::path::Path;

use tokio::runtime::Builder;

use crate::access::Access;
use crate::console::output::inform;
use crate::ensemble::external::{ZnodeCleanup, pending_znode_cleanup};
use crate::links::pending_proxy_cleanup;

/// Objects of one kind in one place that a run may have left there.
struct PendingCleanup {
    place: String,
    prefix: String,
    clean_up: Box<dyn FnOnce() -> Result<u64, String>>,
}

/// Texts for one kind of object: its name, its name prefix, and the system that contains it.
struct CleanupKind {
    what: &'static str,
    begins: &'static str,
    lender: &'static str,
    /// Completes "run this again when …, or remove the folder if …".
    reached: &'static str,
    gone: &'static str,
}

const PROXIES: CleanupKind = CleanupKind {
    what: "proxies",
    begins: "hustings",
    lender: "Toxiproxy",
    reached: "the Toxiproxy can be reached",
    gone: "it is gone for good",
};
const ZNODES: CleanupKind = CleanupKind {
    what: "znodes",
    begins: "/hustings",
    lender: "ensemble",
    reached: "the servers can be reached",
    gone: "they are gone for good",
};

/// Removes the proxies and znodes of `run`, the owner of this folder, and reports the result. `keys`: the same
/// credentials as the run's. Returns true if none can be left, or if this is a dry run and its notes can be read: that
/// removes nothing.
pub(super) fn clear(folder: &Path, run: &str, keys: &Access, dry_run: bool) -> bool {
    let proxies = pending_proxy_cleanup(folder, run).map(|cleanup| {
        cleanup.map(|cleanup| PendingCleanup {
            place: format!("the Toxiproxy at {}", cleanup.url),
            prefix: cleanup.prefix.clone(),
            clean_up: Box::new(move || cleanup.clean_up().map(|count| count as u64).map_err(|why| why.to_string())),
        })
    });
    let keys = keys.clone();
    let znodes = pending_znode_cleanup(folder, run).map(|cleanup| {
        cleanup.map(|cleanup| PendingCleanup {
            place: cleanup.servers.clone(),
            prefix: cleanup.prefix.clone(),
            clean_up: Box::new(move || clean_up(&cleanup, &keys)),
        })
    });
    // Both are attempted, even if one fails.
    let proxies = clear_one(&PROXIES, proxies, (folder, run), dry_run);
    clear_one(&ZNODES, znodes, (folder, run), dry_run) && proxies
}

fn clear_one(
    kind: &CleanupKind,
    pending: io::Result<Option<PendingCleanup>>,
    (folder, run): (&Path, &str),
    dry_run: bool,
) -> bool {
    let CleanupKind { what, begins, lender, reached, gone } = kind;
    let at = folder.display();
    let PendingCleanup { place, prefix, clean_up } = match pending {
        Ok(None) => return true,
        Ok(Some(pending)) => pending,
        Err(error) => {
            inform!(
                "left alone {at}: its note of the {lender} that it used cannot be read: {error}; see to the {what} \
                 {begins}-{run}-* yourself, then remove the folder"
            );
            return false;
        }
    };
    if dry_run {
        inform!("would remove the {what} {prefix}* of run {run} from {place}");
        return true;
    }
    match clean_up() {
        Ok(count) => {
            inform!("removed {count} {what} {prefix}* of run {run} from {place}");
            true
        }
        Err(why) => {
            inform!(
                "left alone {at}: the {what} {prefix}* of run {run} could not be removed from {place}: {why}; run this again \
                 when {reached}, or remove the folder if {gone}"
            );
            false
        }
    }
}

fn clean_up(cleanup: &ZnodeCleanup, keys: &Access) -> Result<u64, String> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(|error: io::Error| error.to_string())?;
    runtime.block_on(cleanup.clean_up(keys))
}
