//! `crash`: the host's process is killed; its sessions are left to expire. Healed by starting the host again.

use std::rc::Rc;

use hustings_workloads::driver::{Injury, Proof, Remedy};
use hustings_workloads::plan::Hit;

use crate::clock;
use crate::coordinator::live_cell::LiveCell;

pub(super) async fn inject(cell: &Rc<LiveCell>, hit: &Hit) -> Injury {
    let from = clock::now();
    let mut proof = Proof { from, to: from, verified: !hit.hosts.is_empty(), ..Proof::default() };
    let (mut seen, mut dead) = (Vec::new(), Vec::new());
    for &host in &hit.hosts {
        match cell.kill(host).await {
            Ok(status) => {
                dead.push(host);
                seen.push(format!("host {host}: {status}"));
            }
            Err(error) => {
                proof.verified = false;
                seen.push(format!("host {host}: {error:#}"));
            }
        }
    }
    proof.to = clock::now();
    match cell.touches(&hit.hosts).await {
        Ok(touches) => proof.touches = touches,
        Err(why) => seen.push(why),
    }
    proof.evidence = seen.join("; ");
    Injury { proof, remedy: Remedy::Restart(dead) }
}

pub(super) async fn heal(cell: &Rc<LiveCell>, hosts: &[u16]) -> Proof {
    let from = clock::now();
    let mut proof = Proof { from, to: from, verified: true, ..Proof::default() };
    match cell.restart(hosts).await {
        Ok(pids) => proof.evidence = format!("started again as {pids:?}"),
        Err(error) => {
            proof.verified = false;
            proof.evidence = format!("{error:#}");
        }
    }
    proof.to = clock::now();
    proof
}
