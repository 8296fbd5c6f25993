//! `clock-step`: the wall clock of a host jumps, as if it were set. Verified by the wall clock that the process itself
//! then reads. The monotonic clock, which stamps everything, stays unchanged.

use std::rc::Rc;
use std::time::Duration;

use hustings_record::Evidence;
use hustings_workloads::driver::{InjectedFault, Remedy, Verification};
use hustings_workloads::plan::ResolvedTarget;

use crate::coordinator::live_cell::LiveCell;
use crate::process::clock;

/// The clock faker reads its orders every second.
const AT_MOST: Duration = Duration::from_secs(6);

pub(super) async fn inject(cell: &Rc<LiveCell>, hit: &ResolvedTarget, step_ms: i64) -> InjectedFault {
    let proof = set(cell, &hit.hosts, step_ms).await;
    InjectedFault { proof, remedy: Remedy::SetClocks { hosts: hit.hosts.clone(), by_ms: -step_ms } }
}

/// Sets the wall clocks of these hosts.
pub(super) async fn set(cell: &Rc<LiveCell>, hosts: &[u16], by_ms: i64) -> Verification {
    let from = clock::now();
    let asked = hosts.iter().map(|host| cell.hosts.set_clock(*host, by_ms, AT_MOST));
    let (mut seen, mut told, mut verified) = (Vec::new(), Vec::new(), !hosts.is_empty());
    for (&host, outcome) in hosts.iter().zip(futures::future::join_all(asked).await) {
        match outcome {
            Ok((before, after)) => {
                seen.push((host, before, after));
                told.push(format!("host {host}: {before} ms ahead before, {after} ms after"));
            }
            Err(why) => {
                verified = false;
                told.push(format!("host {host}: {why}"));
            }
        }
    }
    let (evidence, seen) = (told.join("; "), Some(Evidence::WallClocks { hosts: seen, due_ms: by_ms }));
    Verification { from, to: clock::now(), verified, evidence, seen, ..Verification::default() }
}
