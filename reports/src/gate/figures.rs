//! The figures for limits and histories. More is worse in all of them.

use crate::check::CellSummary;
use crate::check::failover::Failover;
use crate::check::handovers::Handovers;
use crate::repetitions::pool::{OutageShare, Pool};
use crate::sound::{Configuration, of_new_side};
use crate::stats::{Distribution, Tail};
use crate::summary::Summary;
use hustings_record::Nanos;

/// A figure, with its name in limits and histories.
pub struct Figure {
    pub name: &'static str,
    /// As services show it: `ms`, `%`, or `count`.
    pub unit: &'static str,
    pub about: &'static str,
    read: fn(&FigureSource<'_>) -> FigureReading,
}

/// The source of figures: one cell, or all repetitions of a configuration together.
pub struct FigureSource<'a> {
    pub name: &'a str,
    cells: Vec<&'a CellSummary>,
    failover: &'a Failover,
    handovers: &'a Handovers,
    without_leader: Option<OutageShare>,
    without_write: Option<OutageShare>,
}

impl<'a> FigureSource<'a> {
    #[must_use]
    pub fn cell(cell: &'a CellSummary) -> Self {
        let without = |share, longest_ns| Some(OutageShare { share, longest_ns });
        Self {
            name: &cell.info.name,
            cells: vec![cell],
            failover: &cell.failover,
            handovers: &cell.handovers,
            without_leader: without(cell.leaderless.share, cell.leaderless.longest_ns),
            without_write: without(cell.effect.without_write, cell.effect.longest_ns),
        }
    }

    /// Every configuration with candidates; in a record with two sides, those of the new one.
    #[must_use]
    pub fn all(summary: &'a Summary) -> Vec<Self> {
        of_new_side(summary).into_iter().map(|one| Self::of(&summary.pools, &one)).collect()
    }

    fn of(pools: &'a [Pool], one: &Configuration<'a>) -> Self {
        let (name, first, cells) = (one.name, one.first(), one.all().collect());
        let is_of = |pool: &&Pool| first.info.repetition.as_ref().is_some_and(|repetition| repetition.of == pool.name);
        let Some(pool) = pools.iter().find(is_of) else { return Self { name, ..Self::cell(first) } };
        Self {
            name,
            cells,
            failover: &pool.failover,
            handovers: &pool.handovers,
            without_leader: pool.without_leader,
            without_write: pool.without_write,
        }
    }

    /// The largest value of its cells.
    fn most(&self, of: impl Fn(&CellSummary) -> Option<u64>) -> FigureReading {
        let most = self.cells.iter().filter_map(|cell| of(cell)).max();
        most.map_or(FigureReading::Missing, |most| FigureReading::Value(most as f64))
    }
}

/// The value of a figure, if any.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FigureReading {
    Value(f64),
    /// Censoring hides it: it is larger than any observed value.
    Hidden,
    /// There is none.
    Missing,
}

impl Figure {
    #[must_use]
    pub fn of(&self, of: &FigureSource<'_>) -> FigureReading {
        (self.read)(of)
    }

    /// The one of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        FIGURES.iter().find(|figure| figure.name == name)
    }
}

const fn figure(
    name: &'static str,
    unit: &'static str,
    about: &'static str,
    read: fn(&FigureSource<'_>) -> FigureReading,
) -> Figure {
    Figure { name, unit, about, read }
}

/// All of them. A new one is a line here.
pub const FIGURES: &[Figure] = &[
    figure("failover_p50_ms", "ms", "median from a lead's loss to the next grant", |of| {
        p50(of.failover.whole.as_ref())
    }),
    figure("failover_tail_ms", "ms", "its 99th percentile, below 100 samples the longest", |of| {
        tail(of.failover.whole.as_ref())
    }),
    figure(
        "excess_p50_ms",
        "ms",
        "median of detection above the floor of expiry: survives a change of the timeout",
        |of| p50(of.failover.excess.as_ref().map(|excess| &excess.over_floor)),
    ),
    figure("excess_tail_ms", "ms", "its 99th percentile, below 100 samples the longest", |of| {
        tail(of.failover.excess.as_ref().map(|excess| &excess.over_floor))
    }),
    figure("act_p50_ms", "ms", "median from a grant to the first accepted write", |of| p50(of.failover.act.as_ref())),
    figure("censored_percent", "%", "share of lost leads that had no new leader before the end", |of| {
        let (all, censored) = (of.handovers.planned, of.handovers.censored);
        if all == 0 { FigureReading::Missing } else { FigureReading::Value(censored as f64 * 100.0 / all as f64) }
    }),
    figure("without_leader_percent", "%", "share of all groups' time without a leader", |of| share(of.without_leader)),
    figure("without_leader_longest_ms", "ms", "the longest time of a group without a leader", |of| {
        longest(of.without_leader)
    }),
    figure("without_write_percent", "%", "share of all groups' time without an accepted write", |of| {
        share(of.without_write)
    }),
    figure("without_write_longest_ms", "ms", "the longest time of a group without an accepted write", |of| {
        longest(of.without_write)
    }),
    figure("woken_most", "count", "candidates that a leader's loss woke, at most", |of| {
        of.most(|cell| cell.fan_out.woken.map(|(_, _, most)| most))
    }),
    figure("requests_most", "count", "requests that a leader's loss caused, at most", |of| {
        of.most(|cell| cell.fan_out.requests.map(|(_, most)| most))
    }),
];

fn ms(ns: Nanos) -> f64 {
    ns as f64 / 1e6
}

fn share(without: Option<OutageShare>) -> FigureReading {
    without.map_or(FigureReading::Missing, |without| FigureReading::Value(without.share * 100.0))
}

fn longest(without: Option<OutageShare>) -> FigureReading {
    without.map_or(FigureReading::Missing, |without| FigureReading::Value(ms(without.longest_ns)))
}

fn known(ns: Option<Nanos>) -> FigureReading {
    ns.map_or(FigureReading::Hidden, |ns| FigureReading::Value(ms(ns)))
}

fn p50(of: Option<&Distribution>) -> FigureReading {
    of.filter(|of| of.has_samples()).map_or(FigureReading::Missing, |of| known(of.p50))
}

fn tail(of: Option<&Distribution>) -> FigureReading {
    of.filter(|of| of.has_samples()).map_or(FigureReading::Missing, |of| match of.tail() {
        Tail::P99(p99) => known(p99),
        Tail::Longest { of_ended, all_ended } => known(Some(of_ended).filter(|_| all_ended)),
    })
}
