//! Faults as typed data: each kind with exactly the parameters that it takes, their units in their names.

mod duration;
mod moment;
mod restart;
mod slow;
mod step;

use hustings_record::FaultKind;
use serde::{Deserialize, Serialize};

pub use self::duration::{FaultDuration, Ms};
pub use self::moment::Moment;
pub use self::restart::Restart;
pub use self::slow::Slow;
pub use self::step::ClockStep;

/// A fault with its parameters. Durations in a plan are in milliseconds; for a scenario see [`ToldFault`]. If an
/// optional duration is absent, a control has the default duration, and a killed host or server stays down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Fault<Must = Ms, May = Option<Ms>> {
    None {
        #[serde(flatten)]
        lasts: May,
    },
    Resign,
    Crash {
        #[serde(flatten)]
        lasts: May,
    },
    Terminate {
        #[serde(flatten)]
        lasts: May,
    },
    Expire,
    ParentDelete,
    Disconnect,
    /// Acts on the next create on each link; it waits this long at most.
    LostReply {
        #[serde(flatten)]
        lasts: Must,
    },
    Partition {
        #[serde(flatten)]
        lasts: Must,
    },
    PartitionUp {
        #[serde(flatten)]
        lasts: Must,
    },
    PartitionDown {
        #[serde(flatten)]
        lasts: Must,
    },
    Slow {
        #[serde(flatten)]
        lasts: Must,
        #[serde(flatten)]
        how: Slow,
    },
    Pause {
        #[serde(flatten)]
        lasts: Must,
    },
    Hang {
        #[serde(flatten)]
        lasts: Must,
    },
    ClockStep {
        #[serde(flatten)]
        lasts: Must,
        #[serde(flatten)]
        how: ClockStep,
    },
    ServerKill {
        #[serde(flatten)]
        lasts: May,
    },
    ServerPause {
        #[serde(flatten)]
        lasts: Must,
    },
    ServerPartition {
        #[serde(flatten)]
        lasts: Must,
    },
    ServerRestartAll(Restart),
}

/// A fault as a scenario gives it: durations are in milliseconds or in multiples of T. They may be missing in a
/// scenario that has not been validated.
pub type ToldFault = Fault<FaultDuration, FaultDuration>;

impl<Must, May> Fault<Must, May> {
    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> FaultKind {
        match self {
            Self::None { .. } => FaultKind::None,
            Self::Resign => FaultKind::Resign,
            Self::Crash { .. } => FaultKind::Crash,
            Self::Terminate { .. } => FaultKind::Terminate,
            Self::Hang { .. } => FaultKind::Hang,
            Self::ClockStep { .. } => FaultKind::ClockStep,
            Self::Expire => FaultKind::Expire,
            Self::ParentDelete => FaultKind::ParentDelete,
            Self::Disconnect => FaultKind::Disconnect,
            Self::LostReply { .. } => FaultKind::LostReply,
            Self::Partition { .. } => FaultKind::Partition,
            Self::PartitionUp { .. } => FaultKind::PartitionUp,
            Self::PartitionDown { .. } => FaultKind::PartitionDown,
            Self::Slow { .. } => FaultKind::Slow,
            Self::Pause { .. } => FaultKind::Pause,
            Self::ServerKill { .. } => FaultKind::ServerKill,
            Self::ServerPause { .. } => FaultKind::ServerPause,
            Self::ServerPartition { .. } => FaultKind::ServerPartition,
            Self::ServerRestartAll(_) => FaultKind::ServerRestartAll,
        }
    }

    /// The same fault with other durations: `must` maps required ones, `may` optional ones.
    fn lasting<A, B>(&self, must: impl Fn(&Must) -> A, may: impl Fn(&May) -> B) -> Fault<A, B> {
        match self {
            Self::None { lasts } => Fault::None { lasts: may(lasts) },
            Self::Resign => Fault::Resign,
            Self::Crash { lasts } => Fault::Crash { lasts: may(lasts) },
            Self::Terminate { lasts } => Fault::Terminate { lasts: may(lasts) },
            Self::Hang { lasts } => Fault::Hang { lasts: must(lasts) },
            Self::ClockStep { lasts, how } => Fault::ClockStep { lasts: must(lasts), how: how.clone() },
            Self::Expire => Fault::Expire,
            Self::ParentDelete => Fault::ParentDelete,
            Self::Disconnect => Fault::Disconnect,
            Self::LostReply { lasts } => Fault::LostReply { lasts: must(lasts) },
            Self::Partition { lasts } => Fault::Partition { lasts: must(lasts) },
            Self::PartitionUp { lasts } => Fault::PartitionUp { lasts: must(lasts) },
            Self::PartitionDown { lasts } => Fault::PartitionDown { lasts: must(lasts) },
            Self::Slow { lasts, how } => Fault::Slow { lasts: must(lasts), how: how.clone() },
            Self::Pause { lasts } => Fault::Pause { lasts: must(lasts) },
            Self::ServerKill { lasts } => Fault::ServerKill { lasts: may(lasts) },
            Self::ServerPause { lasts } => Fault::ServerPause { lasts: must(lasts) },
            Self::ServerPartition { lasts } => Fault::ServerPartition { lasts: must(lasts) },
            Self::ServerRestartAll(restart) => Fault::ServerRestartAll(restart.clone()),
        }
    }

    /// Its duration, required or optional; `None` for kinds that have none.
    fn lasts<'a, T>(&'a self, must: impl Fn(&'a Must) -> T, may: impl Fn(&'a May) -> T) -> Option<T> {
        match self {
            Self::Resign | Self::Expire | Self::ParentDelete | Self::Disconnect | Self::ServerRestartAll(_) => None,
            Self::None { lasts } | Self::Crash { lasts } | Self::Terminate { lasts } | Self::ServerKill { lasts } => {
                Some(may(lasts))
            }
            Self::LostReply { lasts }
            | Self::Partition { lasts }
            | Self::PartitionUp { lasts }
            | Self::PartitionDown { lasts }
            | Self::Slow { lasts, .. }
            | Self::Pause { lasts }
            | Self::Hang { lasts }
            | Self::ClockStep { lasts, .. }
            | Self::ServerPause { lasts }
            | Self::ServerPartition { lasts } => Some(must(lasts)),
        }
    }
}

impl ToldFault {
    /// This fault under a session timeout, on an ensemble of this many servers.
    #[must_use]
    pub fn resolved(&self, timeout_ms: u64, servers: u32) -> Fault {
        // A validated scenario gives every required duration.
        let must = |told: &FaultDuration| told.ms(timeout_ms).unwrap_or(Ms { for_ms: 0 });
        let mut fault = self.lasting(must, |told| told.ms(timeout_ms));
        if let Fault::None { lasts } = &mut fault {
            lasts.get_or_insert(duration::CONTROL);
        }
        if let Fault::ServerRestartAll(restart) = &mut fault {
            restart.resolve(servers);
        }
        fault
    }

    /// Its duration; `None` for kinds that have none.
    #[must_use]
    pub fn told(&self) -> Option<&FaultDuration> {
        self.lasts(|told| told, |told| told)
    }
}

impl Fault {
    /// How long it lasts, in milliseconds. `None`: it is instantaneous, or permanent (a crash, a killed server), or
    /// over when it is done (a restart of all servers).
    #[must_use]
    pub fn for_ms(&self) -> Option<u64> {
        self.lasts(|ms| Some(ms.for_ms), |ms| ms.map(|ms| ms.for_ms)).flatten()
    }
}
