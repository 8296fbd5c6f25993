//! Faults on the servers of a simulated world, with their proofs: what was done, and what the servers say then.

use std::rc::Rc;

use super::client::Owner;
use super::session::SimSession;
use super::stage::Stage;
use super::witness::{By, Saw};
use super::world::{NOWHERE, sleep_until};
use super::write_probe::in_time;
use crate::coordination::Session as _;
use crate::model::{Micros, Role, Server};
use crate::plan::{Hit, PlannedFault};
use crate::scenario::FaultKind;

/// A server that is there again serves within this.
const SERVES_MAX_US: Micros = 45_000_000;
/// Servers that were hit are healed, or given up, within this.
const BACK_MAX_US: Micros = 60_000_000;
/// Between two looks at servers that are waited for.
const LOOK_AGAIN_US: Micros = 20_000;
/// Writes that servers miss which are to lag behind, and how long they may take.
const WRITES_BEHIND: u32 = 50;
const WRITES_MAX_US: Micros = 20_000_000;
/// Of the session that writes them.
const TIMEOUT_MS: u64 = 20_000;

fn places(ids: &[u32]) -> Vec<Server> {
    ids.iter().map(|id| *id as Server - 1).collect()
}

impl Stage {
    /// What hits all servers waits until the fault before it is healed.
    pub(super) async fn servers_are_back(&self) {
        let until = self.world.now() + BACK_MAX_US;
        while !self.injured_servers.borrow().is_empty() && self.world.now() < until {
            sleep_until(&self.world, NOWHERE, self.world.now() + LOOK_AGAIN_US).await;
        }
    }

    /// Does it, and tells the proof. False: nothing is left to heal.
    pub(super) async fn injure_servers(self: &Rc<Self>, planned: &PlannedFault, hit: &Hit) -> bool {
        let (world, from) = (&self.world, self.world.now());
        let servers = places(&hit.servers);
        let mut evidence = Vec::new();
        match planned.kind {
            FaultKind::ServerPause => servers.iter().for_each(|server| world.pause_server(*server)),
            FaultKind::ServerPartition => world.part_servers(&servers, true),
            _ => {
                let behind = planned.restart.as_ref().map_or(&[][..], |restart| &restart.behind);
                if !behind.is_empty() {
                    evidence.push(self.leave_behind(behind).await);
                }
                servers.iter().for_each(|server| world.kill_server(*server));
            }
        }
        let done = |server: &Server| match planned.kind {
            FaultKind::ServerPause => world.says(*server).is_none(),
            FaultKind::ServerPartition => {
                let mut others = (0..world.servers.borrow().len()).filter(|other| !servers.contains(other));
                others.all(|other| world.are_parted(*server, other))
            }
            _ => world.says(*server) == Some(Role::Down),
        };
        let verified = !servers.is_empty() && servers.iter().all(done) && evidence.iter().all(Result::is_ok);
        let now = match planned.kind {
            FaultKind::ServerPause => "are silent",
            FaultKind::ServerPartition => "are parted from the others",
            _ => "are down",
        };
        let mut seen: Vec<String> = evidence.into_iter().map(|seen| seen.unwrap_or_else(|trouble| trouble)).collect();
        seen.push(format!(
            "servers {:?} {}{now}",
            hit.servers,
            if verified { "" } else { "NOT as it should be: not all " }
        ));
        let (id, to, evidence) = (planned.id, world.now(), seen.join("; "));
        let receipt = Saw::Receipt { id, healed: false, from, to, verified, evidence, touches: Vec::new() };
        world.saw(By::Coordinator, receipt);
        !servers.is_empty()
    }

    /// Kills some servers and has the others go on without them for some writes. Gives what was seen, or what went wrong.
    async fn leave_behind(&self, behind: &[u32]) -> Result<String, String> {
        let world = &self.world;
        places(behind).iter().for_each(|server| world.kill_server(*server));
        let others: Vec<u32> = (1..=self.cell.servers).filter(|server| !behind.contains(server)).collect();
        if !self.all_serve(&others).await {
            return Err(format!("without {behind:?} the other servers did not serve"));
        }
        let client = world.open_at(Owner::NOBODY, TIMEOUT_MS, &places(&others));
        let writes = async {
            let session = SimSession::of(world, client).await.ok_or("no server gave a session".to_owned())?;
            for _ in 0..WRITES_BEHIND {
                session.set("/", b"", None).await.map_err(|error| error.to_string())?;
            }
            Ok(())
        };
        match in_time(world, WRITES_MAX_US, writes).await {
            Some(Ok(())) => Ok(format!("{WRITES_BEHIND} writes were acknowledged without {behind:?}")),
            Some(Err::<_, String>(error)) => Err(format!("the writes without {behind:?} failed: {error}")),
            None => Err(format!("the writes without {behind:?} took too long")),
        }
    }

    /// Waits until all these servers serve. False: not all do when the time is over.
    async fn all_serve(&self, ids: &[u32]) -> bool {
        let (world, until) = (&self.world, self.world.now() + SERVES_MAX_US);
        let serve = || places(ids).into_iter().all(|server| world.serves(server));
        while !serve() && world.now() < until {
            sleep_until(world, NOWHERE, world.now() + LOOK_AGAIN_US).await;
        }
        serve()
    }

    /// Undoes it, and tells the proof once the servers serve again.
    pub(super) async fn heal_servers(self: &Rc<Self>, planned: &PlannedFault, hit: &Hit) {
        let (world, from) = (&self.world, self.world.now());
        let servers = places(&hit.servers);
        let done = match planned.kind {
            FaultKind::ServerPause => {
                servers.iter().for_each(|server| world.resume_server(*server));
                "continued".to_owned()
            }
            FaultKind::ServerPartition => {
                world.part_servers(&servers, false);
                "joined to the others".to_owned()
            }
            FaultKind::ServerRestartAll => self.start_in_order(planned).await,
            _ => {
                servers.iter().for_each(|server| world.start_server(*server));
                "started".to_owned()
            }
        };
        let to = world.now();
        let verified = self.all_serve(&hit.servers).await;
        let now = if verified { "they serve again" } else { "NOT as it should be: not all of them serve" };
        let evidence = format!("servers {:?} {done}; {now}", hit.servers);
        let receipt = Saw::Receipt { id: planned.id, healed: true, from, to, verified, evidence, touches: Vec::new() };
        world.saw(By::Coordinator, receipt);
    }

    async fn start_in_order(self: &Rc<Self>, planned: &PlannedFault) -> String {
        let Some(restart) = &planned.restart else { return "NOT started: in no order".to_owned() };
        for (place, server) in places(&restart.order).into_iter().enumerate() {
            if place > 0 {
                sleep_until(&self.world, NOWHERE, self.world.now() + restart.gap_ms * 1_000).await;
            }
            if restart.empty {
                self.world.ensemble.borrow_mut().wipe(server);
            }
            self.world.start_server(server);
        }
        format!("started in the order {:?}", restart.order)
    }
}
