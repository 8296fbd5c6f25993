//! `resign` and `expire`: faults on one candidate, carried out and proven by its own host.

use std::rc::Rc;
use std::time::Duration;

use hustings_workloads::plan::Hit;
use hustings_workloads::scenario::FaultKind;

use super::{Injury, Proof, Remedy};
use crate::clock;
use crate::coordinator::Stage;
use crate::protocol::ToHost;

/// The host's word on what came of it is waited for this long.
const AT_MOST: Duration = Duration::from_secs(10);

pub(super) async fn inject(stage: &Rc<Stage>, fault: u32, kind: FaultKind, hit: &Hit) -> Injury {
    let from = clock::now();
    let mut proof = Proof { from, to: from, ..Proof::default() };
    let Some(&cand) = hit.cands.first() else {
        "there was no leader to hit".clone_into(&mut proof.evidence);
        return Injury { proof, remedy: Remedy::None };
    };
    let (order, what) = match kind {
        FaultKind::Resign => (ToHost::Resign { fault, cand }, "the deletion of its znode was answered"),
        _ => (ToHost::Expire { fault, cand }, "a second connection took the session over and its close was answered"),
    };
    let outcome = stage.ask(cand, fault, order, AT_MOST).await;
    (proof.from, proof.to, proof.verified, proof.evidence) = match outcome {
        Ok((sent, answered)) => {
            let took_us = (answered - sent) / 1_000;
            (sent, answered, true, format!("{what} after {took_us} µs"))
        }
        Err(why) => (from, clock::now(), false, why),
    };
    Injury { proof, remedy: Remedy::None }
}
