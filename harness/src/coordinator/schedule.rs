//! Carries out a fault plan: each fault on its intended time, each healed after its time, all of it written down.

use std::rc::Rc;
use std::time::Duration;

use hustings_reports::record::{Event, FaultKind as Recorded, ReceiptStage};
use hustings_workloads::plan::{Hit, LeaderView, Plan, PlannedFault, resolve};
use hustings_workloads::scenario::FaultKind;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::clock;
use crate::coordinator::server_watch::ServerWatch;
use crate::coordinator::stage::Stage;
use crate::faults::{self, Proof, Remedy, ServerRemedy};

/// Servers that were hit are healed, or given up, within this.
const BACK_AT_MOST: Duration = Duration::from_secs(60);

/// Runs the plan. Returns when every fault has been injected and healed, or when the cell is cut short and what was injected
/// has been healed.
async fn carry_out(stage: &Rc<Stage>, plan: &Plan, seed: u64) {
    let start = clock::now();
    let end = start + plan.measure_ms * 1_000_000;
    let mut running = JoinSet::new();
    for planned in &plan.faults {
        let intended = start + planned.at_ms * 1_000_000;
        if !stage.goes_on_until(intended).await {
            break;
        }
        if planned.kind == FaultKind::ServerRestartAll {
            servers_are_back(stage).await;
        }
        let hit = aim(stage, seed, planned);
        let hits = hit.split(&stage.cell, planned.kind, &stage.leaders.borrow());
        for hit in hits {
            mark(stage, planned.kind, &hit);
            running.spawn_local(one(stage.clone(), planned.clone(), hit, intended, end));
        }
    }
    while let Some(done) = running.join_next().await {
        stage.check(done);
    }
}

/// What hits all servers waits until the fault before it is healed: on a busy machine they may be late.
async fn servers_are_back(stage: &Stage) {
    let until = clock::now() + BACK_AT_MOST.as_nanos() as u64;
    while !stage.injured_servers.borrow().is_empty() && clock::now() < until && !stage.stopping() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// From its injection until its heal a host is hit by no other fault that lasts.
fn mark(stage: &Stage, kind: FaultKind, hit: &Hit) {
    stage.injured_servers.borrow_mut().extend(&hit.servers);
    if !matches!(kind, FaultKind::Resign | FaultKind::Expire) {
        stage.injured.borrow_mut().extend(&hit.hosts);
    }
}

fn unmark(stage: &Stage, kind: FaultKind, hit: &Hit) {
    stage.injured_servers.borrow_mut().retain(|server| !hit.servers.contains(server));
    if !matches!(kind, FaultKind::Resign | FaultKind::Expire) {
        stage.injured.borrow_mut().retain(|host| !hit.hosts.contains(host));
    }
}

async fn one(stage: Rc<Stage>, planned: PlannedFault, hit: Hit, intended: u64, end: u64) {
    let id = stage.next_fault();
    stage.journal.push(&struck(id, clock::now(), intended, &planned, &hit));
    let injury = faults::inject(&stage, id, &planned, &hit).await;
    let heal_at = match (planned.kind, planned.for_ms) {
        // A server stays away until the measuring ends; the next cell needs it again.
        (FaultKind::ServerKill, None) => end,
        (_, lasts) => injury.proof.to.max(intended) + lasts.unwrap_or(0) * 1_000_000,
    };
    write(&stage, id, ReceiptStage::Injected, injury.proof);
    // Also when the cell is cut short: what is injured is healed. Only the dead stay dead then.
    let over = lasts(&planned, &injury.remedy) && !stage.goes_on_until(heal_at).await;
    let dead = matches!(injury.remedy, Remedy::Restart(_) | Remedy::Servers(ServerRemedy::Start { .. }));
    let heals = lasts(&planned, &injury.remedy) && !(over && dead);
    if heals && let Some(proof) = faults::heal(&stage, &injury.remedy).await {
        write(&stage, id, ReceiptStage::Healed, proof);
    }
    unmark(&stage, planned.kind, &hit);
}

/// Whether there is something to heal. A crash without a duration leaves its hosts dead until the cell ends.
fn lasts(planned: &PlannedFault, remedy: &Remedy) -> bool {
    match remedy {
        Remedy::None => false,
        Remedy::Restart(_) => planned.for_ms.is_some(),
        Remedy::Links(_) | Remedy::Continue(_) | Remedy::Servers(_) => true,
    }
}

fn write(stage: &Stage, id: u32, at: ReceiptStage, proof: Proof) {
    let Proof { from, to, verified, evidence, touches } = proof;
    stage.journal.push_through(&Event::Receipt { id, stage: at, from, to, verified, evidence, touches });
}

/// Decides whom a fault hits, by who leads now.
fn aim(stage: &Stage, seed: u64, planned: &PlannedFault) -> Hit {
    let injured = stage.injured.borrow();
    let alive: Vec<u16> = stage.hosts.borrow().keys().copied().filter(|host| !injured.contains(host)).collect();
    let leaders = stage.leaders.borrow();
    let (watch, injured) = (stage.server_watch.as_deref(), stage.injured_servers.borrow());
    let serving = watch.map(ServerWatch::serving).unwrap_or_default();
    let servers: Vec<u32> = serving.difference(&injured).copied().collect();
    let view = LeaderView {
        leader_of_group: &leaders.of_groups(),
        placement: leaders.placement(),
        alive: &alive,
        server_leader: watch.and_then(ServerWatch::leader),
        servers: &servers,
    };
    resolve(&stage.cell, seed, planned, view)
}

/// A fault that strikes at `t`, as the record has it.
pub(crate) fn struck(id: u32, t: u64, intended: u64, planned: &PlannedFault, hit: &Hit) -> Event {
    Event::Fault {
        id,
        kind: recorded(planned.kind),
        t,
        intended,
        for_ms: planned.for_ms,
        hosts: hit.hosts.clone(),
        cands: hit.cands.clone(),
        groups: hit.groups.clone(),
        servers: hit.servers.clone(),
        detail: format!("{:?}", planned.target),
    }
}

/// The same kind in the words of the record.
pub(super) fn recorded(kind: FaultKind) -> Recorded {
    match kind {
        FaultKind::None => Recorded::None,
        FaultKind::Resign => Recorded::Resign,
        FaultKind::Crash => Recorded::Crash,
        FaultKind::Expire => Recorded::Expire,
        FaultKind::Disconnect => Recorded::Disconnect,
        FaultKind::Partition => Recorded::Partition,
        FaultKind::PartitionUp => Recorded::PartitionUp,
        FaultKind::PartitionDown => Recorded::PartitionDown,
        FaultKind::Slow => Recorded::Slow,
        FaultKind::Pause => Recorded::Pause,
        FaultKind::ServerKill => Recorded::ServerKill,
        FaultKind::ServerPause => Recorded::ServerPause,
        FaultKind::ServerPartition => Recorded::ServerPartition,
        FaultKind::ServerRestartAll => Recorded::ServerRestartAll,
    }
}

/// Runs the plan beside the cell's other waits, as an errand that goes on to its end when the cell is cut short. The answer
/// comes when it is done.
pub(super) fn begin(stage: &Rc<Stage>, plan: Plan, seed: u64) -> oneshot::Receiver<()> {
    let (sender, done) = oneshot::channel();
    let own = stage.clone();
    stage.errand(async move {
        carry_out(&own, &plan, seed).await;
        // Nobody waits for it when the cell was cut short.
        let _ = sender.send(());
    });
    done
}
