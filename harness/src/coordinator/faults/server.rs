//! Faults on the servers themselves: `server-kill`, `server-pause`, `server-partition` and `server-restart-all`.
//! Verified by the component that injects them (a process gone, a state read back, bytes that did not pass) and by
//! querying the server.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use futures::future::join_all;
use hustings_record::{Evidence, Nanos, ServerState};
use hustings_workloads::driver::{Effect, InjectedFault, Remedy, ServerRemedy, Verification};
use hustings_workloads::faults::Restart;
use hustings_workloads::plan::ResolvedTarget;

use crate::coordinator::admin;
use crate::coordinator::cell_status::CellStatus;
use crate::coordinator::live_cell::LiveCell;
use crate::ensemble::control::ServerEvidence;
use crate::ensemble::{Ensemble, EnsembleError, ServerControl, look};
use crate::process::clock;

/// An affected server shows the effect within this.
const SHOWS_AT_MOST: Duration = Duration::from_secs(5);
/// Minimum time without a reply for a verified pause, for short pauses too.
const SILENCE_AT_LEAST: Duration = Duration::from_millis(100);
/// A restored server serves within this: it starts, joins its leader and receives the changes that it missed.
const SERVES_AT_MOST: Duration = Duration::from_secs(45);
/// Writes that servers miss which must lag behind.
const WRITES_BEHIND: u32 = 50;

/// A verification under construction.
struct VerificationBuilder {
    proof: Verification,
    seen: Vec<String>,
    /// The last observed state of each queried server.
    asked: BTreeMap<u32, ServerState>,
}

/// Servers after an action on each of them.
#[derive(Debug, Default, PartialEq, Eq)]
struct HitServers {
    /// Its effect was observed.
    observed: Vec<u32>,
    /// It has an effect, or may have one: all of them, except where that effect was there already.
    to_heal: Vec<u32>,
}

impl VerificationBuilder {
    fn new() -> Self {
        let from = clock::now();
        Self {
            proof: Verification { from, to: from, verified: true, ..Verification::default() },
            seen: Vec::new(),
            asked: BTreeMap::new(),
        }
    }

    /// Records the result of one action; true if it succeeded.
    fn take(&mut self, what: ServerEvidence) -> bool {
        let done = what.is_ok();
        self.proof.verified &= done;
        self.seen.push(what.unwrap_or_else(|error| error.to_string()));
        done
    }

    /// Records the results of one action on each of these servers.
    fn take_all(&mut self, results: Vec<(u32, ServerEvidence)>) -> HitServers {
        let mut hit = HitServers::default();
        for (server, what) in results {
            if !matches!(what, Err(EnsembleError::InEffect(_))) {
                hit.to_heal.push(server);
            }
            if self.take(what) {
                hit.observed.push(server);
            }
        }
        hit
    }

    /// Records the result of undoing an action. If the action took no effect, it is undone.
    fn take_undone(&mut self, what: ServerEvidence) {
        self.take(match what {
            Err(EnsembleError::InEffect(why)) => Ok(format!("nothing to undo: {why}")),
            what => what,
        });
    }

    /// The interval in which it took effect.
    fn times(&self) -> (Nanos, Nanos) {
        (self.proof.from, self.proof.to)
    }

    /// Notes that it has taken effect by now.
    fn in_effect(&mut self) {
        self.proof.to = clock::now();
    }

    fn find(&mut self, holds: bool, what: String) {
        self.proof.verified &= holds;
        self.seen.push(what);
    }

    fn into_proof(mut self) -> Verification {
        self.proof.evidence = self.seen.join("; ");
        if !self.asked.is_empty() {
            self.proof.seen = Some(Evidence::Servers { asked: self.asked.into_iter().collect() });
        }
        self.proof
    }
}

pub(super) async fn kill(cell: &Rc<LiveCell>, hit: &ResolvedTarget, effect: &Effect) -> InjectedFault {
    on_servers(cell, hit, async |witness, ensemble, control| {
        let kill = hit.servers.iter().map(async |&server| (server, control.kill(server).await));
        let HitServers { observed, to_heal } = witness.take_all(join_all(kill).await);
        witness.in_effect();
        let remedy = ServerRemedy::Start { servers: to_heal, gap: Duration::ZERO, empty: false };
        effect.took(witness.times(), Remedy::Servers(remedy.clone()));
        all_show(witness, ensemble, &observed, ServerState::Down, SHOWS_AT_MOST).await;
        remedy
    })
    .await
}

