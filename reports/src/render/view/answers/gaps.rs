//! How long nobody was in charge: without a leader, and without an accepted write, which is what an application feels.

use super::judged::JudgedCells;
use crate::render::format;
use crate::summary::CellSummary;

pub(super) fn sentences(judged: &JudgedCells<'_>) -> Vec<String> {
    let longest = |of: fn(&CellSummary) -> u64| judged.cells.iter().copied().max_by_key(|cell| of(cell));
    let most = |of: fn(&CellSummary) -> f64| {
        judged.cells.iter().map(|cell| of(cell)).filter(|share| share.is_finite()).fold(0.0, f64::max)
    };
    let (Some(leaderless), Some(unwritten)) =
        (longest(|cell| cell.leaderless.longest_ns), longest(|cell| cell.effect.longest_ns))
    else {
        return Vec::new();
    };
    let beside = |cell: &CellSummary, other: Option<&CellSummary>| match other {
        Some(other) if other.info.index == cell.info.index => String::new(),
        _ => format!(" ({})", judged.name(cell)),
    };
    let at_worst = if judged.all_passed() {
        "At worst a group".to_owned()
    } else {
        format!("In the {} that passed, at worst a group", judged.noun[1])
    };
    let worst = format!(
        "{at_worst} was without a leader for {}{}, and without an accepted write for {}{}.",
        format::said(leaderless.leaderless.longest_ns),
        beside(leaderless, None),
        format::said(unwritten.effect.longest_ns),
        beside(unwritten, Some(leaderless)),
    );
    let share = format!(
        "In the cell that it cost most, nobody led for {} of the groups' time, and no write was accepted for {} of it; that rests \
         on how often faults were planned.",
        format::share(most(|cell| cell.leaderless.share)),
        format::share(most(|cell| cell.effect.without_write)),
    );
    // A leader that is cut off, or stopped, leads on for a while after the fault.
    let costliest = judged.cells.iter().filter_map(|cell| cell.failover.whole.as_ref()?.p50).max();
    let counts = costliest.filter(|&cost| cost > leaderless.leaderless.longest_ns).map(|cost| {
        format!(
            "A failover costs {} in the median of the costliest cell: it counts from the fault, and whoever is cut off or stopped believes \
             on for a part of it.",
            format::said(cost)
        )
    });
    [worst].into_iter().chain(counts).chain([share]).collect()
}
