//! Of which cells the answers speak, and how they call them.

use std::collections::{BTreeMap, BTreeSet};

use crate::render::by_fault::RatesByFault;
use crate::render::differing_parameters::DifferingParameters;
use crate::render::format;
use crate::render::view::parts::FEW;
use crate::state::State;
use crate::summary::{CellSummary, Distribution, Rate, Summary};
use hustings_record::Nanos;

/// The cells of a run with candidates, by what became of them. Cells of self-tests are in none of these: their recipes are broken.
pub(super) struct JudgedCells<'a> {
    /// Configurations that passed, or are unsafe as expected; repetitions of one stand together.
    pub(super) passed: Vec<&'a CellSummary>,
    pub(super) failed: Vec<&'a CellSummary>,
    pub(super) inconclusive: Vec<&'a CellSummary>,
    /// The cells of those that passed, repetitions one by one: they have figures that nobody pools.
    pub(super) cells: Vec<&'a CellSummary>,
    /// All cells that were recorded, repetitions one by one.
    pub(super) recorded: Vec<&'a CellSummary>,
    /// Repetitions that are in no figure of their configuration.
    pub(super) unpooled: Vec<&'a CellSummary>,
    pub(super) self_tests: u64,
    /// What one of those judged is called, and several: a repetition of a configuration is a cell.
    pub(super) noun: [&'static str; 2],
    apart: DifferingParameters,
}

impl<'a> JudgedCells<'a> {
    pub(super) fn new(configurations: &'a Summary, summary: &'a Summary) -> Self {
        let real = |cell: &&CellSummary| cell.info.has_candidates() && !cell.info.self_test;
        let all: Vec<&CellSummary> = configurations.cells.iter().filter(real).collect();
        let of = |states: &[State]| all.iter().copied().filter(|cell| states.contains(&State::of_cell(cell))).collect();
        let passed: Vec<&CellSummary> = of(&[State::Pass, State::Unsafe]);
        let recorded: Vec<&CellSummary> = summary.cells.iter().filter(real).collect();
        let is_unpooled = |cell: &&CellSummary| {
            let all = summary.pools.iter().flat_map(|pool| &pool.repetitions);
            all.filter(|one| !one.pooled).any(|one| one.cell == cell.info.name)
        };
        let is_passed = |cell: &&CellSummary| {
            State::of_cell(cell) <= State::Unsafe
                && passed.iter().any(|one| one.info.configuration() == cell.info.configuration())
        };
        Self {
            cells: recorded.iter().copied().filter(is_passed).collect(),
            passed,
            failed: of(&[State::Fail]),
            inconclusive: of(&[State::Inconclusive]),
            self_tests: summary.cells.iter().filter(|cell| cell.info.self_test).count() as u64,
            noun: if summary.pools.is_empty() { ["cell", "cells"] } else { ["configuration", "configurations"] },
            apart: DifferingParameters::of(recorded.iter().copied()),
            unpooled: recorded.iter().copied().filter(is_unpooled).collect(),
            recorded,
        }
    }

    pub(super) fn all_passed(&self) -> bool {
        self.failed.is_empty() && self.inconclusive.is_empty()
    }

    /// `3 cells`, or `3 configurations`.
    pub(super) fn counted(&self, n: usize) -> String {
        format::plural(n as u64, self.noun[0], self.noun[1])
    }

    pub(super) fn has_no_candidates(&self) -> bool {
        self.passed.is_empty() && self.failed.is_empty() && self.inconclusive.is_empty()
    }

