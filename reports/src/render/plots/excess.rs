//! Detection beyond the floor, where sessions are left to expire: the time that ensemble and client add to T.

use super::chart::{Chart, ChartScope};
use super::comparison;

pub(super) const CHART: Chart = Chart {
    heading: "Excess over the floor",
    about: "How much later than the earliest moment that the session timeout allows the loss was noticed. Rounding to the \
            server's tick explains up to 1.5 ticks of it. Only for faults that leave a session to expire.",
    draw: ChartScope::Configurations(|summary| {
        comparison::ecdfs(summary, "Detection beyond the floor", "excess over T − age (logarithmic)", false, |cell| {
            cell.failover.excess.as_ref().map(|excess| &excess.over_floor)
        })
    }),
};
