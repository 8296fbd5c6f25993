//! Faults on servers: their valid targets, and the parameters of a restart of all servers.

use std::collections::BTreeSet;

use hustings_record::numbers::whole;

use super::{add, within};
use crate::faults::{Fault, Restart};
use crate::scenario::error::Problem;
use crate::scenario::fault::{FaultSpec, TargetKind};
use crate::scenario::plan::SHORTEST_GAP;

const GAP_MAX_MS: u64 = 600_000;

/// Whether a fault's servers exist in an ensemble of `servers` servers, and whether they are valid targets for it.
pub(super) fn check(servers: u32, name: &str, fault: &FaultSpec, found: &mut Vec<Problem>) {
    let key = |field: &str| format!("faults.{name}.{field}");
    target(servers, name, fault, found);
    ids(servers, &key("servers"), &fault.servers, found);
    if let Fault::ServerRestartAll(restart) = &fault.fault {
        restart_all(servers, name, fault.every_ms, restart, found);
    }
}

fn target(servers: u32, name: &str, fault: &FaultSpec, found: &mut Vec<Problem>) {
    let key = |field: &str| format!("faults.{name}.{field}");
    let kind = fault.kind();
    let restart = matches!(fault.fault, Fault::ServerRestartAll(_));
    let partition = matches!(fault.fault, Fault::ServerPartition { .. });
    if let Some(target) = fault.target {
        let what = format!("`{}` has no meaning for {kind}", target.name());
        let remedy = match (kind.hits_servers(), target.is_of_servers()) {
            _ if restart => Some("leave it out: it hits all servers"),
            (true, false) => Some("choose ensemble-leader, ensemble-follower or servers"),
            (false, true) => Some("choose leaders, followers, host, host-leading-most or share"),
            _ => None,
        };
        if let Some(remedy) = remedy {
            add(found, &key("target"), what, remedy);
        }
    }
    match (fault.target == Some(TargetKind::Servers), fault.servers.is_empty()) {
        (true, true) => add(found, &key("servers"), "is missing", "name the ids of the servers, for example [1]"),
        // For partitions they are the servers that hosts are cut off from.
        (false, false) if kind.is_partition() => cut_off(servers, &key("servers"), &fault.servers, found),
        (false, false) => {
            add(
                found,
                &key("servers"),
                "has no meaning for this target",
                "use it with target = \"servers\", or with a partition",
            );
        }
        _ => {}
    }
    if !kind.hits_servers() {
        return;
    }
    for (field, given) in
        [("groups", fault.groups.is_some()), ("hosts", fault.hosts.is_some()), ("share", fault.share.is_some())]
    {
        if given {
            add(found, &key(field), format!("has no meaning for {kind}, which hits servers"), "leave it out");
        }
    }
    if partition && (1..=servers).all(|id| fault.servers.contains(&id)) {
        add(found, &key("servers"), "leaves no server to be cut off from", "leave one out at least");
    }
    if restart || servers >= 3 {
        return;
    }
    let few = format!("needs a leader and followers, and there is {servers} server");
    if partition {
        add(found, &key("kind"), few, "use ensemble.servers = 3 or 5");
    } else if fault.target != Some(TargetKind::Servers) {
        add(found, &key("target"), few, "use ensemble.servers = 3 or 5, or target = \"servers\"");
    }
}

/// A list of all servers is rejected: that is a full partition.
fn cut_off(servers: u32, key: &str, given: &[u32], found: &mut Vec<Problem>) {
    if (1..=servers).all(|id| given.contains(&id)) {
        add(found, key, "names all servers", "leave it out: hosts are cut off from all of them");
    }
}

/// Ids from 1 to the number of servers, none of them twice.
fn ids(servers: u32, key: &str, given: &[u32], found: &mut Vec<Problem>) {
    let mut seen = BTreeSet::new();
    for id in given {
        if !(1..=servers).contains(id) {
            add(found, key, format!("there is no server {id}"), format!("choose 1 to {servers}"));
        }
        if !seen.insert(id) {
            add(found, key, format!("server {id} is given twice"), "name each once");
        }
    }
}

fn restart_all(servers: u32, name: &str, every_ms: Option<u64>, restart: &Restart, found: &mut Vec<Problem>) {
    let key = |field: &str| format!("faults.{name}.{field}");
    ids(servers, &key("order"), &restart.order, found);
    ids(servers, &key("behind"), &restart.behind, found);
    if !restart.order.is_empty() && (1..=servers).any(|id| !restart.order.contains(&id)) {
        add(found, &key("order"), "does not name all servers", format!("name each of 1 to {servers} once"));
    }
    within(found, &key("gap_ms"), restart.gap_ms, 0, GAP_MAX_MS);
    let most = servers.saturating_sub(1) / 2;
    if restart.behind.len() as u64 > u64::from(most) {
        let remedy = if most == 0 { "leave it out".to_owned() } else { format!("name {most} at most") };
        add(found, &key("behind"), "leaves no quorum that could go on without them", remedy);
    }
    if restart.empty && !restart.behind.is_empty() {
        add(found, &key("behind"), "has no meaning where all data is removed", "leave it out, or empty");
    }
    let starts_ms = u64::from(servers.saturating_sub(1)).saturating_mul(restart.gap_ms);
    let least = whole((starts_ms as f64 / SHORTEST_GAP).ceil());
    if every_ms.is_some_and(|every| every < least) {
        let what = "hits again before all servers are started";
        add(found, &key("every_ms"), what, format!("use {least} at least, or a shorter gap_ms"));
    }
}
