//! `resign` and `expire`: faults on one candidate, carried out and verified by its own host.

use std::rc::Rc;

use hustings_record::ORDER_AT_MOST;
use hustings_workloads::driver::{InjectedFault, Remedy, Verification};
use hustings_workloads::plan::ResolvedTarget;

use crate::coordinator::live_cell::LiveCell;
use crate::process::clock;
use crate::protocol::ToHost;

pub(super) async fn resign(cell: &Rc<LiveCell>, fault: u32, hit: &ResolvedTarget) -> InjectedFault {
    let order = |cand| ToHost::Resign { fault, cand };
    on_the_leader(cell, fault, hit, order, "the deletion of its znode was answered").await
}

pub(super) async fn expire(cell: &Rc<LiveCell>, fault: u32, hit: &ResolvedTarget) -> InjectedFault {
    let order = |cand| ToHost::Expire { fault, cand };
    let what = "a second connection took the session over and its close was answered";
    on_the_leader(cell, fault, hit, order, what).await
}

async fn on_the_leader(
    cell: &Rc<LiveCell>,
    fault: u32,
    hit: &ResolvedTarget,
    order: impl FnOnce(u32) -> ToHost,
    what: &str,
) -> InjectedFault {
    let asked = clock::now();
    let outcome = match hit.cands.first() {
        None => Err("there was no leader to hit".to_owned()),
        Some(&cand) => cell.hosts.ask(cand, fault, order(cand), ORDER_AT_MOST).await,
    };
    let cand = hit.cands.first().copied();
    InjectedFault { proof: Verification::of_order(what, cand, asked, clock::now(), outcome), remedy: Remedy::None }
}
