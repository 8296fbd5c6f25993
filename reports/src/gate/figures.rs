//! The figures of a cell that a limit can be put on. More is worse in all of them.

use crate::check::CellSummary;
use crate::stats::{Distribution, Tail};
use hustings_record::Nanos;

/// A figure of a cell, by the name that limits and histories know it by.
pub struct Figure {
    pub name: &'static str,
    /// As services show it: `ms`, `%`, or `count`.
    pub unit: &'static str,
    pub about: &'static str,
    read: fn(&CellSummary) -> Read,
}

/// What a cell has of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Read {
    Value(f64),
    /// Censoring hides it: it is larger than anything that was seen.
    Hidden,
    /// There is none.
    Missing,
}

impl Figure {
    #[must_use]
    pub fn of(&self, cell: &CellSummary) -> Read {
        (self.read)(cell)
    }

    /// The one of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        FIGURES.iter().find(|figure| figure.name == name)
    }
}

/// All of them. A new one is a line here.
pub const FIGURES: &[Figure] = &[
    Figure {
        name: "failover_p50_ms",
        unit: "ms",
        about: "median from a lead's loss to the next grant",
        read: |cell| p50(cell.failover.whole.as_ref()),
    },
    Figure {
        name: "failover_tail_ms",
        unit: "ms",
        about: "its 99th percentile, below 100 samples the longest",
        read: |cell| tail(cell.failover.whole.as_ref()),
    },
    Figure {
        name: "excess_p50_ms",
        unit: "ms",
        about: "median of detection above the floor of expiry: survives a change of the timeout",
        read: |cell| p50(cell.failover.excess.as_ref().map(|excess| &excess.over_floor)),
    },
    Figure {
        name: "excess_tail_ms",
        unit: "ms",
        about: "its 99th percentile, below 100 samples the longest",
        read: |cell| tail(cell.failover.excess.as_ref().map(|excess| &excess.over_floor)),
    },
    Figure {
        name: "act_p50_ms",
        unit: "ms",
        about: "median from a grant to the first accepted write",
        read: |cell| p50(cell.failover.act.as_ref()),
    },
    Figure {
        name: "censored_percent",
        unit: "%",
        about: "share of lost leads that had no new leader before the end",
        read: |cell| {
            let (all, censored) = (cell.handovers.planned, cell.handovers.censored);
            if all == 0 { Read::Missing } else { Read::Value(censored as f64 * 100.0 / all as f64) }
        },
    },
    Figure {
        name: "without_leader_percent",
        unit: "%",
        about: "share of all groups' time without a leader",
        read: |cell| Read::Value(cell.leaderless.share * 100.0),
    },
    Figure {
        name: "without_leader_longest_ms",
        unit: "ms",
        about: "the longest time of a group without a leader",
        read: |cell| Read::Value(ms(cell.leaderless.longest_ns)),
    },
    Figure {
        name: "without_write_percent",
        unit: "%",
        about: "share of all groups' time without an accepted write",
        read: |cell| Read::Value(cell.effect.without_write * 100.0),
    },
    Figure {
        name: "without_write_longest_ms",
        unit: "ms",
        about: "the longest time of a group without an accepted write",
        read: |cell| Read::Value(ms(cell.effect.longest_ns)),
    },
    Figure {
        name: "woken_most",
        unit: "count",
        about: "candidates that a leader's loss woke, at most",
        read: |cell| cell.fan_out.woken.map_or(Read::Missing, |(_, _, most)| Read::Value(most as f64)),
    },
    Figure {
        name: "requests_most",
        unit: "count",
        about: "requests that a leader's loss caused, at most",
        read: |cell| cell.fan_out.requests.map_or(Read::Missing, |(_, most)| Read::Value(most as f64)),
    },
];

fn ms(ns: Nanos) -> f64 {
    ns as f64 / 1e6
}

fn known(ns: Option<Nanos>) -> Read {
    ns.map_or(Read::Hidden, |ns| Read::Value(ms(ns)))
}

fn p50(of: Option<&Distribution>) -> Read {
    of.filter(|of| of.has_samples()).map_or(Read::Missing, |of| known(of.p50))
}

fn tail(of: Option<&Distribution>) -> Read {
    of.filter(|of| of.has_samples()).map_or(Read::Missing, |of| match of.tail() {
        Tail::P99(p99) => known(p99),
        Tail::Longest { of_ended, all_ended } => known(Some(of_ended).filter(|_| all_ended)),
    })
}
