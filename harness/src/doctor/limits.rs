//! Limits of a process: descriptors and ports.

use hustings_record::words::count;
use rustix::process::{Resource, getrlimit};

use super::{CheckFinding, Context};
use crate::ensemble::local::count_free;
use crate::process::capacity::{Demand, Limits, PROCESS_DESCRIPTORS, SERVER_DESCRIPTORS, SessionPlacement};

/// As in the scenarios that ship with Hustings.
const HOSTS: u32 = 5;
const SERVERS: u32 = 3;
/// With fewer sessions, no useful measurement is possible.
const SESSIONS_NEEDED: u32 = 200;
const SESSIONS_OF_A_LARGE_RUN: u32 = 5_000;
/// Client, quorum and election ports of three servers.
const PORTS_NEEDED: u16 = 9;

pub(super) fn descriptors(_: &Context) -> CheckFinding {
    let limits = Limits::of_this_machine();
    let most = |links| {
        let demand = Demand {
            sessions: 0,
            hosts: HOSTS,
            servers: SERVERS,
            local_servers: true,
            links,
            tunnel: false,
            a_session: SessionPlacement::Direct,
        };
        demand.sessions_max(limits)
    };
    let limit = |n: Option<u64>| n.map_or("unlimited".to_owned(), count);
    let of_process = getrlimit(Resource::Nofile);
    let text = format!(
        "soft {}, hard {} a process; with {HOSTS} hosts and {SERVERS} local servers that allows {} candidates without \
         links and {} with (a host needs 1 a session + {PROCESS_DESCRIPTORS}, a proxy 2 a session of its hosts + {SERVERS} \
         ports a host + {PROCESS_DESCRIPTORS}, a server 1 a session + {SERVER_DESCRIPTORS}; {} ports to one destination)",
        limit(of_process.current),
        limit(of_process.maximum),
        count(most(false).into()),
        count(most(true).into()),
        count(limits.ports),
    );
    let remedy = "raise the hard limit (ulimit -Hn, LimitNOFILE= of a service, --ulimit nofile= of a container)";
    match most(true) {
        n if n < SESSIONS_NEEDED => CheckFinding::failed(text, remedy),
        n if n < SESSIONS_OF_A_LARGE_RUN => CheckFinding::warning(text, remedy),
        _ => CheckFinding::ok(text),
    }
}

pub(super) fn ports(_: &Context) -> CheckFinding {
    let (free, range) = count_free(PORTS_NEEDED * 4);
    let asked = PORTS_NEEDED * 4;
    let text = format!("{free} of {asked} ports tried between {} and {} are free", range.start, range.end);
    if range.is_empty() {
        let text = format!("no ports are left between {} and those of outgoing connections", range.start);
        return CheckFinding::warning(
            text,
            "raise the lower end of net.ipv4.ip_local_port_range, or servers may lose a port while they start",
        );
    }
    if free < usize::from(PORTS_NEEDED) {
        return CheckFinding::failed(
            text,
            "end what listens there, or raise the lower end of net.ipv4.ip_local_port_range",
        );
    }
    CheckFinding::ok(text)
}
