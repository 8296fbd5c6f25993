//! Cells that are run several times: in rounds over all of them, so that what drifts on a machine hits all alike.

use std::collections::BTreeSet;

use hustings_record::Repetition;

use super::cell::Cell;
use super::error::Problem;

/// The cells of so many rounds, in the order in which they are run.
pub fn rounds(cells: &[Cell], count: u32) -> impl Iterator<Item = Cell> {
    let rounds = Rounds::new(cells, count, count);
    (1..=count).flat_map(move |number| rounds.round(cells, number))
}

/// Rounds over cells that need not all be run together.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    count: u32,
    at_most: u32,
    /// Places in a run that one round takes.
    places: u32,
}

impl Rounds {
    /// So many over all of these, and no more than `at_most` where they do not tell enough.
    #[must_use]
    pub fn new(cells: &[Cell], count: u32, at_most: u32) -> Self {
        Self { count, at_most, places: cells.iter().map(|cell| cell.index + 1).max().unwrap_or(0) }
    }

    /// Some of the cells as they are in this round. Whatever is drawn by a cell's name is drawn anew for each repetition; the
    /// first one keeps the name, and so is what it would be alone. Of one round they are as they were.
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

/// Whether these cells, all of a scenario, can be run in so many rounds.
///
/// # Errors
/// One of them bears the name that a repetition of another one would have.
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
