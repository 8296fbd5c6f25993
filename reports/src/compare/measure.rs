//! The compared measures: each injection has one value of each. More is worse in all of them.

use serde::{Deserialize, Serialize};

use crate::check::injections::{InjectionCost, KaplanMeier};
use hustings_record::Nanos;

/// A figure of an injection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    Failover,
    UntilWrite,
    Slow,
    SlowWrites,
    Censored,
    Woken,
}

/// What an injection gives to a measure.
pub(super) enum MeasureSource {
    /// Its value: infinite where censoring hides it, None without one.
    Value(fn(&InjectionCost) -> Option<f64>),
    /// The times of its leads, infinite where censoring hides them; None without any. Its value is the share of slow
    /// ones, which depends on the other injections.
    LeadTimes(fn(&InjectionCost) -> Option<Vec<f64>>),
}

/// The unit of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Nanoseconds,
    /// Between 0 and 1.
    Share,
    Count,
}

impl Measure {
    /// All of them, the most informative first.
    pub const ALL: [Self; 6] =
        [Self::Failover, Self::UntilWrite, Self::Slow, Self::SlowWrites, Self::Censored, Self::Woken];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Failover => "failover",
            Self::UntilWrite => "until-write",
            Self::Slow => "slow",
            Self::SlowWrites => "slow-writes",
            Self::Censored => "censored",
            Self::Woken => "woken",
        }
    }

    /// Its meaning for an injection, in words.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::Failover => "from the lead's loss to the next grant, the median of the injection's leads",
            Self::UntilWrite => "from the lead's loss to the next accepted write, the median of the injection's leads",
            Self::Slow => {
                "share of the lost leads whose failover took more than twice what nine tenths of the quicker side's \
                 take, or did not end"
            }
            Self::SlowWrites => "the same of the time until the next accepted write",
            Self::Censored => "share of the lost leads that had no new leader before the end",
            Self::Woken => "candidates that the loss of a lead woke, the median of the injection's leads",
        }
    }

    #[must_use]
    pub fn unit(self) -> Unit {
        match self {
            Self::Failover | Self::UntilWrite => Unit::Nanoseconds,
            Self::Slow | Self::SlowWrites | Self::Censored => Unit::Share,
            Self::Woken => Unit::Count,
        }
    }

    /// What it takes from an injection.
    pub(super) fn source(self) -> MeasureSource {
        match self {
            Self::Failover => MeasureSource::Value(|injection| injection.failover.as_ref().map(median)),
            Self::UntilWrite => MeasureSource::Value(|injection| injection.until_write.as_ref().map(median)),
            Self::Slow => {
                MeasureSource::LeadTimes(|injection| lead_times(injection.failover.as_ref()?, &injection.failovers))
            }
            Self::SlowWrites => MeasureSource::LeadTimes(|injection| {
                lead_times(injection.until_write.as_ref()?, &injection.until_writes)
            }),
            Self::Censored => MeasureSource::Value(|injection| {
                (injection.lost > 0).then(|| injection.censored as f64 / injection.lost as f64)
            }),
            Self::Woken => MeasureSource::Value(|injection| injection.woken.map(|woken| woken as f64)),
        }
    }
}

fn median(reduced: &KaplanMeier) -> f64 {
    reduced.p50.map_or(f64::INFINITY, |ns| ns as f64)
}

/// An older record has the median alone, which stands for all leads of the injection.
fn lead_times(reduced: &KaplanMeier, ended: &[Nanos]) -> Option<Vec<f64>> {
    if ended.len() as u64 != reduced.n {
        return Some(vec![median(reduced)]);
    }
    let ended = ended.iter().map(|&ns| ns as f64);
    Some(ended.chain((0..reduced.censored).map(|_| f64::INFINITY)).collect())
}
