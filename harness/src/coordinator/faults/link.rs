//! Faults on links: `disconnect`, `partition` (both ways and each way) and `slow`, all over Toxiproxy's API.

use std::rc::Rc;
use std::time::Duration;

use hustings_record::Direction;
use hustings_record::numbers::nanos;
use hustings_workloads::driver::{Backend as _, Effect, InjectedFault, LinkFault, Remedy, Verification};
use hustings_workloads::faults::LinkSlowdown;
use hustings_workloads::plan::ResolvedTarget;

use crate::coordinator::live_cell::LiveCell;
use crate::links::{LinkError, LinkVerification, RunLinks};
use crate::process::clock;

pub(super) async fn disconnect(cell: &Rc<LiveCell>, hit: &ResolvedTarget) -> InjectedFault {
    on_links(cell, Remedy::None, async |links| links.disconnect(&hit.hosts).await).await
}

pub(super) async fn partition(
    cell: &Rc<LiveCell>,
    hit: &ResolvedTarget,
    direction: Direction,
    effect: &Effect,
) -> InjectedFault {
    let remedy = Remedy::Links(LinkFault::Partition, hit.hosts.clone());
    let begun = |times| effect.took(times, remedy.clone());
    let cut = async |links: &RunLinks| links.partition_from(&hit.hosts, &hit.servers, direction, begun).await;
    let mut injury = on_links(cell, remedy.clone(), cut).await;
    // If other servers remain reachable, sessions reconnect there: later touches cannot be ruled out.
    if cell.environment.links.is_none() || !hit.servers.is_empty() {
        return injury;
    }
    let proof = &mut injury.proof;
    match cell.environment.touches(&hit.hosts).await {
        Ok(touches) => proof.touches = touches,
        Err(why) => proof.evidence = format!("{}; {why}", proof.evidence),
    }
    injury
}

pub(super) async fn slow(
    cell: &Rc<LiveCell>,
    hit: &ResolvedTarget,
    how: &LinkSlowdown,
    effect: &Effect,
) -> InjectedFault {
    let remedy = Remedy::Links(LinkFault::Slow, hit.hosts.clone());
    let begun = |times| effect.took(times, remedy.clone());
    on_links(cell, remedy.clone(), async |links| links.slow_noting(&hit.hosts, how, begun).await).await
}

/// Runs `act` on the cell's links, if there are any.
async fn on_links(
    cell: &Rc<LiveCell>,
    remedy: Remedy,
    act: impl AsyncFnOnce(&RunLinks) -> Result<LinkVerification, LinkError>,
) -> InjectedFault {
    let Some(links) = &cell.environment.links else {
        let evidence = "this cell has no links to act on".to_owned();
        return InjectedFault { proof: Verification { evidence, ..Verification::default() }, remedy: Remedy::None };
    };
    let from = clock::now();
    let acted = act(links).await;
    // What is there is of another fault, and is not this one's to heal.
    let remedy = if matches!(acted, Err(LinkError::AlreadyThere { .. })) { Remedy::None } else { remedy };
    InjectedFault { proof: proof_of(acted, from), remedy }
}

/// Waits at most `for_ms` for a reply to lose.
pub(super) async fn lose_replies(cell: &Rc<LiveCell>, hit: &ResolvedTarget, for_ms: u64) -> InjectedFault {
    let until = clock::now() + for_ms * 1_000_000;
    let goes_on = async |wait: Duration| {
        let at = (clock::now() + nanos(wait)).min(until);
        cell.goes_on_until(at).await && clock::now() < until
    };
    let remedy = Remedy::Links(LinkFault::LostReply, hit.hosts.clone());
    on_links(cell, remedy, async |links| links.lose_replies(&hit.hosts, goes_on).await).await
}

pub(super) async fn heal(cell: &Rc<LiveCell>, fault: LinkFault, hosts: &[u16]) -> Verification {
    let from = clock::now();
    match &cell.environment.links {
        Some(links) => proof_of(links.heal_fault(hosts, fault).await, from),
        None => Verification::default(),
    }
}

fn proof_of(verification: Result<LinkVerification, LinkError>, from: u64) -> Verification {
    match verification {
        Ok(LinkVerification { from, to, verified, evidence, seen }) => {
            Verification { from, to, verified, evidence, seen: Some(seen), ..Verification::default() }
        }
        Err(error) => Verification { from, to: clock::now(), evidence: error.to_string(), ..Verification::default() },
    }
}
