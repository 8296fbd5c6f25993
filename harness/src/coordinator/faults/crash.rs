//! `crash`: the host's process is killed; its sessions expire. Healed by restarting the host.

use std::rc::Rc;

use hustings_record::{Evidence, Nanos, ProcessFate};
use hustings_workloads::driver::{Effect, InjectedFault, Remedy, Verification};
use hustings_workloads::plan::ResolvedTarget;

use crate::coordinator::cell_hosts::KilledProcess;
use crate::coordinator::live_cell::LiveCell;
use crate::process::clock;
use crate::process::procfs::fate_of;

pub(super) async fn inject(cell: &Rc<LiveCell>, hit: &ResolvedTarget, effect: &Effect) -> InjectedFault {
    let from = clock::now();
    // All signals are sent before the first end is waited for.
    let killed = futures::future::join_all(hit.hosts.iter().map(|&host| cell.hosts.kill(host))).await;
    let (mut proof, dead) = proof_of(from, &hit.hosts, killed);
    effect.seen(proof.clone(), Remedy::Restart(dead.clone()));
    match cell.environment.touches(&hit.hosts).await {
        Ok(touches) => proof.touches = touches,
        Err(why) => proof.evidence = format!("{}; {why}", proof.evidence),
    }
    InjectedFault { proof, remedy: Remedy::Restart(dead) }
}

/// What kills from `from` on show, host by host, and the hosts whose processes have ended.
fn proof_of(from: Nanos, hosts: &[u16], killed: Vec<anyhow::Result<KilledProcess>>) -> (Verification, Vec<u16>) {
    let mut proof = Verification { from, to: from, verified: !hosts.is_empty(), ..Verification::default() };
    let (mut seen, mut dead, mut fates) = (Vec::new(), Vec::new(), Vec::new());
    for (&host, killed) in hosts.iter().zip(killed) {
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
    (proof, dead)
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

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::ExitStatus;

    use super::*;

    const KILLED: i32 = 9;
    const RETURNED: i32 = 0;

    #[test]
    fn a_crash_of_a_process_that_had_ended_by_itself_before_is_not_verified() {
        let proof = |acted: bool, status: i32| {
            let other = KilledProcess::of(true, (ExitStatus::from_raw(KILLED), 6));
            let killed = KilledProcess::of(acted, (ExitStatus::from_raw(status), 7));
            let (proof, dead) = proof_of(5, &[3, 4], vec![Ok(other), Ok(killed)]);
            assert_eq!((proof.from, proof.to, dead), (5, 7, vec![3, 4]), "both are started again");
            let is_named = proof.evidence.contains("host 4: ended by itself before the signal");
            assert_eq!(is_named, !proof.verified, "{}", proof.evidence);
            proof.verified
        };
        assert!(proof(true, KILLED));
        assert!(!proof(true, RETURNED), "the host itself had ended");
        assert!(!proof(false, KILLED), "its program had ended, and the host beside it had not");
    }
}