pub(super) async fn restart_all(cell: &Rc<LiveCell>, hit: &ResolvedTarget, restart: &Restart) -> InjectedFault {
    on_servers(cell, hit, async |witness, ensemble, control| {
        let behind = &restart.behind;
        if !behind.is_empty() {
            leave_behind(witness, cell, control, behind).await;
        }
        let rest: Vec<u32> = hit.servers.iter().copied().filter(|server| !behind.contains(server)).collect();
        kill_all(witness, ensemble, control, &rest).await;
        let gap = Duration::from_millis(restart.gap_ms);
        ServerRemedy::Start { servers: restart.order.clone(), gap, empty: restart.empty }
    })
    .await
}

pub(super) async fn pause(
    cell: &Rc<LiveCell>,
    hit: &ResolvedTarget,
    for_ms: Option<u64>,
    effect: &Effect,
) -> InjectedFault {
    on_servers(cell, hit, async |witness, ensemble, control| {
        let HitServers { observed, to_heal } = pause_each(witness, control, &hit.servers).await;
        witness.in_effect();
        let remedy = ServerRemedy::Resume(to_heal);
        effect.took(witness.times(), Remedy::Servers(remedy.clone()));
        // For a short pause, half of it without a reply is enough.
        let silence = for_ms.map_or(SHOWS_AT_MOST, |ms| Duration::from_millis(ms / 2).max(SILENCE_AT_LEAST));
        all_show(witness, ensemble, &observed, ServerState::Silent, silence).await;
        remedy
    })
    .await
}

async fn pause_each(witness: &mut VerificationBuilder, control: &dyn ServerControl, servers: &[u32]) -> HitServers {
    let pause = servers.iter().map(async |&server| (server, control.pause(server).await));
    witness.take_all(join_all(pause).await)
}

pub(super) async fn partition(cell: &Rc<LiveCell>, hit: &ResolvedTarget, effect: &Effect) -> InjectedFault {
    on_servers(cell, hit, async |witness, _, control| {
        let remedy = ServerRemedy::Rejoin(hit.servers.clone());
        let (from, at) = (witness.proof.from, Cell::new(None));
        let in_effect = || {
            at.set(Some(clock::now()));
            effect.took((from, clock::now()), Remedy::Servers(remedy.clone()));
        };
        let is_own = cut(witness, control, &hit.servers, &in_effect).await;
        witness.proof.to = at.get().unwrap_or_else(clock::now);
        if is_own { remedy } else { ServerRemedy::Rejoin(Vec::new()) }
    })
    .await
}

/// Cuts these servers off. False: they were cut off already, and this changed nothing.
async fn cut(
    witness: &mut VerificationBuilder,
    control: &dyn ServerControl,
    servers: &[u32],
    in_effect: &dyn Fn(),
) -> bool {
    let cut = control.cut_noting(servers, in_effect).await;
    let (result, apart) = cut.map_or_else(|why| (Err(why), None), |(text, apart)| (Ok(text), apart));
    let is_own = !matches!(result, Err(EnsembleError::InEffect(_)));
    witness.proof.seen = apart;
    witness.take(result);
    is_own
}

/// Runs `act` on the affected servers, if there are any and the harness controls them.
async fn on_servers(
    cell: &Rc<LiveCell>,
    hit: &ResolvedTarget,
    act: impl AsyncFnOnce(&mut VerificationBuilder, &dyn Ensemble, &dyn ServerControl) -> ServerRemedy,
) -> InjectedFault {
    let mut witness = VerificationBuilder::new();
    let ensemble = &*cell.environment.ensemble;
    let Some(control) = ensemble.control().filter(|_| !hit.servers.is_empty()) else {
        let why =
            if hit.servers.is_empty() { "there was no such server to hit" } else { "these servers are not our own" };
        witness.find(false, why.to_owned());
        return InjectedFault { proof: witness.into_proof(), remedy: Remedy::None };
    };
    let remedy = act(&mut witness, ensemble, control).await;
    InjectedFault { proof: witness.into_proof(), remedy: Remedy::Servers(remedy) }
}

/// Kills servers one after the other, and verifies that none replies any more.
async fn kill_all(
    witness: &mut VerificationBuilder,
    ensemble: &dyn Ensemble,
    control: &dyn ServerControl,
    servers: &[u32],
) {
    let mut dead = Vec::new();
    for &server in servers {
        if witness.take(control.kill(server).await) {
            dead.push(server);
        }
    }
    witness.in_effect();
    all_show(witness, ensemble, &dead, ServerState::Down, SHOWS_AT_MOST).await;
}

