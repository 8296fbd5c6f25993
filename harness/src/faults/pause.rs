//! `pause`: the host's process is stopped, as a long garbage collection or a suspended machine would stop it, and
//! continued. Its links live in other processes and are not stopped.

use std::rc::Rc;
use std::time::Duration;

use hustings_record::Seen;
use hustings_workloads::driver::{Injury, Proof, Remedy};
use hustings_workloads::plan::Hit;
use rustix::process::Signal;

use crate::clock;
use crate::coordinator::live_cell::LiveCell;
use crate::procfs::{fate_of, process_state};

/// The kernel shows the new state long before this.
const SEEN_AT_MOST: Duration = Duration::from_secs(1);

pub(super) async fn inject(cell: &Rc<LiveCell>, hit: &Hit) -> Injury {
    let mut proof = signal_all(cell, &hit.hosts, Signal::STOP, true).await;
    if cell.links().is_some() {
        match cell.touches(&hit.hosts).await {
            Ok(touches) => proof.touches = touches,
            Err(why) => proof.evidence = format!("{}; {why}", proof.evidence),
        }
    }
    Injury { proof, remedy: Remedy::Continue(hit.hosts.clone()) }
}

pub(super) async fn heal(cell: &Rc<LiveCell>, hosts: &[u16]) -> Proof {
    signal_all(cell, hosts, Signal::CONT, false).await
}

/// Sends the signal to each host and reads from the kernel that it is stopped, or that it is not.
async fn signal_all(cell: &Rc<LiveCell>, hosts: &[u16], signal: Signal, stopped: bool) -> Proof {
    let from = clock::now();
    let mut proof = Proof { from, to: from, verified: !hosts.is_empty(), ..Proof::default() };
    let (mut seen, mut fates) = (Vec::new(), Vec::new());
    for &host in hosts {
        let Some(pid) = cell.pid(host) else {
            proof.verified = false;
            seen.push(format!("host {host} has no process"));
            continue;
        };
        if let Err(error) = cell.signal(host, signal) {
            proof.verified = false;
            seen.push(format!("host {host}: {error}"));
            continue;
        }
        let state = wait_for_state(pid, stopped).await;
        fates.push((host, fate_of(Some(pid))));
        proof.verified &= state.is_some_and(|state| (state == 'T') == stopped);
        seen.push(format!("host {host}: state {}", state.unwrap_or('?')));
    }
    proof.to = clock::now();
    proof.evidence = seen.join("; ");
    proof.seen = Some(Seen::Processes { hosts: fates });
    proof
}

async fn wait_for_state(pid: u32, stopped: bool) -> Option<char> {
    let until = clock::now() + SEEN_AT_MOST.as_nanos() as u64;
    loop {
        let state = process_state(pid);
        if state.is_none_or(|state| (state == 'T') == stopped) || clock::now() > until {
            return state;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
