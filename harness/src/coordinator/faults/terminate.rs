//! `terminate`: the host's process is sent SIGTERM, as a deployment ends it, and killed when it has not gone in time. Healed by
//! starting the host again.

use std::rc::Rc;
use std::time::Duration;

use hustings_record::{Evidence, ProcessFate};
use hustings_workloads::driver::{Injury, Proof, Remedy};
use hustings_workloads::plan::Hit;

use crate::coordinator::live_cell::LiveCell;
use crate::process::clock;

/// What deployments give a process before they kill it is longer mostly; a candidate needs no more than a close of its session.
const GRACE: Duration = Duration::from_secs(10);

pub(super) async fn inject(cell: &Rc<LiveCell>, hit: &Hit) -> Injury {
    let from = clock::now();
    let mut proof = Proof { from, to: from, verified: !hit.hosts.is_empty(), ..Proof::default() };
    let (mut seen, mut dead, mut fates) = (Vec::new(), Vec::new(), Vec::new());
    // Before anything is closed: it is no crash, but one that leaves its session behind is one to the servers.
    match cell.touches(&hit.hosts).await {
        Ok(touches) => proof.touches = touches,
        Err(why) => seen.push(why),
    }
    let ended = futures::future::join_all(hit.hosts.iter().map(|host| cell.terminate(*host, GRACE))).await;
    for (&host, ended) in hit.hosts.iter().zip(ended) {
        match ended {
            Ok((status, at, killed)) => {
                dead.push(host);
                fates.push((host, ProcessFate::Ended));
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
    proof.seen = Some(Evidence::Processes { hosts: fates });
    Injury { proof, remedy: Remedy::Restart(dead) }
}
