//! The cost of each injection, the unit in which two runs are compared. Handovers of one injection share circumstances
//! and variance, so each injection contributes one figure of a kind: their median, or the share of slow ones.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::phases::FailoverPhase::{OverFloor, UntilWrite, Whole};
use super::phases::{PerPhase, Phases, medians};
use crate::index::{Index, Loss, LossOutcome};
use crate::stats::{Samples, lower_median};
use hustings_record::{FanOut, Nanos};

/// What one injection did to leads. Only verified faults count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InjectionCost {
    /// When it was planned for, from the first injection of the cell on.
    pub after_ns: Nanos,
    /// Leads that it cost.
    pub lost: u64,
    /// Of these, how many had no new leader before the end.
    pub censored: u64,
    /// From the lead's loss to the next grant. None where stalls leave nothing to believe.
    pub failover: Option<KaplanMeier>,
    /// The same in nanoseconds, lead by lead, of those that ended: in rising order, without censored and void ones.
    /// Empty in older records.
    #[serde(default)]
    pub failovers: Vec<Nanos>,
    /// From the lead's loss to the next term's first accepted write.
    pub until_write: Option<KaplanMeier>,
    /// The same lead by lead, as of `failovers`.
    #[serde(default)]
    pub until_writes: Vec<Nanos>,
    /// For sessions left to expire: detection above the floor of expiry.
    pub over_floor: Option<KaplanMeier>,
    /// Other candidates that the loss of the lead woke, the median of the leads; None where the recipe watches nothing.
    pub woken: Option<u64>,
}

/// Samples of one injection, by Kaplan and Meier's estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KaplanMeier {
    /// Completed ones, and those that had not ended when the run did.
    pub n: u64,
    pub censored: u64,
    /// The median; None where censoring hides it: longer than anything that was seen to end.
    pub p50: Option<Nanos>,
    /// The longest; None where one had not ended.
    pub longest: Option<Nanos>,
}

impl KaplanMeier {
    fn of(samples: Samples) -> Option<Self> {
        let all = samples.distribution().filter(|all| all.has_samples())?;
        let longest = Some(all.max).filter(|_| all.censored == 0);
        Some(Self { n: all.n, censored: all.censored, p50: all.p50, longest })
    }
}

#[derive(Default)]
struct Injection {
    phases: Phases,
    lost: u64,
    censored: u64,
    woken: Vec<u64>,
}

/// All injections that cost a term, by time.
pub(crate) fn seen(index: &Index<'_>) -> Vec<InjectionCost> {
    let planned = |loss: &Loss| index.faults.all[loss.fault].intended;
    let mut losses: Vec<&Loss> = index.losses.all.iter().filter(|loss| loss.outcome != LossOutcome::Survived).collect();
    losses.sort_by_key(|loss| planned(loss));
    let first = losses.first().map_or(0, |loss| planned(loss));
    let medians = medians(index);
    let injections = losses.chunk_by(|a, b| planned(a) == planned(b));
    injections.map(|losses| Injection::of(index, losses, &medians).seen(planned(losses[0]) - first)).collect()
}

impl Injection {
    fn of(index: &Index<'_>, losses: &[&Loss], medians: &PerPhase<Nanos>) -> Self {
        let phases = Phases::of_losses(index, losses.iter().copied(), Some(medians));
        let mut injection = Self { phases, ..Self::default() };
        for loss in losses {
            injection.lost += 1;
            injection.censored += u64::from(matches!(loss.outcome, LossOutcome::Censored { .. }));
            if index.info.leader_wakes() != Some(FanOut::None) {
                injection.woken.push(index.woken(loss).len() as u64);
            }
        }
        injection
    }

    fn seen(self, after_ns: Nanos) -> InjectionCost {
        let Self { mut phases, lost, censored, mut woken } = self;
        woken.sort_unstable();
        let (whole, until_write) = (phases.take(Whole), phases.take(UntilWrite));
        InjectionCost {
            after_ns,
            lost,
            censored,
            failovers: whole.sorted_completed(),
            failover: KaplanMeier::of(whole),
            until_writes: until_write.sorted_completed(),
            until_write: KaplanMeier::of(until_write),
            over_floor: KaplanMeier::of(phases.take(OverFloor)),
            woken: lower_median(&woken),
        }
    }
}
