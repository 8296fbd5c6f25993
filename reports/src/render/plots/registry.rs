//! The registry of charts.

use super::chart::Chart;
use super::{excess, failover, fan_out, phases, servers, timeline};

/// All charts, in the order of the page.
pub(crate) const CHARTS: &[Chart] =
    &[failover::CHART, phases::CHART, fan_out::CHART, excess::CHART, servers::CHART, timeline::CHART];
