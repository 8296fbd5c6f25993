//! `crash`: the host's process is killed; its sessions expire. Healed by restarting the host.

use std::rc::Rc;

use hustings_record::{Evidence, ProcessFate};
use hustings_workloads::driver::{Effect, InjectedFault, Remedy, Verification};
use hustings_workloads::plan::ResolvedTarget;

use crate::coordinator::cell_hosts::KilledProcess;
use crate::coordinator::live_cell::LiveCell;
use crate::process::clock;
use crate::process::procfs::fate_of;

pub(super) async fn inject(cell: &Rc<LiveCell>, hit: &ResolvedTarget, effect: &Effect) -> InjectedFault {
    let from = clock::now();
    let mut proof = Verification { from, to: from, verified: !hit.hosts.is_empty(), ..Verification::default() };
    let (mut seen, mut dead, mut fates) = (Vec::new(), Vec::new(), Vec::new());
    // All signals are sent before the first end is waited for.
    let killed = futures::future::join_all(hit.hosts.iter().map(|&host| cell.hosts.kill(host))).await;
    for (&host, killed) in hit.hosts.iter().zip(killed) {
        match killed {
            Ok(KilledProcess { status, delivered, by_signal }) => {
                proof.to = proof.to.max(delivered);
                proof.verified &= by_signal;
                dead.push(host);
                fates.push((host, ProcessFate::Ended));
                let how = if by_signal { "" } else { "ended by itself before the signal, " };
                seen.push(format!("host {host}: {how}{status}"));
            }
            Err(error) => {
                // The process may still run.
                proof.to = clock::now();
                proof.verified = false;
                seen.push(format!("host {host}: {error:#}"));
            }
        }
    }
    proof.evidence = seen.join("; ");
    proof.seen = Some(Evidence::of_processes(fates));
    effect.seen(proof.clone(), Remedy::Restart(dead.clone()));
    match cell.environment.touches(&hit.hosts).await {
        Ok(touches) => proof.touches = touches,
        Err(why) => proof.evidence = format!("{}; {why}", proof.evidence),
    }
    InjectedFault { proof, remedy: Remedy::Restart(dead) }
}

pub(super) async fn heal(cell: &Rc<LiveCell>, hosts: &[u16]) -> Verification {
    let from = clock::now();
    let mut proof = Verification { from, to: from, verified: true, ..Verification::default() };
    match cell.hosts.restart(hosts).await {
        Ok(pids) => {
            proof.evidence = format!("started again as {pids:?}");
            let fate = |&host: &u16| (host, fate_of(cell.hosts.pid(host)));
            proof.seen = Some(Evidence::of_processes(hosts.iter().map(fate).collect()));
        }
        Err(error) => {
            proof.verified = false;
            proof.evidence = format!("{error:#}");
        }
    }
    proof.to = clock::now();
    proof
}
