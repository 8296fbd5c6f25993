//! The axes of a scenario's matrix. The same keys select the cells of an expectation.

use hustings_record::{Fencing, FencingMethod, SessionUse, StepDown};
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{I64Deserializer, StrDeserializer};
use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

use crate::recipes::CandidateKind;

/// One value or a list of them.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(transparent)]
pub struct Axis<T>(pub Vec<T>);

impl<T: PartialEq> Axis<T> {
    pub(super) fn holds(axis: Option<&Self>, value: &T) -> bool {
        axis.is_none_or(|axis| axis.0.contains(value))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Axis<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrMany(PhantomData))
    }
}

struct OneOrMany<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrMany<T> {
    type Value = Axis<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or a list of values")
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Axis<T>, E> {
        Ok(Axis(vec![T::deserialize(StrDeserializer::new(value))?]))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Axis<T>, E> {
        Ok(Axis(vec![T::deserialize(I64Deserializer::new(value))?]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Axis<T>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        if values.is_empty() { Err(de::Error::custom("an empty list leaves no cell")) } else { Ok(Axis(values)) }
    }
}

/// `[matrix]`, and `when` of an expectation: the values of each dimension that may vary from cell to cell.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coordinates {
    /// Numbers of servers. Cells whose servers differ from the previous cell's run on their own ensemble.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub servers: Option<Axis<u32>>,
    /// ZooKeeper's ticks, in milliseconds; a change also needs another ensemble.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tick_ms: Option<Axis<u64>>,
    /// Recipes, and external programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<Axis<CandidateKind>>,
    /// Step-down policies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_down: Option<Axis<StepDown>>,
    /// Session timeouts asked for, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_timeout_ms: Option<Axis<u64>>,
    /// Numbers of groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<Axis<u32>>,
    /// Numbers of hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Axis<u16>>,
    /// Numbers of candidates a group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates_per_group: Option<Axis<u32>>,
    /// Intervals in which every leader writes, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_interval_ms: Option<Axis<u64>>,
    /// Names of faults; the matrix has all of them by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Axis<String>>,
    /// Ledgers of the resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<Axis<Fencing>>,
    /// How `lock-race` fences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fencing: Option<Axis<FencingMethod>>,
    /// Uses of sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<Axis<SessionUse>>,
}
