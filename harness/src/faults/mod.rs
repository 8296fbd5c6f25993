//! Faults: each is injected, proven by a receipt, and healed. One file a kind of fault; the table below is all that knows
//! them all.

mod crash;
mod link;
mod pause;
mod server;
mod single;

use std::rc::Rc;

use hustings_reports::record::Touch;
use hustings_workloads::plan::{Hit, PlannedFault};
use hustings_workloads::scenario::FaultKind;

use crate::coordinator::Stage;

pub use server::ServerRemedy;

/// What became of an injection or a heal.
#[derive(Clone, Debug, Default)]
pub struct Proof {
    /// Bounds of the time at which it took effect.
    pub from: u64,
    pub to: u64,
    /// Only what was seen to have taken effect is verified.
    pub verified: bool,
    pub evidence: String,
    /// For sessions left to expire: when each was last heard of.
    pub touches: Vec<Touch>,
}

/// An injected fault. It stays until it is healed.
#[must_use = "a fault that is not healed outlives its cell"]
pub struct Injury {
    pub proof: Proof,
    pub remedy: Remedy,
}

/// What undoes a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Nothing lasts.
    None,
    /// Links carry everything again.
    Links(Vec<u16>),
    /// Stopped processes go on.
    Continue(Vec<u16>),
    /// Dead hosts are started again.
    Restart(Vec<u16>),
    /// Servers are made whole again.
    Servers(ServerRemedy),
}

/// Injects a fault on what it hits. `fault` is its number in the record.
pub async fn inject(stage: &Rc<Stage>, fault: u32, planned: &PlannedFault, hit: &Hit) -> Injury {
    match planned.kind {
        FaultKind::None => Injury { proof: Proof::default(), remedy: Remedy::None },
        FaultKind::Resign | FaultKind::Expire => single::inject(stage, fault, planned.kind, hit).await,
        FaultKind::Crash => crash::inject(stage, hit).await,
        FaultKind::Pause => pause::inject(stage, hit).await,
        FaultKind::Disconnect
        | FaultKind::Partition
        | FaultKind::PartitionUp
        | FaultKind::PartitionDown
        | FaultKind::Slow => link::inject(stage, planned, hit).await,
        FaultKind::ServerKill | FaultKind::ServerPause | FaultKind::ServerPartition | FaultKind::ServerRestartAll => {
            server::inject(stage, planned, hit).await
        }
    }
}

/// Undoes a fault; None when nothing lasts.
pub async fn heal(stage: &Rc<Stage>, remedy: &Remedy) -> Option<Proof> {
    match remedy {
        Remedy::None => None,
        Remedy::Links(hosts) => Some(link::heal(stage, hosts).await),
        Remedy::Continue(hosts) => Some(pause::heal(stage, hosts).await),
        Remedy::Restart(hosts) => Some(crash::heal(stage, hosts).await),
        Remedy::Servers(remedy) => Some(server::heal(stage, remedy).await),
    }
}
