//! Pooled figures of the repetitions of one configuration: those of the union of their samples and injections, never
//! means of figures. A failed repetition stays visible, and repetitions that did not enter are reported.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::check::failover::Failover;
use crate::check::handovers::Handovers;
use crate::check::split_brain::SplitBrain;
use crate::check::stale_writes::Writes;
use crate::verdict::Verdict;
use hustings_record::Nanos;

/// A configuration that was run several times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pool {
    /// Name of the configuration: that of its first repetition.
    pub name: String,
    /// The worst of its repetitions'; inconclusive at best where not all of them entered.
    pub verdict: Verdict,
    /// True when something unsafe was seen that the scenario expects.
    pub unsafe_as_expected: bool,
    /// T: the negotiated session timeout, in milliseconds; None when no session was established.
    pub timeout_ms: Option<u64>,
    /// Repetitions that were planned, with those that were run again.
    pub planned: u32,
    /// Those that are in the figures below: the ones that ended in order.
    pub pooled: u32,
    /// Of all that were recorded, how many failed, and how many are inconclusive.
    pub failed: u32,
    pub inconclusive: u32,
    /// All that were recorded, in the order of the run.
    pub repetitions: Vec<PooledRepetition>,
    /// How far their medians are apart.
    pub medians: Option<Medians>,
    pub handovers: Handovers,
    pub failover: Failover,
    /// Opportunities and injections are summed; bounds are those of all injections.
    pub split_brain: SplitBrain,
    pub writes: Writes,
    /// Of all groups' time in all repetitions; None where none was measured.
    pub without_leader: Option<OutageShare>,
    pub without_write: Option<OutageShare>,
}

/// One repetition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PooledRepetition {
    /// Name of its cell.
    pub cell: String,
    pub number: u32,
    pub verdict: Verdict,
    pub unsafe_as_expected: bool,
    /// False where it did not end in order, or events of it are missing: it is in no figure of the pool.
    pub pooled: bool,
    /// Its own median failover; None where censoring hides it, and where there was no failover.
    pub p50: Option<Nanos>,
}

/// The medians of the failovers of those repetitions that had any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Medians {
    /// How many repetitions had any.
    pub of: u32,
    /// The smallest; None where censoring hides them all.
    pub least: Option<Nanos>,
    /// The largest; None where censoring hides one: it is longer than what was seen.
    pub most: Option<Nanos>,
}

/// A time that groups were without something.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutageShare {
    /// Share of the group-time of all repetitions.
    pub share: f64,
    /// The longest at a stretch, of any group in any repetition.
    pub longest_ns: Nanos,
}

impl Pool {
    /// Whether no repetition was left out.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.pooled >= self.planned
    }
}
