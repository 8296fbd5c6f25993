//! The toxics that implement link faults. Only this file uses Toxiproxy's names for directions.

use std::collections::BTreeMap;
use std::fmt;

use hustings_record::Direction;
use hustings_workloads::driver::LinkFault;
use hustings_workloads::faults::LinkSlowdown;

/// Toxics of a proxy, by name.
pub(super) type Toxics = BTreeMap<String, Toxic>;

/// A toxic as requested or as read back, at toxicity 1.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Toxic {
    pub(super) kind: String,
    pub(super) stream: &'static str,
    pub(super) attributes: BTreeMap<String, u32>,
}

impl Toxic {
    pub(super) fn new(kind: &str, stream: &'static str, attributes: &[(&str, u32)]) -> Self {
        let attributes = attributes.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        Self { kind: kind.to_owned(), stream, attributes }
    }

    /// The name that toxiproxy_rust gives it.
    pub(super) fn name(&self) -> String {
        format!("{}_{}", self.kind, self.stream)
    }

    /// Whether a link that bears it may answer late, or not at all.
    pub(super) fn delays_answers(&self) -> bool {
        self.kind != LOSE_REPLY
    }

    pub(super) fn attribute(&self, name: &str) -> u32 {
        self.attributes.get(name).copied().unwrap_or(0)
    }
}

impl fmt::Display for Toxic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.stream, self.kind)?;
        self.attributes.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

/// Toxiproxy's names of the directions.
pub(super) fn streams(direction: Direction) -> &'static [&'static str] {
    match direction {
        Direction::Both => &["upstream", "downstream"],
        Direction::Up => &["upstream"],
        Direction::Down => &["downstream"],
    }
}

/// For the text of verifications.
pub(super) fn spelled(direction: Direction) -> &'static str {
    match direction {
        Direction::Both => "both ways",
        Direction::Up => "host to server",
        Direction::Down => "server to host",
    }
}

/// The type of the toxic that loses answers.
pub(super) const LOSE_REPLY: &str = "lose_reply";

/// The toxics that may implement a fault, without their attributes. No toxic implements two faults.
pub(super) fn of_fault(fault: LinkFault) -> Vec<Toxic> {
    let kinds: &[&str] = match fault {
        LinkFault::Partition => &["hold", "timeout"],
        LinkFault::Slow => &["latency", "bandwidth"],
        LinkFault::LostReply => &[LOSE_REPLY],
    };
    let streams = streams(Direction::Both);
    kinds.iter().flat_map(|kind| streams.iter().map(move |stream| Toxic::new(kind, stream, &[]))).collect()
}

/// Each direction has its own toxics. Latency comes before bandwidth in the chain, so that both delays add up.
pub(super) fn slow(how: &LinkSlowdown) -> Vec<Toxic> {
    let mut toxics = Vec::new();
    for stream in streams(how.direction) {
        if how.latency_ms > 0 || how.jitter_ms > 0 {
            let attributes = [("latency", narrow(how.latency_ms)), ("jitter", narrow(how.jitter_ms))];
            toxics.push(Toxic::new("latency", stream, &attributes));
        }
        if let Some(rate) = toxiproxy_rate(how) {
            toxics.push(Toxic::new("bandwidth", stream, &[("rate", rate)]));
        }
    }
    toxics
}

/// The rate in Toxiproxy's KB/s of 1,000 bytes each (its `bandwidth` counts bytes per millisecond). Toxiproxy accepts
/// integers only, so the result is off by at most 2.4 %.
pub(super) fn toxiproxy_rate(how: &LinkSlowdown) -> Option<u32> {
    how.bytes_a_second().map(|rate| narrow((rate + 500) / 1_000).max(1))
}

/// Toxiproxy's attributes are 32-bit numbers. Scenario validation keeps values far below the limit.
fn narrow(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_what_was_asked_for_within_what_whole_numbers_allow() {
        for kib in (1..3_000).chain([1_000_000, 10_000_000]) {
            let how = LinkSlowdown { rate_kb: Some(kib), ..LinkSlowdown::default() };
            let (asked, got) = (kib as f64 * 1_024.0, f64::from(toxiproxy_rate(&how).unwrap()) * 1_000.0);
            assert!((got / asked - 1.0).abs() <= 0.024, "{kib} KiB/s became {got} B/s");
        }
    }
}
