//! What the analysis of a record comes to: all that the reports show, and `summary.json`. Computed by
//! `analysis`, rendered by `render`; nothing in here is measured anew. Times are nanoseconds unless the name says otherwise.
//! The sections of a cell stand with their checkers; here they are under one roof for whoever reads a summary.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::check::failover::Excess;
pub use crate::check::failover_timeline::FailoverTimeline;
pub use crate::check::fan_out::FollowersLost;
pub use crate::check::injections::{InjectionCost, KaplanMeier};
pub use crate::check::lists::Listing;
pub use crate::check::promptness::PromiseResult;
pub use crate::check::sections::*;
pub use crate::check::server_elections::{ElectionRole, ServerElection};
pub use crate::check::server_watch::{ServerBar, ServerFault, ServerWatchSection};
pub use crate::check::servers::WatchesFired;
pub use crate::check::split_brain::ExcusedOverlaps;
pub use crate::check::unavailable::{ServerUnavailable, UnavailableTime};
pub use crate::check::verifications::{FaultVerification, WithheldFault};
pub use crate::check::write_gaps::{WriteGap, WriteProbes};
pub use crate::check::{CellSummary, CheckResult};
pub use crate::excerpts::correlated_expiry::CorrelatedExpiry;
pub use crate::excerpts::exceptions::{Exception, ExceptionKind};
pub use crate::excerpts::load::{Load, LoadPoint};
pub use crate::excerpts::timelines::{FaultBand, TermBar, Timeline};
pub use crate::repetitions::pool::{Medians, OutageShare, Pool, PooledRepetition};
pub use crate::replay::Replay;
pub use crate::stats::{Distribution, Rate};

use crate::verdict::Verdict;
use hustings_record::{Manifest, Nanos};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    pub verdict: Verdict,
    /// That of the record as a whole, its cells apart: no pass where the run did not end in order, where cells or events are
    /// missing, or where a broken recipe of a self-test was caught in none of its cells.
    #[serde(default)]
    pub whole: Verdict,
    pub manifest: Manifest,
    /// From the first cell's first phase to the last cell's end.
    #[serde(default)]
    pub recorded_ns: Option<Nanos>,
    /// What the reader of the record had to drop or mend, and cells that are missing.
    pub notes: Vec<String>,
    /// What repetitions of one configuration come to together; none where each was run once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<Pool>,
    pub cells: Vec<CellSummary>,
    /// A few groups, step by step: those that tell most of each recipe.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replays: Vec<Replay>,
}

impl Summary {
    /// The verdict on these cells, and on the record as a whole. The latter includes what the cells of broken recipes show: not
    /// every fault gives a defect an opportunity.
    pub(crate) fn verdict_of(whole: Verdict, cells: &[CellSummary]) -> Verdict {
        let judged = cells.iter().filter(|cell| !cell.info.self_test);
        judged.map(|cell| cell.verdict).fold(whole, Verdict::merge)
    }

    /// Whether its verdicts are those of the checks in it.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        let checks = self.cells.iter().filter(|cell| !cell.info.self_test).flat_map(|cell| &cell.checks);
        let of_checks = checks.map(|check| check.verdict).fold(self.whole, Verdict::merge);
        self.verdict == of_checks && self.verdict == Self::verdict_of(self.whole, &self.cells)
    }

    /// Planned cells that left no record.
    #[must_use]
    pub(crate) fn cells_missing(&self) -> u64 {
        u64::from(self.manifest.cells_planned).saturating_sub(self.cells.len() as u64)
    }
}
