//! Words that several checkers use.

use crate::index::{Fault, Index};
use crate::stats::Rate;
use hustings_record::words::plural;
use hustings_record::{Nanos, words};

/// A time, since the start of the cell. It is negative for one that a program stamped by another clock.
pub(super) fn moment(index: &Index<'_>, t: Nanos) -> String {
    since(index.span.0, t)
}

fn since(begin: Nanos, t: Nanos) -> String {
    match t.checked_sub(begin) {
        Some(later) => words::moment(later),
        None => format!("-{:.3} s", (begin - t) as f64 / 1e9),
    }
}

pub(super) fn bound(upper: Option<f64>) -> String {
    upper.map_or_else(|| "no bound".into(), |p| format!("95 % bound {:.2} %", p * 100.0))
}

/// The opportunities behind a rate, and the injections behind these.
pub(super) fn handovers(rate: &Rate) -> String {
    format!("{}, {}", plural(rate.n, "handover", "handovers"), injections(rate))
}

/// `3 injections`; `2 of 3 injections` if it was observed in some.
pub(super) fn injections(rate: &Rate) -> String {
    let all = plural(rate.injections, "injection", "injections");
    if rate.bad_injections == 0 { all } else { format!("{} of {all}", rate.bad_injections) }
}

/// A clause that this server fault was under way; empty if there was none.
pub(super) fn under_way(fault: Option<&Fault<'_>>) -> String {
    fault.map_or_else(String::new, |fault| {
        let whom =
            if fault.servers.is_empty() { String::new() } else { format!(" on {}", words::servers(fault.servers)) };
        format!("; {} number {}{whom} was under way", fault.kind, fault.id)
    })
}

/// Group, number and host of a candidate.
pub(super) fn candidate(index: &Index<'_>, cand: u32) -> String {
    let candidate = index.candidates.all[&cand];
    let (group, host) = (index.group_name(candidate.group), index.host_name(candidate.host));
    format!("{group}: candidate {cand} on {host}")
}

#[cfg(test)]
mod tests {
    use super::since;

    #[test]
    fn a_time_before_the_cell_is_negative() {
        let begin = 6_622_000_000_000;
        assert_eq!(since(begin, begin), "+0.000 s");
        assert_eq!(since(begin, begin + 1_500_000_000), "+1.500 s");
        assert_eq!(since(begin, 1), "-6622.000 s");
    }
}
