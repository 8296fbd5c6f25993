//! Failover latency: one plot a fault, a curve for each recipe and step-down policy.

use super::chart::{Chart, ChartScope};
use super::comparison;

pub(super) const CHART: Chart = Chart {
    heading: "Failover latency",
    about: "From the lead's loss to the next grant in the same group. A curve further left is faster; a steep one is \
            steadier. A curve that ends below 100 % belongs to handovers that the run did not see end: they are longer \
            than anything shown. Colour tells the recipe, dashes the step-down policy; where cells differ in \
            anything else, further colours tell them apart.",
    draw: ChartScope::Configurations(|summary| {
        comparison::ecdfs(summary, "Failover latency", "time since the lead was lost (logarithmic)", true, |cell| {
            cell.failover.whole.as_ref()
        })
    }),
};
