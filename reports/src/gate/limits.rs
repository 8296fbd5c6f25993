//! The limits file: requirements by cell.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::figures::{FIGURES, Figure, FigureReading, FigureSource};
use crate::check::CellSummary;

/// The content of a limits file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// How many injections every configuration must have at least.
    pub injections: Option<u64>,
    /// How much worse than the baseline is allowed, in percent of the baseline's median.
    pub allowed_regression_percent: Option<f64>,
    /// Limits by cell name, in which `*` matches anything, and by the figure's name.
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
    /// Every limit with each cell that it applies to. `like` says whether a name matches a pattern.
    ///
    /// # Errors
    /// A limit that does not apply to this record.
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
            let meant: Vec<&CellSummary> =
                cells.iter().copied().filter(|cell| like(pattern, &cell.info.name)).collect();
            if meant.is_empty() {
                let known = cells.iter().map(|cell| cell.info.name.as_str()).collect::<Vec<_>>().join(", ");
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
                for &cell in &meant {
                    let read = figure.of(&FigureSource::cell(cell));
                    if read == FigureReading::Missing {
                        let (cells, figure) = (pattern.clone(), name.clone());
                        return Err(LimitsError::NoFigure { cells, cell: cell.info.name.clone(), figure });
                    }
                    all.push(Limit { cell, figure, read, most });
                }
            }
        }
        Ok(all)
    }
}
