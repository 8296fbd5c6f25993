//! The charts, by plotters, as SVG. A new chart is one file, with its line among the modules and in `CHARTS`.

mod bands;
mod bars;
mod canvas;
mod chart;
mod comparison;
mod correlated_expiry;
mod ecdf;
mod excess;
mod failover;
mod fan_out;
mod load;
mod palette;
mod scale;
mod scaling;
mod servers;
mod timeline;
mod tuned;
mod waterfall;

pub(crate) use canvas::Figure;
pub use canvas::PlotError;
pub(crate) use chart::ChartScope;
pub use palette::COLOURED_RECIPES;
pub(crate) use tuned::{expiry, front};

use chart::Chart;

/// All charts, in the order of the page.
pub(crate) const CHARTS: &[Chart] = &[
    failover::CHART,
    waterfall::CHART,
    scaling::CHART,
    fan_out::CHART,
    excess::CHART,
    servers::CHART,
    load::CHART,
    correlated_expiry::CHART,
    timeline::CHART,
];
