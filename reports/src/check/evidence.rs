//! What stands behind a zero.

use crate::index::Index;

/// What a zero in this cell stands on: proven faults, or the intention to have none.
pub(super) fn evidence(index: &Index<'_>) -> Result<(), String> {
    if index.info.has_candidates() && index.terms.all.iter().all(|t| t.granted.is_none()) {
        return Err("nobody ever led".into());
    }
    if index.is_control() || index.verified_faults() > 0 {
        return Ok(());
    }
    Err("no fault is proven to have taken effect: no receipt, no sample".into())
}
