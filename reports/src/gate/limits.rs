//! The limits file: requirements by cell.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::figures::{FIGURES, Figure, FigureReading, FigureSource};
use crate::check::CellSummary;
use crate::sound::configuration_name;

/// The content of a limits file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// How many injections every configuration must have at least.
    pub injections: Option<u64>,
    /// How much worse than the baseline is allowed, in percent of the baseline's median.
    pub allowed_regression_percent: Option<f64>,
    /// Limits by cell name, in which `*` matches anything, and by the figure's name. The name of a cell in the scenario
    /// means all its repetitions, of the new side if the record has two. The name of a repetition means it alone.
    #[serde(default)]
    pub cells: BTreeMap<String, BTreeMap<String, f64>>,
}

/// Why limits cannot be compared with a record.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum LimitsError {
    #[error("cells.{cells:?} has a limit on {figure}, which is no figure; there are {known}")]
    Unknown { cells: String, figure: String, known: String },
    #[error("cells.{cells:?}: the limit on {figure} is {limit}; it must be a number, and not below 0")]
    Senseless { cells: String, figure: String, limit: f64 },
    #[error("allowed_regression_percent is {0}; it must be between 0 and 100")]
    Allowed(f64),
    #[error("injections is 0; it must be 1 at least, or left out")]
    NoInjections,
    #[error("it says nothing; give injections, allowed_regression_percent or [cells.\"*\"], or leave the file out")]
    Nothing,
    #[error("no cell of the record is like {cells:?}; there are {known}")]
    NoCell { cells: String, known: String },
    #[error("cell {cell} has no {figure}, on which cells.{cells:?} puts a limit; name the cells that have it")]
    NoFigure { cells: String, cell: String, figure: String },
}

/// One limit on one cell.
pub(super) struct Limit<'a> {
    pub(super) cell: &'a CellSummary,
    pub(super) figure: &'static Figure,
    pub(super) read: FigureReading,
    pub(super) most: f64,
}

impl Limits {
    /// Every limit with each of `cells` that it applies to. `like` says whether a name matches a pattern.
    ///
    /// # Errors
    /// A limit that does not apply to this record: on no cell, or on a figure that no repetition of a cell has.
    pub(super) fn on<'a>(
        &self,
        cells: &[&'a CellSummary],
        like: impl Fn(&str, &str) -> bool,
    ) -> Result<Vec<Limit<'a>>, LimitsError> {
        if let Some(allowed) = self.allowed_regression_percent.filter(|allowed| !(0.0..100.0).contains(allowed)) {
            return Err(LimitsError::Allowed(allowed));
        }
        if self.injections == Some(0) {
            return Err(LimitsError::NoInjections);
        }
        let says_nothing = self.cells.values().all(BTreeMap::is_empty);
        if says_nothing && self.injections.is_none() && self.allowed_regression_percent.is_none() {
            return Err(LimitsError::Nothing);
        }
        let mut all = Vec::new();
        for (pattern, limits) in &self.cells {
            let is_meant = |cell: &&CellSummary| names(cell).iter().any(|name| like(pattern, name));
            let meant: Vec<&'a CellSummary> = cells.iter().copied().filter(is_meant).collect();
            if meant.is_empty() {
                let known: BTreeSet<&str> = cells.iter().map(|cell| configuration_name(cell)).collect();
                let known = known.into_iter().collect::<Vec<_>>().join(", ");
                return Err(LimitsError::NoCell { cells: pattern.clone(), known });
            }
            for (name, &most) in limits {
                let figure = Figure::find(name).ok_or_else(|| LimitsError::Unknown {
                    cells: pattern.clone(),
                    figure: name.clone(),
                    known: FIGURES.iter().map(|figure| figure.name).collect::<Vec<_>>().join(", "),
                })?;
                if !(most.is_finite() && most >= 0.0) {
                    let (cells, figure) = (pattern.clone(), name.clone());
                    return Err(LimitsError::Senseless { cells, figure, limit: most });
                }
                let read = |cell: &CellSummary| figure.of(&FigureSource::cell(cell));
                let found: Vec<Limit<'a>> =
                    meant.iter().map(|&cell| Limit { cell, figure, read: read(cell), most }).collect();
                let is_there = |one: &&Limit<'a>| one.read != FigureReading::Missing;
                let with_it: BTreeSet<&str> =
                    found.iter().filter(is_there).map(|one| configuration_name(one.cell)).collect();
                // In a single repetition it may be missing.
                if let Some(one) = found.iter().find(|one| !with_it.contains(configuration_name(one.cell))) {
                    let (cells, figure) = (pattern.clone(), name.clone());
                    return Err(LimitsError::NoFigure { cells, cell: one.cell.info.name.clone(), figure });
                }
                all.extend(found);
            }
        }
        Ok(all)
    }
}

/// The names by which limits mean a cell: of its configuration, of that on its side, and its own.
fn names(cell: &CellSummary) -> [&str; 3] {
    [configuration_name(cell), cell.info.configuration(), &cell.info.name]
}
