//! The type of a chart.

use super::canvas::{Figure, PlotError};
use crate::summary::{CellSummary, Summary};

pub(crate) struct Chart {
    pub(crate) heading: &'static str,
    /// What it shows and how to read it.
    pub(crate) about: &'static str,
    pub(crate) draw: ChartScope,
}

/// Where a chart is shown: once for the run, of its cells or its configurations, or in the section of each cell. There
/// are no figures if there is nothing to show.
pub(crate) enum ChartScope {
    /// Of configurations: all repetitions of one are shown together as one cell.
    Configurations(fn(&Summary) -> Result<Vec<Figure>, PlotError>),
    Run(fn(&Summary) -> Result<Vec<Figure>, PlotError>),
    Cell(fn(&CellSummary) -> Result<Vec<Figure>, PlotError>),
}
