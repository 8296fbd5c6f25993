//! The registry of charts.

use super::chart::Chart;
use super::{excess, failover, fan_out, load, scaling, servers, timeline, together, waterfall};

/// All charts, in the order of the page.
pub(crate) const CHARTS: &[Chart] = &[
    failover::CHART,
    waterfall::CHART,
    scaling::CHART,
    fan_out::CHART,
    excess::CHART,
    servers::CHART,
    load::CHART,
    together::CHART,
    timeline::CHART,
];
