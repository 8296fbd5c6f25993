//! The compared measures: each injection has one value of each. More is worse in all of them.

use serde::{Deserialize, Serialize};

use crate::check::injections::{InjectionCost, KaplanMeier};

/// A figure of an injection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    Failover,
    UntilWrite,
    Slow,
    Censored,
    Woken,
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
    pub const ALL: [Self; 5] = [Self::Failover, Self::UntilWrite, Self::Slow, Self::Censored, Self::Woken];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Failover => "failover",
            Self::UntilWrite => "until-write",
            Self::Slow => "slow",
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
                "share of injections whose failover took more than twice what nine tenths of the quicker side's take"
            }
            Self::Censored => "share of the lost leads that had no new leader before the end",
            Self::Woken => "candidates that the loss of a lead woke, the median of the injection's leads",
        }
    }

    #[must_use]
    pub fn unit(self) -> Unit {
        match self {
            Self::Failover | Self::UntilWrite => Unit::Nanoseconds,
            Self::Slow | Self::Censored => Unit::Share,
            Self::Woken => Unit::Count,
        }
    }

    /// Its value in an injection: infinite where censoring hides it, None without one. For *slow* it is the failover,
    /// since slowness depends on the other values.
    pub(super) fn value(self, injection: &InjectionCost) -> Option<f64> {
        let median = |reduced: &KaplanMeier| reduced.p50.map_or(f64::INFINITY, |ns| ns as f64);
        match self {
            Self::Failover | Self::Slow => injection.failover.as_ref().map(median),
            Self::UntilWrite => injection.until_write.as_ref().map(median),
            Self::Censored => (injection.lost > 0).then(|| injection.censored as f64 / injection.lost as f64),
            Self::Woken => injection.woken.map(|woken| woken as f64),
        }
    }
}
