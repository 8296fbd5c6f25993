//! Durations: the service times of servers, network and clients. Each item waits for those served before it, so that
//! the costs of herds and bursts arise by themselves.

use serde::{Deserialize, Serialize};

use crate::model::{Code, Micros, Response};

/// Service times, each in microseconds unless its name says otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Timing {
    /// Processor cores that all servers and hosts share; 0: each has its own.
    pub cores: u64,
    /// The least time one way from a host to a server.
    pub link_us: Micros,
    /// The most that is added to it, uniformly distributed; messages of one connection stay in order.
    pub link_jitter_us: Micros,
    /// One way between servers.
    pub between_servers_us: Micros,
    /// A server's time for a new connection's first request.
    pub connect_us: Micros,
    /// A server's time for a ping.
    pub ping_us: Micros,
    /// A server's time for a read.
    pub read_us: Micros,
    /// For each child in an answer, in nanoseconds: a server's time to list it, and then a host's to read it.
    pub child_ns: u64,
    /// A server's time to receive a write or to forward it.
    pub write_us: Micros,
    /// The leader's time to order a write.
    pub order_us: Micros,
    /// From the order of a write to its commit: the quorum's logs.
    pub commit_us: Micros,
    /// A follower's time to apply a committed write.
    pub apply_us: Micros,
    /// A server's time for each notification, one after the other.
    pub notify_us: Micros,
    /// A host's time for each received message.
    pub client_us: Micros,
    /// From the waking of a stopped process until its client checks its state, on average: its own timers fire before.
    pub waking_us: Micros,
    /// One way from a host to the resource.
    pub resource_us: Micros,
}

impl Default for Timing {
    /// Roughly the times of three servers on one machine.
    fn default() -> Self {
        Self {
            cores: 0,
            link_us: 60,
            link_jitter_us: 40,
            between_servers_us: 60,
            connect_us: 100,
            ping_us: 10,
            read_us: 30,
            child_ns: 200,
            write_us: 40,
            order_us: 40,
            commit_us: 300,
            apply_us: 20,
            notify_us: 10,
            client_us: 20,
            waking_us: 12_000,
            resource_us: 60,
        }
    }
}

impl Timing {
    /// The time that an answer takes a server, and then a host, beyond that of every answer.
    pub(super) fn listing_us(&self, answer: &Result<Response, Code>) -> Micros {
        match answer {
            Ok(Response::Children { names, .. }) => names.len() as u64 * self.child_ns / 1_000,
            _ => 0,
        }
    }
}
