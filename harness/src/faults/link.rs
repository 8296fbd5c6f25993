//! Faults on links: `disconnect`, `partition` (both ways and each way) and `slow`, all over Toxiproxy's API.

use std::rc::Rc;

use hustings_workloads::plan::{Hit, PlannedFault};
use hustings_workloads::scenario::FaultKind;

use super::{Injury, Proof, Remedy};
use crate::clock;
use crate::coordinator::Stage;
use crate::links::{Direction, LinkError, LinkReceipt, Slow};

pub(super) async fn inject(stage: &Rc<Stage>, planned: &PlannedFault, hit: &Hit) -> Injury {
    let Some(links) = stage.links() else {
        let evidence = "this cell has no links to act on".to_owned();
        return Injury { proof: Proof { evidence, ..Proof::default() }, remedy: Remedy::None };
    };
    let from = clock::now();
    let (receipt, lasts) = match planned.kind {
        FaultKind::Disconnect => (links.disconnect(&hit.hosts).await, false),
        FaultKind::PartitionUp => (links.partition(&hit.hosts, Direction::Up).await, true),
        FaultKind::PartitionDown => (links.partition(&hit.hosts, Direction::Down).await, true),
        FaultKind::Slow => {
            let slow = Slow {
                latency_ms: narrow(planned.params.latency_ms),
                jitter_ms: narrow(planned.params.jitter_ms),
                rate_kb: narrow(planned.params.rate_kb.unwrap_or(0)),
            };
            (links.slow(&hit.hosts, slow).await, true)
        }
        _ => (links.partition(&hit.hosts, Direction::Both).await, true),
    };
    let mut proof = proof_of(receipt, from);
    if lasts && planned.kind != FaultKind::Slow {
        match stage.touches(&hit.hosts).await {
            Ok(touches) => proof.touches = touches,
            Err(why) => proof.evidence = format!("{}; {why}", proof.evidence),
        }
    }
    let remedy = if lasts { Remedy::Links(hit.hosts.clone()) } else { Remedy::None };
    Injury { proof, remedy }
}

/// Toxiproxy's attributes are 32-bit numbers; scenarios are validated to stay far below.
fn narrow(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

pub(super) async fn heal(stage: &Rc<Stage>, hosts: &[u16]) -> Proof {
    let from = clock::now();
    match stage.links() {
        Some(links) => proof_of(links.heal(hosts).await, from),
        None => Proof::default(),
    }
}

fn proof_of(receipt: Result<LinkReceipt, LinkError>, from: u64) -> Proof {
    match receipt {
        Ok(LinkReceipt { from, to, verified, evidence }) => Proof { from, to, verified, evidence, touches: Vec::new() },
        Err(error) => Proof { from, to: clock::now(), evidence: error.to_string(), ..Proof::default() },
    }
}
