//! Faults: each is injected, verified and healed. One file per kind of fault; only the table below knows all kinds.

mod clock_step;
mod crash;
mod hang;
mod link;
mod pause;
mod server;
mod single;
mod terminate;

use std::rc::Rc;

use hustings_record::Direction;
use hustings_workloads::driver::{Effect, InjectedFault, Remedy, Verification, delete_parent};
use hustings_workloads::faults::Fault;
use hustings_workloads::plan::{PlannedFault, ResolvedTarget};

use crate::coordinator::live_cell::LiveCell;

/// Injects a fault on its targets, and verifies it. `fault` is its number in the record; `effect` is notified when it
/// takes effect.
pub(crate) async fn inject(
    cell: &Rc<LiveCell>,
    fault: u32,
    planned: &PlannedFault,
    hit: &ResolvedTarget,
    effect: &Effect,
) -> InjectedFault {
    match &planned.fault {
        Fault::None { .. } => InjectedFault { proof: Verification::default(), remedy: Remedy::None },
        Fault::Resign => single::resign(cell, fault, hit).await,
        Fault::Expire => single::expire(cell, fault, hit).await,
        Fault::ParentDelete => delete_parent(&**cell, hit).await,
        Fault::Crash { .. } => crash::inject(cell, hit, effect).await,
        Fault::Terminate { .. } => terminate::inject(cell, hit).await,
        Fault::Hang { .. } => hang::inject(cell, hit, effect).await,
        Fault::ClockStep { how, .. } => clock_step::inject(cell, hit, how.step_ms).await,
        Fault::Pause { .. } => pause::inject(cell, hit, effect).await,
        Fault::Disconnect => link::disconnect(cell, hit).await,
        Fault::LostReply { lasts } => link::lose_replies(cell, hit, lasts.for_ms).await,
        Fault::Partition { .. } => link::partition(cell, hit, Direction::Both, effect).await,
        Fault::PartitionUp { .. } => link::partition(cell, hit, Direction::Up, effect).await,
        Fault::PartitionDown { .. } => link::partition(cell, hit, Direction::Down, effect).await,
        Fault::Slow { how, .. } => link::slow(cell, hit, how, effect).await,
        Fault::ServerKill { .. } => server::kill(cell, hit, effect).await,
        Fault::ServerPause { .. } => server::pause(cell, hit, planned.for_ms(), effect).await,
        Fault::ServerPartition { .. } => server::partition(cell, hit, effect).await,
        Fault::ServerRestartAll(restart) => server::restart_all(cell, hit, restart).await,
    }
}

/// Heals a fault.
pub(crate) async fn heal(cell: &Rc<LiveCell>, remedy: &Remedy) -> Verification {
    match remedy {
        Remedy::None => Verification::default(),
        Remedy::Links(fault, hosts) => link::heal(cell, *fault, hosts).await,
        Remedy::Continue(stopped) => pause::heal(cell, stopped).await,
        Remedy::Restart(hosts) => crash::heal(cell, hosts).await,
        Remedy::Take(hosts) => hang::heal(cell, hosts),
        Remedy::SetClocks { hosts, by_ms } => clock_step::set(cell, hosts, *by_ms).await,
        Remedy::Servers(remedy) => server::heal(cell, remedy).await,
    }
}
