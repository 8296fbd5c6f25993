//! `hang`: the work of a host's leaders hangs while their sessions live. The resource neither accepts nor answers their
//! writes; the heal accepts all of them.

use std::rc::Rc;
use std::time::Duration;

use hustings_record::Evidence;
use hustings_record::numbers::nanos;
use hustings_workloads::driver::{Effect, InjectedFault, Remedy, Verification};
use hustings_workloads::plan::ResolvedTarget;

use crate::coordinator::live_cell::LiveCell;
use crate::process::clock;

/// A leader with pending work writes within this.
const WRITES_WITHIN: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(2);

pub(super) async fn inject(cell: &Rc<LiveCell>, hit: &ResolvedTarget, effect: &Effect) -> InjectedFault {
    let from = clock::now();
    hit.hosts.iter().for_each(|host| _ = cell.hung.begin(*host));
    let (to, remedy) = (clock::now(), Remedy::Take(hit.hosts.clone()));
    effect.took((from, to), remedy.clone());
    let kept = || hit.hosts.iter().map(|host| (*host, cell.hung.kept(*host).unwrap_or(0) as u64)).collect::<Vec<_>>();
    let until = from + nanos(WRITES_WITHIN);
    while kept().iter().any(|(_, writes)| *writes == 0) && clock::now() < until && !cell.status.is_stopping() {
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    let seen = kept();
    let verified = !seen.is_empty() && seen.iter().all(|(_, writes)| *writes > 0);
    let evidence = format!(
        "{} writes of {} hosts came in and were not taken",
        seen.iter().map(|(_, n)| n).sum::<u64>(),
        seen.len()
    );
    let seen = Some(Evidence::Withheld { hosts: seen });
    InjectedFault { proof: Verification { from, to, verified, evidence, seen, ..Verification::default() }, remedy }
}

pub(super) fn heal(cell: &Rc<LiveCell>, hosts: &[u16]) -> Verification {
    let from = clock::now();
    let taken: Vec<(u16, u64)> = hosts.iter().map(|&host| (host, cell.take_withheld(host) as u64)).collect();
    let evidence = format!("{} writes were taken that had come meanwhile", taken.iter().map(|(_, n)| n).sum::<u64>());
    let seen = Some(Evidence::Withheld { hosts: taken });
    Verification { from, to: clock::now(), verified: true, evidence, seen, ..Verification::default() }
}
