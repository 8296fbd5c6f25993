//! Faults on the servers of a simulated world, with their proofs: the action, and the servers' state afterwards.

use std::rc::Rc;
use std::time::Duration;

use hustings_record::numbers::{nanos, to_u32};
use hustings_record::{Evidence, Nanos, ServerState};

use super::session::SimSession;
use super::sim_cell::SimCell;
use super::world::{COORDINATOR, ClientOwner};
use crate::coordination::Session as _;
use crate::driver::{InjectedFault, Remedy, ServerRemedy, Verification};
use crate::faults::Restart;
use crate::model::{Micros, Server};
use crate::plan::ResolvedTarget;

/// A restored server serves within this time.
const SERVES_MAX_US: Micros = 45_000_000;
/// Interval between checks of servers that should serve.
const LOOK_AGAIN_US: Micros = 20_000;
/// Number of writes that lagging servers miss, and the bound on their duration.
const WRITES_BEHIND: u32 = 50;
const WRITES_MAX_US: Micros = 20_000_000;
/// Timeout of the session that writes them.
const TIMEOUT_MS: u64 = 20_000;

fn places(ids: &[u32]) -> Vec<Server> {
    ids.iter().map(|id| *id as Server - 1).collect()
}

impl SimCell {
    /// Kills servers; those that should lag behind, if any, before the others.
    pub(super) async fn kill_servers(&self, hit: &ResolvedTarget, restart: Option<&Restart>) -> InjectedFault {
        let (world, from) = (&self.world, self.world.clock.nanos());
        let behind = restart.map_or(&[][..], |restart| &restart.behind);
        let left = if behind.is_empty() { None } else { Some(self.leave_behind(behind).await) };
        places(&hit.servers).into_iter().for_each(|server| world.kill_server(server));
        let down = |server| world.servers.says(server) == ServerState::Down;
        let proof = Verification {
            seen: self.asked(&hit.servers),
            ..self.servers_are_hit(from, hit, ("are down", down), left)
        };
        let (servers, gap_ms, empty) = match restart {
            None => (hit.servers.clone(), 0, false),
            Some(restart) => (restart.order.clone(), restart.gap_ms, restart.empty),
        };
        injury(hit, proof, ServerRemedy::Start { servers, gap: Duration::from_millis(gap_ms), empty })
    }

    pub(super) fn pause_servers(&self, hit: &ResolvedTarget) -> InjectedFault {
        let (world, from) = (&self.world, self.world.clock.nanos());
        places(&hit.servers).into_iter().for_each(|server| world.pause_server(server));
        let silent = |server| world.servers.says(server) == ServerState::Silent;
        let proof = Verification {
            seen: self.asked(&hit.servers),
            ..self.servers_are_hit(from, hit, ("are silent", silent), None)
        };
        injury(hit, proof, ServerRemedy::Resume(hit.servers.clone()))
    }

    pub(super) fn part_servers(&self, hit: &ResolvedTarget) -> InjectedFault {
        let (world, from) = (&self.world, self.world.clock.nanos());
        let servers = places(&hit.servers);
        world.part_servers(&servers, true);
        let parted = |server| {
            let mut others = (0..world.servers.count()).filter(|other| !servers.contains(other));
            others.all(|other| world.servers.are_parted(server, other))
        };
        let ways = |server: &Server| {
            let others = (0..world.servers.count()).filter(|other| world.servers.are_parted(*server, *other));
            let id = |server: Server| to_u32(server) + 1;
            let own = id(*server);
            others.flat_map(move |other| [(own, id(other)), (id(other), own)]).collect::<Vec<_>>()
        };
        let seen = Some(Evidence::Apart { ways: servers.iter().flat_map(ways).collect(), bytes: None });
        let proof =
            Verification { seen, ..self.servers_are_hit(from, hit, ("are parted from the others", parted), None) };
        injury(hit, proof, ServerRemedy::Rejoin(hit.servers.clone()))
    }

