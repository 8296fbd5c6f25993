//! Cells that are run several times: in rounds over all of them, so that any drift of the machine affects all alike.

use std::collections::BTreeSet;

use hustings_record::Repetition;

use super::cell::Cell;
use super::error::Problem;

/// The cells of this many rounds, in the order in which they run.
pub fn rounds(cells: &[Cell], count: u32) -> impl Iterator<Item = Cell> {
    let rounds = Rounds::new(cells, count, count);
    (1..=count).flat_map(move |number| rounds.round(cells, number))
}

/// Rounds over cells that need not all run together.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    count: u32,
    at_most: u32,
    /// Indices that one round takes.
    places: u32,
}

impl Rounds {
    /// `count` rounds over all of these cells, and up to `at_most` where they are not sufficient.
    #[must_use]
    pub fn new(cells: &[Cell], count: u32, at_most: u32) -> Self {
        Self { count, at_most, places: cells.iter().map(|cell| cell.index + 1).max().unwrap_or(0) }
    }

    /// Some of the cells as they are in this round. Everything seeded by a cell's name is drawn again for each
    /// repetition. The first one keeps the name, and so equals a single run. With only one round the cells are
    /// unchanged.
    pub fn round(self, cells: &[Cell], number: u32) -> impl Iterator<Item = Cell> {
        cells.iter().map(move |cell| self.repeated(cell, number))
    }

    fn repeated(self, cell: &Cell, number: u32) -> Cell {
        let Self { count, at_most, places } = self;
        if count == 1 {
            return cell.clone();
        }
        let of = cell.name.clone();
        let name = if number == 1 { of.clone() } else { format!("{of}-r{number}") };
        let index = cell.index.saturating_add((number - 1).saturating_mul(places));
        Cell { index, name, repetition: Some(Repetition { of, number, count, at_most }), ..cell.clone() }
    }
}

/// Whether these cells, all of a scenario, can be run in this many rounds.
///
/// # Errors
/// A cell has the name that a repetition of another one would have.
pub fn check_rounds(cells: &[Cell], count: u32) -> Result<(), Problem> {
    let names: BTreeSet<&str> = cells.iter().map(|cell| cell.name.as_str()).collect();
    let taken = names.iter().find_map(|name| {
        let (of, number) = name.rsplit_once("-r")?;
        let number = number.parse::<u32>().ok().filter(|n| (2..=count).contains(n) && n.to_string() == number)?;
        names.contains(of).then_some((name, of, number))
    });
    taken.map_or(Ok(()), |(name, of, number)| {
        let what = format!("repetition {number} of cell {of} would have the name of cell {name}");
        Err(Problem {
            key: "repeat".into(),
            what,
            remedy: "call the fault or the recipe of one of them otherwise".into(),
        })
    })
}
