//! Two scenarios in one run, cell against cell: alternating on one ensemble, so that any drift affects both alike.

use std::borrow::Cow;

use hustings_record::numbers::to_u32;
use hustings_record::{ComparisonSide, PairMember};
use rand::RngExt as _;

use super::cell::Cell;
use super::error::Problem;
use crate::seed;

/// The suffix of the new side's cells, after the names of the base's.
const NEW: &str = "-new";

/// The cells of two sides: as many of each, the base's first in every pair.
pub type PairedCells = Vec<Cell>;

/// Pairs the cells of two scenarios: by name, or in their order where no two share a name. The base's cells keep their
/// names and places. The new ones are named after their pairs and come after them.
///
/// # Errors
/// A cell has no pair, or the name of another cell equals a generated one.
pub fn sides(base: &[Cell], new: &[Cell]) -> Result<PairedCells, Problem> {
    let refused = |what: String| Problem {
        key: "--against".into(),
        what,
        remedy: "choose cells with --only, so that each has one to be compared with".into(),
    };
    let by_name = base.iter().any(|cell| new.iter().any(|other| other.name == cell.name));
    if !by_name && base.len() != new.len() {
        return Err(refused(format!(
            "one side has {} and the other {}, and no two have the same name",
            words(base),
            words(new)
        )));
    }
    let alone = |side: &[Cell], others: &[Cell]| {
        side.iter()
            .find(|cell| by_name && others.iter().all(|other| other.name != cell.name))
            .map(|cell| cell.name.clone())
    };
    if let Some(name) = alone(base, new).or_else(|| alone(new, base)) {
        return Err(refused(format!("cell {name} is on one side alone")));
    }
    let places = base.iter().map(|cell| cell.index + 1).max().unwrap_or(0);
    let mut pairs = Vec::new();
    for (at, one) in base.iter().enumerate() {
        let other = if by_name { new.iter().find(|cell| cell.name == one.name) } else { new.get(at) };
        let Some(other) = other else { continue };
        let name = format!("{}{NEW}", one.name);
        if base.iter().any(|cell| cell.name == name) {
            return Err(refused(format!("cell {name} has the name that the other side of {} would have", one.name)));
        }
        if !one.same_ensemble(other) {
            return Err(refused(format!(
                "cell {} needs other servers on the other side, and both run on the same",
                one.name
            )));
        }
        let contest = |side| Some(PairMember { pair: one.name.clone(), side });
        pairs.push(Cell { contest: contest(ComparisonSide::Base), ..one.clone() });
        pairs.push(Cell { contest: contest(ComparisonSide::New), name, index: places + to_u32(at), ..other.clone() });
    }
    Ok(pairs)
}

fn words(cells: &[Cell]) -> String {
    hustings_record::words::plural(cells.len() as u64, "cell", "cells")
}

/// The cells of round `number`, counted from 1. The first side of a pair is drawn for every other round; the round
/// after it has the reverse order, as in ABBA. Other cells stay in place.
#[must_use]
pub fn in_turn(mut cells: Vec<Cell>, seed: u64, number: u32) -> Vec<Cell> {
    for pair in cells.chunk_by_mut(|one, other| one.pair().is_some() && one.pair() == other.pair()) {
        let [one, _] = pair else { continue };
        let block = (number.saturating_sub(1)) / 2;
        let scope = one.pair().unwrap_or_default();
        let swapped = seed::rng(seed, scope, &format!("turn {block}")).random_bool(0.5);
        if swapped != number.is_multiple_of(2) {
            pair.swap(0, 1);
        }
    }
    cells
}

impl Cell {
    /// Whether it is on the base side, with which the other one is compared.
    #[must_use]
    pub fn is_base(&self) -> bool {
        self.contest.as_ref().is_some_and(|contest| contest.side == ComparisonSide::Base)
    }

    /// The seed scope for its times, targets and placement: its name, or that of its pair where two sides are compared.
    /// So between-round variance favours neither side.
    #[must_use]
    pub fn round_variance(&self) -> Cow<'_, str> {
        match (&self.contest, &self.repetition) {
            (Some(contest), Some(repetition)) => format!("{} {}", contest.pair, repetition.number).into(),
            (Some(contest), None) => contest.pair.as_str().into(),
            (None, _) => self.name.as_str().into(),
        }
    }

    fn pair(&self) -> Option<&str> {
        self.contest.as_ref().map(|contest| contest.pair.as_str())
    }
}
