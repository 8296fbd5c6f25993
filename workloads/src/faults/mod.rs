//! Faults as typed data: each kind with exactly the parameters that it takes, their units in their names.

mod duration;
mod moment;
mod restart;
mod slow;
mod step;

use std::fmt;

use hustings_record::FaultKind;
use serde::{Deserialize, Serialize};

pub use self::duration::{FaultDuration, Ms};
pub use self::moment::Moment;
pub use self::restart::Restart;
pub use self::slow::LinkSlowdown;
pub use self::step::ClockStep;

/// What becomes of a duration in a row below.
macro_rules! mapped {
    (Must, $lasts:ident, $must:ident, $may:ident) => {
        $must($lasts)
    };
    (May, $lasts:ident, $must:ident, $may:ident) => {
        $may($lasts)
    };
}

/// Defines the faults. A row is a kind with its duration (`Must` if it is required, `May` if it is optional) and its
/// other parameters. A fault without a duration may consist of its parameters.
macro_rules! faults {
    ($(
        $(#[$note:meta])*
        $kind:ident $({ lasts: $lasts:ident $(, $how:ident: $parameters:ident)? })? $(($alone:ident: $whole:ident))?
    ),+ $(,)?) => {
        /// A fault with its parameters. Durations in a plan are in milliseconds; for a scenario see [`ScenarioFault`]. If
        /// an optional duration is absent, a control has the default duration, and a killed host or server stays down.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        pub enum Fault<Must = Ms, May = Option<Ms>> {
            $(
                $(#[$note])*
                $kind
                $({
                    #[serde(flatten)]
                    lasts: $lasts,
                    $(
                        #[serde(flatten)]
                        $how: $parameters,
                    )?
                })?
                $(($whole))?,
            )+
        }

        impl<Must, May> Fault<Must, May> {
            /// Its kind.
            #[must_use]
            pub fn kind(&self) -> FaultKind {
                match self { $(Self::$kind { .. } => FaultKind::$kind),+ }
            }

            /// Its parameters besides the duration, in words; `None` for kinds that have none.
            #[must_use]
            pub fn parameters(&self) -> Option<&dyn fmt::Display> {
                $(
                    $($(if let Self::$kind { $how, .. } = self {
                        return Some($how);
                    })?)?
                    $(if let Self::$kind($alone) = self {
                        return Some($alone);
                    })?
                )+
                None
            }

            /// The same fault with other durations: `must` maps required ones, `may` optional ones.
            fn lasting<A, B>(&self, must: impl Fn(&Must) -> A, may: impl Fn(&May) -> B) -> Fault<A, B> {
                match self {
                    $(
                        Self::$kind $({ lasts $(, $how)? })? $(($alone))? => Fault::$kind
                            $({ lasts: mapped!($lasts, lasts, must, may) $(, $how: $how.clone())? })?
                            $(($alone.clone()))?,
                    )+
                }
            }

            /// Its duration, required or optional; `None` for kinds that have none.
            fn lasts<'a, T>(&'a self, must: impl Fn(&'a Must) -> T, may: impl Fn(&'a May) -> T) -> Option<T> {
                $($(if let Self::$kind { lasts, .. } = self {
                    return Some(mapped!($lasts, lasts, must, may));
                })?)+
                None
            }
        }
    };
}

faults! {
    None { lasts: May },
    Resign,
    Crash { lasts: May },
    Terminate { lasts: May },
    Expire,
    ParentDelete,
    Disconnect,
    /// Acts on the next create on each link; it waits this long at most.
    LostReply { lasts: Must },
    Partition { lasts: Must },
    PartitionUp { lasts: Must },
    PartitionDown { lasts: Must },
    Slow { lasts: Must, how: LinkSlowdown },
    Pause { lasts: Must },
    Hang { lasts: Must },
    ClockStep { lasts: Must, how: ClockStep },
    ServerKill { lasts: May },
    ServerPause { lasts: Must },
    ServerPartition { lasts: Must },
    ServerRestartAll(restart: Restart),
}

/// A fault as a scenario gives it: durations are in milliseconds or in multiples of T. They may be missing in a
/// scenario that has not been validated.
pub type ScenarioFault = Fault<FaultDuration, FaultDuration>;

impl ScenarioFault {
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
