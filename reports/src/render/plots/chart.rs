//! What a chart is.

use super::canvas::{Figure, PlotError};
use crate::summary::{CellSummary, Summary};

pub(crate) struct Chart {
    pub(crate) heading: &'static str,
    /// What it shows and how to read it.
    pub(crate) about: &'static str,
    pub(crate) draw: Draw,
}

/// Where a chart stands: once for the run, or in the section of each cell. No figures where there is nothing to show.
pub(crate) enum Draw {
    Run(fn(&Summary) -> Result<Vec<Figure>, PlotError>),
    Cell(fn(&CellSummary) -> Result<Vec<Figure>, PlotError>),
}
