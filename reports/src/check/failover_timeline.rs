//! The moments of one failover. Phase medians over many failovers do not add up; the phases of a single one do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::index::Loss;
use hustings_record::Nanos;

/// The moments of one failover, in nanoseconds since the lead was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct FailoverTimeline {
    /// The next grant.
    pub granted: Nanos,
    /// Of a session that was left to expire: so long before the loss it was last heard of.
    pub touched_before: Option<Nanos>,
    /// When it could expire at the earliest: T after that, or after a new leader of the ensemble restarted its clock.
    pub due: Option<Nanos>,
    /// A resigner's deletion was sent.
    pub released: Option<Nanos>,
    /// The first watcher was told, and the last one where several are to be woken; None where nobody was before the grant.
    pub told: Option<Nanos>,
    pub last_told: Option<Nanos>,
    /// The first write of the next term was accepted.
    pub written: Option<Nanos>,
}

/// The same moments by the record's clock, as far as they are known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FailoverTimestamps {
    pub(super) touch: Option<Nanos>,
    pub(super) due: Option<Nanos>,
    pub(super) told: Option<Nanos>,
    pub(super) last_told: Option<Nanos>,
    pub(super) written: Option<Nanos>,
}

impl FailoverTimeline {
    pub(super) fn new(loss: &Loss, resigned: bool, granted: Nanos, moments: FailoverTimestamps) -> Self {
        let since = |t: Nanos| t.saturating_sub(loss.effect);
        let FailoverTimestamps { touch, due, told, last_told, written } = moments;
        Self {
            granted: since(granted),
            touched_before: touch.map(|touch| loss.effect.saturating_sub(touch)),
            due: due.map(since),
            released: resigned.then(|| since(loss.released)),
            told: told.map(since),
            last_told: last_told.filter(|_| told.is_some()).map(since),
            written: written.map(since),
        }
    }

    /// The failover whose duration is the median. Of several, the smallest by order of moments, so that the choice is
    /// deterministic.
    pub(super) fn middle(all: impl IntoIterator<Item = Self>, p50: Option<Nanos>) -> Option<Self> {
        all.into_iter().filter(|timeline| Some(timeline.granted) == p50).min()
    }
}