/// Kills some servers, and makes the others acknowledge some writes without them.
async fn leave_behind(witness: &mut VerificationBuilder, cell: &LiveCell, control: &dyn ServerControl, behind: &[u32]) {
    let ensemble = &*cell.environment.ensemble;
    kill_all(witness, ensemble, control, behind).await;
    let addresses = ensemble.servers();
    let others: Vec<u32> = (1..).take(addresses.len()).filter(|server| !behind.contains(server)).collect();
    if !look::idle(&look::until_all_serve(ensemble, &others, SERVES_AT_MOST).await).is_empty() {
        witness.find(false, format!("without {behind:?} the other servers did not serve"));
        return;
    }
    let addresses: Vec<_> = others.iter().filter_map(|&server| addresses.get(server as usize - 1).copied()).collect();
    match admin::write(&cell.environment.access, &addresses, &cell.environment.chroot, WRITES_BEHIND).await {
        Ok(()) => witness.find(true, format!("{WRITES_BEHIND} writes were acknowledged without {behind:?}")),
        Err(error) => witness.find(false, format!("the writes without {behind:?} failed: {error:#}")),
    }
}

/// Polls all of these servers concurrently until they show a state, in bounded time.
async fn all_show(
    witness: &mut VerificationBuilder,
    ensemble: &dyn Ensemble,
    servers: &[u32],
    wanted: ServerState,
    silence: Duration,
) {
    let look = servers.iter().map(|&server| look::until(ensemble, server, wanted, (SHOWS_AT_MOST, silence)));
    for (&server, state) in servers.iter().zip(join_all(look).await) {
        witness.asked.insert(server, state);
        let judgement = if state == wanted { "" } else { "NOT as it should be: " };
        witness.find(state == wanted, format!("{judgement}asked from outside, server {server} is {}", state.name()));
    }
}

pub(super) async fn heal(cell: &Rc<LiveCell>, remedy: &ServerRemedy) -> Verification {
    undo(&*cell.environment.ensemble, &cell.status, remedy).await
}

