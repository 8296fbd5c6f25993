//! The charts, by plotters, as SVG. A new chart is one file here and one line in `CHARTS`.

mod canvas;
mod comparison;
mod ecdf;
mod excess;
mod failover;
mod fan_out;
mod palette;
mod phases;
mod scale;
mod servers;
mod timeline;

pub(crate) use canvas::Figure;
pub use canvas::PlotError;

use crate::summary::{CellSummary, Summary};

/// All charts, in the order of the page.
pub(crate) const CHARTS: &[Chart] =
    &[failover::CHART, phases::CHART, fan_out::CHART, excess::CHART, servers::CHART, timeline::CHART];

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
