//! The charts, by plotters, as SVG. A new chart is one file here and one line in `CHARTS`.

mod bands;
mod canvas;
mod chart;
mod comparison;
mod ecdf;
mod excess;
mod failover;
mod fan_out;
mod load;
mod palette;
mod registry;
mod scale;
mod scaling;
mod servers;
mod timeline;
mod together;
mod tuned;
mod waterfall;

pub(crate) use canvas::Figure;
pub use canvas::PlotError;
pub(crate) use chart::Draw;
pub(crate) use registry::CHARTS;
pub(crate) use tuned::{expiry, front};
