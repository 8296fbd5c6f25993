//! Handovers that are no plain samples, one by one: censored ones, those in which the loser took its lead back, and
//! those that no verified fault explains.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::index::{Index, LeaderChange, Loss, LossOutcome};
use hustings_record::{FaultKind, Nanos};

/// Limit for each kind.
const LISTED_MAX: usize = 15;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExceptionKind {
    /// Nobody led again before the end.
    Censored,
    /// The candidate that had lost the lead took it back.
    Retaken,
    /// No fault explains it.
    Unplanned,
    /// Only a fault without proof could explain it.
    Unverified,
}

/// A handover that is no plain sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Exception {
    pub kind: ExceptionKind,
    pub group: String,
    /// When the lead was lost, since the cell began.
    pub at: Nanos,
    /// Until the next grant, or until nobody looked any more.
    pub lasted: Nanos,
    /// Who lost it: host and candidate.
    pub loser: (String, u32),
    pub next: Option<(String, u32)>,
    /// What took it, where a fault did.
    pub fault: Option<(u32, FaultKind)>,
}

/// The first exceptions of each kind.
pub(crate) fn exceptions(index: &Index<'_>) -> Vec<Exception> {
    let losses = &index.losses;
    let censored = losses.all.iter().filter(|loss| matches!(loss.outcome, LossOutcome::Censored { .. }));
    let retaken = losses
        .completed()
        .filter(|(loss, successor)| index.terms.all[loss.term].cand == index.terms.all[*successor].cand);
    let lost = |kind, loss: &Loss| of_loss(index, kind, loss);
    let changed = |kind, change: &LeaderChange| of_change(index, kind, change);
    let mut all: Vec<Exception> = censored.take(LISTED_MAX).map(|loss| lost(ExceptionKind::Censored, loss)).collect();
    all.extend(losses.unplanned.iter().take(LISTED_MAX).map(|change| changed(ExceptionKind::Unplanned, change)));
    all.extend(losses.unverified.iter().take(LISTED_MAX).map(|change| changed(ExceptionKind::Unverified, change)));
    all.extend(retaken.take(LISTED_MAX).map(|(loss, _)| lost(ExceptionKind::Retaken, loss)));
    all
}

fn of_loss(index: &Index<'_>, kind: ExceptionKind, loss: &Loss) -> Exception {
    let fault = &index.faults.all[loss.fault];
    let (until, next) = match loss.outcome {
        LossOutcome::Completed { successor } => {
            (index.terms.all[successor].granted.unwrap_or(loss.effect), Some(successor))
        }
        LossOutcome::Censored { at } => (at, None),
        LossOutcome::Survived => (loss.effect, None),
    };
    exception(index, kind, loss.group, (loss.effect, until), (loss.term, next), Some((fault.id, fault.kind)))
}

fn of_change(index: &Index<'_>, kind: ExceptionKind, change: &LeaderChange) -> Exception {
    let granted = index.terms.all[change.successor].granted.unwrap_or(change.at);
    exception(index, kind, change.group, (change.at, granted), (change.term, Some(change.successor)), None)
}

fn exception(
    index: &Index<'_>,
    kind: ExceptionKind,
    group: u32,
    (from, to): (Nanos, Nanos),
    (lost, next): (usize, Option<usize>),
    fault: Option<(u32, FaultKind)>,
) -> Exception {
    let who = |term: usize| (index.host_name(index.terms.all[term].host), index.terms.all[term].cand);
    Exception {
        kind,
        group: index.group_name(group),
        at: from.saturating_sub(index.span.0),
        lasted: to.saturating_sub(from),
        loser: who(lost),
        next: next.map(who),
        fault,
    }
}
