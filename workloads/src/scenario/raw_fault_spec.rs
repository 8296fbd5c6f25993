//! `[faults.<name>]` as it is written: one table with the keys of every kind, so that an unknown key is rejected where
//! it is written. The typed fault of a kind takes its keys. The others are passed on, to be rejected with the correct
//! alternative.

use hustings_record::{Direction, FaultKind};
use serde::{Deserialize, Deserializer, Serialize, de};
use toml::Table;

use super::fault::{FaultSpec, TargetKind};
use crate::faults::{Moment, ScenarioFault};

/// Every key that a fault can have, whatever its kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFaultSpec {
    /// What is done.
    kind: FaultKind,
    /// Whom it hits. Without it: `leaders` for resign and expire, `ensemble-leader` for faults on servers,
    /// `host-leading-most` for the others.
    target: Option<TargetKind>,
    /// For the targets `leaders` and `followers`: in how many groups, 1 unless told.
    groups: Option<u32>,
    /// For the targets `host` and `host-leading-most`: how many hosts, 1 unless told.
    hosts: Option<u16>,
    /// For the target `share`: how much of all, above 0 and at most 1.
    share: Option<f64>,
    /// How often it is done in the cell.
    #[serde(default = "one")]
    repeat: u32,
    /// From one to the next, in milliseconds, give or take 20 %. Without it: as long as one lasts and a handover may take.
    /// Faults that take hosts out are at least as far apart as they last and as the session timeout needs.
    every_ms: Option<u64>,
    /// How long it lasts, in milliseconds.
    for_ms: Option<u64>,
    /// How long it lasts, in multiples of the session timeout T.
    for_t: Option<f64>,
    /// For `slow`: latency added each way, in milliseconds.
    latency_ms: Option<u64>,
    /// For `slow`: the latency is off by up to this much either way, in milliseconds.
    jitter_ms: Option<u64>,
    /// For `slow`: bandwidth of a connection each way, in KiB (1,024 bytes) a second.
    rate_kb: Option<u64>,
    /// For `slow`: which way, if not both.
    direction: Option<Direction>,
    /// For `clock-step`: by how much the wall clock jumps, in milliseconds; below 0 it is set back.
    step_ms: Option<i64>,
    /// Allows it to take more than a minority of the hosts, or of the servers, out at a time. A restart of all servers needs
    /// no leave: it gives them back.
    #[serde(default)]
    allow_majority: bool,
    /// For the target `servers`: their ids, from 1. For partitions: the servers that hosts are cut off from; all without it.
    #[serde(default)]
    servers: Vec<u32>,
    /// For `server-restart-all`: the ids of all servers in the order in which they are started; ascending without it.
    order: Option<Vec<u32>>,
    /// For `server-restart-all`: from one start to the next, in milliseconds; all at once without it.
    gap_ms: Option<u64>,
    /// For `server-restart-all`: their data is removed while they are down. Only in cells without candidates.
    empty: Option<bool>,
    /// For `server-restart-all`: ids of servers that are killed first, while the others go on with some writes, and so lag
    /// behind.
    behind: Option<Vec<u32>>,
    /// For faults on hosts that last or kill: when they hit, once their time has come.
    #[serde(default, skip_serializing_if = "Moment::is_planned")]
    moment: Moment,
    /// Name of another fault that is injected each time this one does, whatever its own `repeat` and `every_ms` say.
    with: Option<String>,
    /// How long after this one the other injections, in milliseconds.
    with_after_ms: Option<u64>,
}

fn one() -> u32 {
    1
}

impl<'de> Deserialize<'de> for FaultSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        RawFaultSpec::deserialize(deserializer)?.try_into().map_err(de::Error::custom)
    }
}

impl TryFrom<RawFaultSpec> for FaultSpec {
    type Error = String;

    fn try_from(draft: RawFaultSpec) -> Result<Self, Self::Error> {
        // Keys without a value are omitted from the table, and each kind takes its own keys from it.
        let given = Table::try_from(&draft).map_err(|error| error.to_string())?;
        let fault: ScenarioFault =
            given.clone().try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
        let mut spec = Self {
            target: draft.target,
            groups: draft.groups,
            hosts: draft.hosts,
            share: draft.share,
            repeat: draft.repeat,
            every_ms: draft.every_ms,
            allow_majority: draft.allow_majority,
            servers: draft.servers,
            moment: draft.moment,
            with: draft.with,
            with_after_ms: draft.with_after_ms,
            ..Self::of(fault)
        };
        let taken = Table::try_from(&spec).map_err(|error| error.to_string())?;
        let shared = |key: &str| key == "servers";
        spec.misplaced =
            given.into_iter().map(|(key, _)| key).filter(|key| !taken.contains_key(key) && !shared(key)).collect();
        Ok(spec)
    }
}

/// Every key that some kind takes.
const KEYS: &str = "for_ms = 1\nfor_t = 1.0\nlatency_ms = 1\njitter_ms = 1\nrate_kb = 1\ndirection = \"both\"\n\
                    step_ms = 1\norder = []\ngap_ms = 1\nempty = true\nbehind = []\n";

/// The kinds that take this key: those that do not report it as misplaced.
pub(super) fn kinds_taking(key: &String) -> impl Iterator<Item = FaultKind> {
    let full = |kind: FaultKind| toml::from_str::<FaultSpec>(&format!("kind = \"{kind}\"\n{KEYS}"));
    let takes = move |kind: FaultKind| full(kind).is_ok_and(|spec| !spec.misplaced.contains(key));
    FaultKind::ALL.iter().copied().filter(move |kind| takes(*kind))
}

#[cfg(test)]
mod tests {
    use hustings_record::FaultKind;

    use super::{FaultSpec, KEYS};

    #[test]
    fn every_kind_of_fault_can_be_written_and_is_what_it_is_called() {
        for kind in FaultKind::ALL {
            let spec: FaultSpec = toml::from_str(&format!("kind = \"{kind}\"\n{KEYS}")).expect("a fault");
            assert_eq!(spec.kind(), *kind);
        }
    }
}