    /// The cells that this one stands for.
    pub(super) fn repetitions(&self, of: &CellSummary) -> Vec<&'a CellSummary> {
        self.cells.iter().copied().filter(|cell| cell.info.configuration() == of.info.configuration()).collect()
    }

    /// How little stands behind a figure of these, where it is little: ` (1 injection a cell)`, or ` (3 failovers)` where stalls
    /// voided the others.
    pub(super) fn few(&self, cells: &[&CellSummary]) -> String {
        let injections = cells.iter().map(|cell| cell.handovers.injections).min().unwrap_or(0);
        let failovers = cells.iter().filter_map(|cell| cell.failover.measured()).map(Distribution::samples).min();
        let few = match failovers {
            _ if injections < FEW => format::plural(injections, "injection", "injections"),
            Some(failovers) if failovers < FEW => format::plural(failovers, "failover", "failovers"),
            Some(_) | None => return String::new(),
        };
        let each = if cells.len() > 1 { format!(" a {}", self.noun[0]) } else { String::new() };
        format!(" ({few}{each})")
    }

    /// What tells this cell from the others.
    pub(super) fn name(&self, cell: &CellSummary) -> String {
        self.apart.label(cell, &[])
    }

    /// Those of one fault, one T and one size: of several sizes that at which most recipes were run, the largest of these. In the
    /// order of the run.
    pub(super) fn by_fault(&self) -> Vec<Vec<&'a CellSummary>> {
        let with_failovers = self.passed.iter().copied().filter(|cell| cell.failover.measured().is_some());
        let mut first_seen: BTreeMap<(&str, u64), usize> = BTreeMap::new();
        let mut groups: Vec<Vec<&CellSummary>> = Vec::new();
        for cell in with_failovers {
            let at = *first_seen.entry((&cell.info.fault, t_of(cell))).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            groups[at].push(cell);
        }
        for group in &mut groups {
            let size = common_size(group);
            group.retain(|cell| Some(cell.info.candidates_per_group) == size);
        }
        groups
    }
}

/// The size at which most recipes were run, the largest of several.
pub(super) fn common_size(cells: &[&CellSummary]) -> Option<u32> {
    let mut recipes: BTreeMap<u32, BTreeSet<&str>> = BTreeMap::new();
    for cell in cells {
        recipes.entry(cell.info.candidates_per_group).or_default().insert(&cell.info.recipe);
    }
    recipes.into_iter().max_by_key(|(size, recipes)| (recipes.len(), *size)).map(|(size, _)| size)
}

/// T in milliseconds, the negotiated one where there is one.
pub(super) fn t_of(cell: &CellSummary) -> u64 {
    cell.timeout_ms.unwrap_or(cell.info.timeout_asked_ms)
}

pub(super) fn p50(distribution: Option<&Distribution>) -> Option<Nanos> {
    distribution.and_then(|d| d.p50)
}

/// The least and the most of these.
pub(super) fn ends(values: impl Iterator<Item = Nanos> + Clone) -> Option<(Nanos, Nanos)> {
    values.clone().min().zip(values.max())
}

/// What the zeros of these cells are worth, by the kind of fault of which least is known; None where no handover stands behind any.
pub(super) fn behind<'a>(
    cells: impl IntoIterator<Item = &'a CellSummary>,
    of: impl Fn(&CellSummary) -> Rate,
) -> Option<String> {
    Some(match RatesByFault::of(cells, of)? {
        RatesByFault::GivenUp(rate) => {
            format!(
                "{}, but each lead was given up before anybody could take it: that shows little",
                handovers_of(&rate)
            )
        }
        RatesByFault::LeastKnown { kind, rate, of, given_up } => {
            // They show little.
            let aside = if given_up { "; resignations are left aside" } else { "" };
            let least = if of > 1 {
                format!("after any of {of} kinds of faults; least is known of {}: ", kind.noun())
            } else {
                String::new()
            };
            let bound = rate.upper_95.map_or_else(|| "unknown".into(), format::bound);
            format!("{least}{} (95 % bound: {bound} of injections){aside}", handovers_of(&rate))
        }
    })
}

/// `in 412 handovers of 96 injections`.
fn handovers_of(rate: &Rate) -> String {
    let handovers = format::plural(rate.n, "handover", "handovers");
    format!("in {handovers} of {}", format::plural(rate.injections, "injection", "injections"))
}

/// The loss of a lead by a fault of this kind, as it is called in a sentence.
pub(super) fn loss(cell: &CellSummary) -> String {
    let kind = cell.info.fault_kind.noun();
    let own_name = cell.info.fault != cell.info.fault_kind.name();
    if own_name { format!("{kind} ({})", crate::render::clean::short(&cell.info.fault, 40)) } else { kind.into() }
}

/// With a capital letter.
pub(super) fn begin(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
