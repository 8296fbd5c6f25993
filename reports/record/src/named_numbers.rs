//! The groups, hosts, candidates and servers that an event names by number.

use std::slice::from_ref;

use crate::event::Event;

/// Groups, hosts and candidates are numbered from 0, servers from 1.
#[derive(Default)]
pub(crate) struct NamedNumbers<'a> {
    pub(crate) groups: &'a [u32],
    pub(crate) hosts: &'a [u16],
    pub(crate) cands: &'a [u32],
    pub(crate) servers: Vec<u32>,
}

/// The numbers that an event names. All are given by the coordinator.
pub(crate) fn named(event: &Event) -> NamedNumbers<'_> {
    let nothing = NamedNumbers::default();
    match event {
        Event::Segment { host, .. } => NamedNumbers { hosts: host.as_slice(), ..nothing },
        Event::HostStarted { host, .. } | Event::HostEnded { host, .. } | Event::HostMemory { host, .. } => {
            NamedNumbers { hosts: from_ref(host), ..nothing }
        }
        Event::Candidate { cand, group, .. } => {
            NamedNumbers { groups: from_ref(group), cands: from_ref(cand), ..nothing }
        }
        Event::Incarnation { cand, .. }
        | Event::Joined { cand, .. }
        | Event::Created { cand, .. }
        | Event::Grant { cand, .. }
        | Event::Granted { cand, .. }
        | Event::Revoke { cand, .. }
        | Event::Notified { cand, .. }
        | Event::Settled { cand, .. }
        | Event::Left { cand, .. } => NamedNumbers { cands: from_ref(cand), ..nothing },
        Event::Fault(order) => NamedNumbers {
            groups: &order.groups,
            hosts: &order.hosts,
            cands: &order.cands,
            servers: order.servers.clone(),
        },
        Event::Write { group, cand, host, .. } => {
            NamedNumbers { groups: from_ref(group), hosts: from_ref(host), cands: from_ref(cand), ..nothing }
        }
        Event::Owner(owner) => NamedNumbers { groups: from_ref(&owner.group), ..nothing },
        Event::ObserverMissed { group, .. } => NamedNumbers { groups: group.as_slice(), ..nothing },
        Event::Servers { metrics, .. } => NamedNumbers { servers: metrics.keys().copied().collect(), ..nothing },
        Event::Holdings { servers, .. } => NamedNumbers { servers: servers.clone(), ..nothing },
        Event::ServerLoad { server, .. }
        | Event::ServerState { server, .. }
        | Event::ServerWait { server, .. }
        | Event::ServerWatched { server, .. }
        | Event::ServerLooks { server, .. }
        | Event::ServerLog { server, .. } => NamedNumbers { servers: vec![*server], ..nothing },
        Event::ObserverWeight(weight) => {
            NamedNumbers { servers: weight.counted.iter().map(|count| count.server).collect(), ..nothing }
        }
        // Notes and broken rules have the numbers that a program tells, and a refused fence has those of nobody.
        Event::Note { .. } | Event::Misbehaved { .. } | Event::Fence { .. } => nothing,
        Event::Stall { .. }
        | Event::Outage { .. }
        | Event::End { .. }
        | Event::Session { .. }
        | Event::State { .. }
        | Event::Program(_)
        | Event::Severed { .. }
        | Event::Unwitnessed { .. }
        | Event::Cell { .. }
        | Event::Phase { .. }
        | Event::FaultPlan { .. }
        | Event::FaultWithheld { .. }
        | Event::Verification(_)
        | Event::ServerWatch { .. }
        | Event::LogClock { .. }
        | Event::WriteProbe { .. }
        | Event::WriteGap { .. }
        | Event::WritesAcknowledged { .. }
        | Event::WriteProbed { .. }
        | Event::Floor { .. }
        | Event::FloorFailed { .. }
        | Event::ObserverState { .. }
        | Event::ObserverCount { .. } => nothing,
    }
}
