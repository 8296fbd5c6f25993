//! Correlated expiry: sessions that one injection leaves to expire end in the server's buckets, each a tick wide. Many
//! groups then lose their leader at one moment, and all survivors compete at once.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::index::{Index, Loss, LossOutcome};
use hustings_record::{FaultKind, Nanos};

/// Limit on the injections that are kept.
const INJECTIONS_MAX: usize = 40;
/// Limit on the ticks of one injection in which a group lost its leader.
const TICKS_MAX: usize = 200;

/// The groups that lost their leader to one injection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CorrelatedExpiry {
    /// When the first of the leads was lost, since the cell began.
    pub at: Nanos,
    pub kind: FaultKind,
    pub groups: u64,
    /// Those of them in which nothing was noticed before the end.
    pub never: u64,
    pub tick: Nanos,
    /// Ticks since the first lead was lost, and in how many groups the loss was first noticed in each of these; rising.
    pub noticed: Vec<(u64, u64)>,
}

impl CorrelatedExpiry {
    /// The largest number of groups whose loss was noticed within one tick.
    #[must_use]
    pub fn most_together(&self) -> u64 {
        self.noticed.iter().map(|&(_, groups)| groups).max().unwrap_or(0)
    }
}

/// Correlated expiries of the injections that left sessions to expire, in order of time.
pub(crate) fn correlated_expiries(index: &Index<'_>) -> Vec<CorrelatedExpiry> {
    let mut injections: BTreeMap<Nanos, Vec<&Loss>> = BTreeMap::new();
    for loss in index.losses.all.iter().filter(|loss| loss.outcome != LossOutcome::Survived) {
        let fault = &index.faults.all[loss.fault];
        if fault.kind.facts().lets_sessions_expire {
            injections.entry(fault.intended).or_default().push(loss);
        }
    }
    injections.into_values().take(INJECTIONS_MAX).filter_map(|losses| correlated_expiry(index, &losses)).collect()
}

fn correlated_expiry(index: &Index<'_>, losses: &[&Loss]) -> Option<CorrelatedExpiry> {
    let first = losses.iter().min_by_key(|loss| loss.effect)?;
    let tick = index.tick.max(1);
    let (mut never, mut noticed) = (0, BTreeMap::<u64, u64>::new());
    for loss in losses {
        match noticed_at(index, loss) {
            Some(at) => *noticed.entry(at.saturating_sub(first.effect) / tick).or_default() += 1,
            None => never += 1,
        }
    }
    Some(CorrelatedExpiry {
        at: first.effect.saturating_sub(index.span.0),
        kind: index.faults.all[first.fault].kind,
        groups: losses.len() as u64,
        never,
        tick,
        noticed: noticed.into_iter().take(TICKS_MAX).collect(),
    })
}

/// When the first other candidate was notified, or the next leader was granted its term, whichever was earlier. A
/// candidate that looks without being notified has noticed the loss by its grant.
fn noticed_at(index: &Index<'_>, loss: &Loss) -> Option<Nanos> {
    let granted = match loss.outcome {
        LossOutcome::Completed { successor } => index.terms.all[successor].granted,
        LossOutcome::Censored { .. } | LossOutcome::Survived => None,
    };
    index.woken(loss).first().map(|notice| notice.t).into_iter().chain(granted).min()
}
