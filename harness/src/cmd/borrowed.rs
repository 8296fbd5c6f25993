//! What `hustings clean` removes from ensembles that a killed run had borrowed: its znodes, by the note in its folder.

use std::io;
use std::path::Path;

use tokio::runtime::Builder;

use crate::ensemble::external::{Debt, debt};

/// Removes the znodes of run `run`, whose folder this is, and says what it did; true if none can be left.
pub(super) fn clear(folder: &Path, run: &str, dry_run: bool) -> bool {
    let debt = match debt(folder, run) {
        Ok(None) => return true,
        Ok(Some(debt)) => debt,
        Err(error) => {
            eprintln!(
                "left alone {}: its note of the ensemble that it used cannot be read: {error}; see to the znodes \
                 /hustings-{run}-* yourself, then remove the folder",
                folder.display()
            );
            return false;
        }
    };
    let Debt { servers, prefix } = &debt;
    if dry_run {
        eprintln!("would remove the znodes {prefix}* of run {run} from {servers}");
        return true;
    }
    match pay(&debt) {
        Ok(count) => {
            eprintln!("removed {count} znodes {prefix}* of run {run} from {servers}");
            true
        }
        Err(why) => {
            eprintln!(
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
