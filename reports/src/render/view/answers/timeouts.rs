//! Which timeout: what each T costs where a session has to expire, how much of that T alone explains, and whether leads were lost
//! for nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::judged::{JudgedCells, begin, ends, loss, p50, t_of};
use crate::render::format;
use crate::summary::CellSummary;
use hustings_record::Nanos;

const FAULTS_MAX: usize = 4;
const TIMEOUTS_MAX: usize = 8;

pub(super) fn sentences(judged: &JudgedCells<'_>) -> Vec<String> {
    let mut sentences = costs(judged);
    let timeouts: BTreeSet<u64> = judged.passed.iter().map(|cell| t_of(cell)).collect();
    if let [only] = timeouts.iter().collect::<Vec<_>>()[..] {
        // What expired in cells that did not pass is in no sentence, and did expire.
        let none = if judged.recorded.iter().any(|cell| lets_sessions_expire(cell)) {
            ""
        } else {
            "no session had to expire, so it played no part in these times; and "
        };
        let t = format::setting_ms(*only);
        sentences.push(format!("Only T = {t} was run: {none}what another one would cost is not in this record."));
    }
    sentences.extend(unplanned(judged));
    sentences
}

/// What each fault that lets sessions expire costs, by T.
fn costs(judged: &JudgedCells<'_>) -> Vec<String> {
    let mut of_fault: Vec<(String, BTreeMap<u64, Vec<&CellSummary>>)> = Vec::new();
    let expiring = judged.passed.iter().filter(|cell| lets_sessions_expire(cell));
    for &cell in expiring.filter(|cell| cell.failover.measured().is_some()) {
        let loss = loss(cell);
        if of_fault.iter().all(|(known, _)| *known != loss) {
            of_fault.push((loss.clone(), BTreeMap::new()));
        }
        if let Some((_, by_t)) = of_fault.iter_mut().find(|(known, _)| *known == loss) {
            by_t.entry(t_of(cell)).or_default().push(cell);
        }
    }
    of_fault.iter().take(FAULTS_MAX).map(|(loss, by_t)| cost(judged, loss, by_t)).collect()
}

fn lets_sessions_expire(cell: &CellSummary) -> bool {
    cell.info.fault_kind.facts().lets_sessions_expire
}

fn cost(judged: &JudgedCells<'_>, loss: &str, by_t: &BTreeMap<u64, Vec<&CellSummary>>) -> String {
    let range = |cells: &[&CellSummary], of: fn(&CellSummary) -> Option<Nanos>| {
        let medians: Vec<Nanos> = cells.iter().filter_map(|cell| of(cell)).collect();
        ends(medians.into_iter()).map(|(least, most)| format::said_between(least, most))
    };
    let costs = by_t.iter().take(TIMEOUTS_MAX).map(|(t, cells)| {
        let hidden = cells.iter().any(|cell| p50(cell.failover.whole.as_ref()).is_none());
        let cost = match range(cells, |cell| p50(cell.failover.whole.as_ref())) {
            Some(cost) if hidden => format!("{cost} and, where most had not ended when the run did, more"),
            Some(cost) => cost,
            None => "more than the run could see".into(),
        };
        format!("{cost} with T = {}{}", format::setting_ms(*t), judged.few(cells))
    });
    let costs = costs.collect::<Vec<_>>().join(", ");
    let all: Vec<&CellSummary> = by_t.values().flatten().copied().collect();
    let over_floor = range(&all, |cell| p50(cell.failover.excess.as_ref().map(|excess| &excess.over_floor)));
    let over_floor = over_floor.map_or_else(String::new, |over| {
        format!("; it was noticed {over} after the session could expire at the earliest")
    });
    format!("{} costs {costs}{over_floor}.", begin(loss))
}

/// Whether leads were lost for nothing, while somebody led: in any cell, but a zero is that of the cells that passed.
fn unplanned(judged: &JudgedCells<'_>) -> Option<String> {
    let with_losses = judged.recorded.iter().copied().filter(|cell| cell.handovers.unplanned > 0);
    let with_losses: Vec<&CellSummary> = with_losses.collect();
    let seen: u64 = with_losses.iter().map(|cell| cell.handovers.unplanned).sum();
    if seen > 0 {
        let lost = format::plural(seen, "lead was", "leads were");
        return Some(format!("{lost} lost though no fault explains it{}.", stalls(&with_losses)));
    }
    let led: Nanos = judged.cells.iter().map(|cell| cell.leaderless.led_ns).sum();
    (led > 0).then(|| format!("Leads lost without a fault: {}.", format::count_within(0, led)))
}

/// How much the harness itself stalled in these cells, where it did for longer than its checks disregard.
fn stalls(cells: &[&CellSummary]) -> String {
    let over_limit: u64 = cells.iter().map(|cell| cell.stalls.over_limit).sum();
    if over_limit == 0 {
        return String::new();
    }
    let longest = cells.iter().map(|cell| cell.stalls.longest_ns).max().unwrap_or(0);
    format!(
        "; in the same cells the harness itself stalled {} for longer than T/10, at most for {}",
        format::plural(over_limit, "time", "times"),
        format::said(longest)
    )
}