async fn undo(ensemble: &dyn Ensemble, status: &CellStatus, remedy: &ServerRemedy) -> Verification {
    let mut witness = VerificationBuilder::new();
    let Some(control) = ensemble.control() else {
        witness.find(false, "these servers are not our own".to_owned());
        return witness.into_proof();
    };
    let servers = match remedy {
        ServerRemedy::Resume(servers) => {
            let resume = servers.iter().map(|&server| control.resume(server));
            join_all(resume).await.into_iter().for_each(|what| witness.take_undone(what));
            servers
        }
        ServerRemedy::Rejoin(servers) => {
            if !servers.is_empty() {
                witness.take_undone(control.rejoin(servers).await);
            }
            servers
        }
        ServerRemedy::Start { servers, gap, empty } => {
            for (place, &server) in servers.iter().enumerate() {
                // A run that is stopping does not wait between them.
                if place > 0 && !status.is_stopping() {
                    tokio::time::sleep(*gap).await;
                }
                witness.take(control.start(server, *empty).await);
            }
            servers
        }
    };
    witness.in_effect();
    if servers.is_empty() {
        witness.find(false, "the fault changed no server, and none was asked".to_owned());
        return witness.into_proof();
    }
    witness.asked.extend(look::until_all_serve(ensemble, servers, SERVES_AT_MOST).await);
    let idle: Vec<u32> = witness.asked.iter().filter(|(_, state)| !state.serves()).map(|(&server, _)| server).collect();
    match idle.is_empty() {
        true => witness.find(true, format!("asked from outside, {servers:?} serve again")),
        false => witness.find(false, format!("NOT as it should be: asked from outside, {idle:?} do not serve")),
    }
    witness.into_proof()
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use futures::future::LocalBoxFuture;
    use hustings_record::EnsembleKind;

    use super::*;
    use crate::ensemble::control::PartitionEvidence;

    /// Three servers that serve. Server 1 is paused as ordered. A pause of server 2, and a cut, fail after they may have
    /// taken effect. Server 3 was paused and cut off by another fault.
    struct HalfHurtServers;

    fn cannot(server: u32, why: &str) -> EnsembleError {
        EnsembleError::Control { server, what: "changed", why: why.to_owned() }
    }

    fn now<T: 'static>(result: Result<T, EnsembleError>) -> LocalBoxFuture<'static, Result<T, EnsembleError>> {
        Box::pin(std::future::ready(result))
    }

    impl ServerControl for HalfHurtServers {
        fn kill(&self, server: u32) -> LocalBoxFuture<'_, ServerEvidence> {
            now(Err(cannot(server, "not here")))
        }

        fn start(&self, server: u32, _: bool) -> LocalBoxFuture<'_, ServerEvidence> {
            now(Err(cannot(server, "not here")))
        }

        fn pause(&self, server: u32) -> LocalBoxFuture<'_, ServerEvidence> {
            now(match server {
                1 => Ok("paused".to_owned()),
                2 => Err(cannot(2, "its state was not seen")),
                _ => Err(cannot(server, "it is paused already").in_effect()),
            })
        }

        fn resume(&self, server: u32) -> LocalBoxFuture<'_, ServerEvidence> {
            now(match server {
                1 => Ok("resumed".to_owned()),
                2 => Err(cannot(2, "it is not paused").in_effect()),
                _ => Err(cannot(server, "somebody else has resumed it")),
            })
        }

        fn cut_noting<'a>(&'a self, servers: &'a [u32], _: &'a dyn Fn()) -> LocalBoxFuture<'a, PartitionEvidence> {
            let error = cannot(1, "a link was not held");
            now(Err(if servers.contains(&3) { error.in_effect() } else { error }))
        }

        fn rejoin<'a>(&'a self, _: &'a [u32]) -> LocalBoxFuture<'a, ServerEvidence> {
            now(Err(cannot(1, "no such cut").in_effect()))
        }
    }

    impl Ensemble for HalfHurtServers {
        fn servers(&self) -> Vec<SocketAddr> {
            vec![SocketAddr::from(([127, 0, 0, 1], 1)); 3]
        }

        fn control(&self) -> Option<&dyn ServerControl> {
            Some(self)
        }

        fn log(&self, _: u32) -> LocalBoxFuture<'_, Result<Option<String>, EnsembleError>> {
            now(Ok(None))
        }

        fn kind(&self) -> EnsembleKind {
            EnsembleKind::Embedded
        }

        fn version(&self) -> &str {
            "0"
        }

        fn describe(&self) -> String {
            String::new()
        }

        fn ask(&self, _: u32, _: &'static str) -> LocalBoxFuture<'_, Result<String, EnsembleError>> {
            now(Ok("Mode: follower\n".to_owned()))
        }

        fn check_alive(&self) -> LocalBoxFuture<'_, Result<Vec<String>, EnsembleError>> {
            now(Ok(Vec::new()))
        }

        fn stop(&self) -> LocalBoxFuture<'_, Result<(), EnsembleError>> {
            now(Ok(()))
        }
    }

    async fn healed(remedy: ServerRemedy) -> Verification {
        undo(&HalfHurtServers, &CellStatus::default(), &remedy).await
    }

    #[tokio::test]
    async fn a_server_whose_pause_failed_is_healed_and_one_that_another_fault_paused_is_not() {
        let mut witness = VerificationBuilder::new();
        let hit = pause_each(&mut witness, &HalfHurtServers, &[1, 2, 3]).await;
        assert_eq!(hit, HitServers { observed: vec![1], to_heal: vec![1, 2] });
        assert!(!witness.into_proof().verified);
        let proof = healed(ServerRemedy::Resume(hit.to_heal)).await;
        assert!(proof.verified && proof.evidence.contains("nothing to undo"), "{}", proof.evidence);
        let asked = proof.seen.map(|seen| seen.servers());
        assert_eq!(asked, Some(vec![1, 2]));
        let proof = healed(ServerRemedy::Resume(vec![1, 3])).await;
        assert!(!proof.verified && proof.evidence.contains("somebody else"), "{}", proof.evidence);
    }

    #[tokio::test]
    async fn a_cut_that_failed_is_rejoined_and_one_that_was_there_before_is_not() {
        let mut witness = VerificationBuilder::new();
        assert!(cut(&mut witness, &HalfHurtServers, &[1], &|| ()).await);
        assert!(!cut(&mut witness, &HalfHurtServers, &[3], &|| ()).await);
        assert!(!witness.into_proof().verified);
        let proof = healed(ServerRemedy::Rejoin(vec![1])).await;
        assert!(proof.verified && proof.evidence.contains("nothing to undo"), "{}", proof.evidence);
    }

    #[tokio::test]
    async fn a_heal_that_asked_no_server_is_not_verified() {
        let nobody = |servers: Vec<u32>| [ServerRemedy::Resume(servers.clone()), ServerRemedy::Rejoin(servers)];
        for remedy in nobody(Vec::new()) {
            assert!(!healed(remedy).await.verified);
        }
    }
}
