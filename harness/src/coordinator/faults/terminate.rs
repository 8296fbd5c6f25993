//! `terminate`: the host's process gets SIGTERM, as in a deployment, and is killed if it does not end in time. Healed
//! by restarting the host.

use std::rc::Rc;

use hustings_record::{Evidence, ORDER_AT_MOST, ProcessFate};
use hustings_workloads::driver::{InjectedFault, Remedy, Verification};
use hustings_workloads::plan::ResolvedTarget;

use crate::coordinator::live_cell::LiveCell;
use crate::process::clock;

pub(super) async fn inject(cell: &Rc<LiveCell>, hit: &ResolvedTarget) -> InjectedFault {
    let mut proof = Verification { verified: !hit.hosts.is_empty(), ..Verification::default() };
    let (mut seen, mut dead, mut fates, mut forced) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    // Read before any session closes: to the servers, a process that leaves its session behind has crashed.
    match cell.environment.touches(&hit.hosts).await {
        Ok(touches) => proof.touches = touches,
        Err(why) => seen.push(why),
    }
    // It takes effect from here on: the links may take long to answer.
    let from = clock::now();
    (proof.from, proof.to) = (from, from);
    // Deployments mostly grant a longer time before they kill; a candidate needs only to close its session.
    let terminate = |host: &u16| cell.hosts.terminate(*host, ORDER_AT_MOST);
    let ended = futures::future::join_all(hit.hosts.iter().map(terminate)).await;
    for (&host, ended) in hit.hosts.iter().zip(ended) {
        match ended {
            Ok((status, at, killed)) => {
                dead.push(host);
                fates.push((host, ProcessFate::Ended));
                forced.extend(killed.then_some(host));
                let ms = at.saturating_sub(from) / 1_000_000;
                let how = if killed { "had to be killed" } else { "ended" };
                seen.push(format!("host {host}: {how} after {ms} ms, {status}"));
                proof.to = proof.to.max(at);
            }
            Err(error) => {
                proof.verified = false;
                proof.to = clock::now();
                seen.push(format!("host {host}: {error:#}"));
            }
        }
    }
    proof.evidence = seen.join("; ");
    proof.seen = Some(Evidence::Processes { hosts: fates, killed: forced });
    InjectedFault { proof, remedy: Remedy::Restart(dead) }
}