    /// The proof: the required state of each server now, and the earlier observations.
    fn servers_are_hit(
        &self,
        from: Nanos,
        hit: &ResolvedTarget,
        (now, done): (&str, impl FnMut(Server) -> bool),
        before: Option<Result<String, String>>,
    ) -> Verification {
        let fine = before.as_ref().is_none_or(Result::is_ok);
        let verified = !hit.servers.is_empty() && places(&hit.servers).into_iter().all(done) && fine;
        let mut seen: Vec<String> = before.map(|seen| seen.unwrap_or_else(|trouble| trouble)).into_iter().collect();
        let judgement = if verified { "" } else { "NOT as it should be: not all " };
        seen.push(format!("servers {:?} {judgement}{now}", hit.servers));
        let evidence = seen.join("; ");
        Verification { from, to: self.world.clock.nanos(), verified, evidence, ..Verification::default() }
    }

    /// The answers of these servers when asked for their state.
    fn asked(&self, ids: &[u32]) -> Option<Evidence> {
        let asked = ids.iter().map(|&id| (id, self.world.servers.says(id as Server - 1))).collect();
        Some(Evidence::Servers { asked })
    }

    /// Kills some servers and lets the others go on for some writes. Returns the observations, or the error.
    async fn leave_behind(&self, behind: &[u32]) -> Result<String, String> {
        let world = &self.world;
        places(behind).iter().for_each(|server| world.kill_server(*server));
        let others: Vec<u32> = (1..=self.state.cell.servers).filter(|server| !behind.contains(server)).collect();
        if !self.all_serve(&others).await {
            return Err(format!("without {behind:?} the other servers did not serve"));
        }
        let client = world.open_at(ClientOwner::NOBODY, TIMEOUT_MS, &places(&others));
        let writes = async {
            let session = SimSession::of(world, client).await.ok_or("no server gave a session".to_owned())?;
            for _ in 0..WRITES_BEHIND {
                session.set("/", b"", None).await.map_err(|error| error.to_string())?;
            }
            Ok(())
        };
        match world.clock.in_time(WRITES_MAX_US, writes).await {
            Some(Ok(())) => Ok(format!("{WRITES_BEHIND} writes were acknowledged without {behind:?}")),
            Some(Err::<_, String>(error)) => Err(format!("the writes without {behind:?} failed: {error}")),
            None => Err(format!("the writes without {behind:?} took too long")),
        }
    }

    /// Waits until all these servers serve. False: not all do within the bound.
    async fn all_serve(&self, ids: &[u32]) -> bool {
        let (world, until) = (&self.world, self.world.clock.now() + SERVES_MAX_US);
        let serve = || places(ids).into_iter().all(|server| world.servers.serves(server));
        while !serve() && world.clock.now() < until {
            world.clock.sleep_until(COORDINATOR, world.clock.now() + LOOK_AGAIN_US).await;
        }
        serve()
    }

    /// Undoes a fault; the proof is complete once the servers serve again.
    pub(super) async fn mend_servers(self: &Rc<Self>, remedy: &ServerRemedy) -> Verification {
        let (world, from) = (&self.world, self.world.clock.nanos());
        let (ids, done) = match remedy {
            ServerRemedy::Resume(ids) => {
                places(ids).into_iter().for_each(|server| world.resume_server(server));
                (ids, "continued".to_owned())
            }
            ServerRemedy::Rejoin(ids) => {
                world.part_servers(&places(ids), false);
                (ids, "joined to the others".to_owned())
            }
            ServerRemedy::Start { servers, gap, empty } => {
                self.start_in_order(servers, *gap, *empty).await;
                (servers, format!("started in the order {servers:?}"))
            }
        };
        let to = world.clock.nanos();
        let verified = self.all_serve(ids).await;
        let now = if verified { "they serve again" } else { "NOT as it should be: not all of them serve" };
        let evidence = format!("servers {ids:?} {done}; {now}");
        Verification { from, to, verified, evidence, seen: self.asked(ids), ..Verification::default() }
    }

    async fn start_in_order(self: &Rc<Self>, ids: &[u32], gap: Duration, empty: bool) {
        for (place, server) in places(ids).into_iter().enumerate() {
            if place > 0 {
                self.world.clock.sleep_until(COORDINATOR, self.world.clock.now() + nanos(gap) / 1_000).await;
            }
            if empty {
                self.world.servers.ensemble.borrow_mut().wipe(server);
            }
            self.world.start_server(server);
        }
    }
}

/// The remaining heal, if the fault had a target.
fn injury(hit: &ResolvedTarget, proof: Verification, remedy: ServerRemedy) -> InjectedFault {
    let remedy = if hit.servers.is_empty() { Remedy::None } else { Remedy::Servers(remedy) };
    InjectedFault { proof, remedy }
}
