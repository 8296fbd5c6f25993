//! Evidence that makes a zero meaningful.

use super::finding::Finding;
use crate::index::Index;
use crate::stats::spans::Span;
use hustings_record::Nanos;

/// Evidence for a zero in this cell: verified faults, or a control cell that plans none.
pub(super) fn evidence(index: &Index<'_>) -> Result<(), String> {
    if index.info.has_candidates() && index.terms.all.iter().all(|t| t.granted.is_none()) {
        return Err("nobody ever led".into());
    }
    if index.is_control() || index.verified_faults() > 0 {
        return Ok(());
    }
    Err("no fault is verified to have taken effect, so no sample counts".into())
}

/// The measured window of a cell that reached its tear-down. Other cells are not judged, and the finding says so.
pub(super) fn demanded<S>(index: &Index<'_>, finding: &mut Finding<S>) -> Option<Span> {
    let window = index.window();
    if window.is_none() {
        finding.inconclusive("the cell did not get to its tear-down: nothing was demanded of it".into());
        finding.headline("not judged: the cell ended before its drain did".into());
    }
    window
}

/// The time that all groups have together in this window, in nanoseconds.
pub(crate) fn group_time(index: &Index<'_>, window: Span) -> f64 {
    window.1.saturating_sub(window.0) as f64 * index.info.groups.len() as f64
}

/// A time summed over all groups, as a share of their total group-time; `None` if that is zero.
pub(super) fn share_of_group_time(index: &Index<'_>, sum: Nanos, window: Span) -> Option<f64> {
    let all = group_time(index, window);
    (all > 0.0).then(|| sum as f64 / all)
}
