//! Carries out a fault plan: injects each fault at its intended time, heals it after its duration, and records both.

use std::pin::pin;
use std::rc::Rc;

use futures::channel::oneshot;
use futures::future::{Either, select};
use futures::stream::{FuturesUnordered, StreamExt as _};
use hustings_record::{Event, FaultKind, Nanos, VerificationStage, WithheldReason, overran, words};

use super::backend::Backend;
use super::effect::Effect;
use super::injected_fault::Remedy;
use crate::faults::Moment;
use crate::plan::{LeaderView, Plan, PlannedFault, ResolvedTarget, WON_WITHIN_T, plan, resolve};

/// Bound on the wait for servers under a fault to be healed.
const BACK_AT_MOST_NS: Nanos = 60_000_000_000;
/// Interval between two checks for that.
const LOOK_AGAIN_NS: Nanos = 50_000_000;

/// Carries out the cell's plan. Returns the end of the measured time.
pub async fn as_planned<B: Backend>(backend: &Rc<B>) -> Nanos {
    let state = backend.state();
    let (start, plan) = (backend.now(), plan(&state.cell, state.seed));
    let until = start + plan.measure_ms * 1_000_000;
    backend.progress(|| format!("{}: measuring for about {} s", state.cell.name, plan.measure_ms.div_ceil(1_000)));
    let (sender, done) = oneshot::channel();
    let own = backend.clone();
    // A background task runs to its end even when the cell is cut short.
    backend.background_task(async move {
        carry_out(&own, &plan, start).await;
        // The receiver is gone when the cell was cut short.
        let _ = sender.send(());
    });
    // An error means that the background task has failed; the backend reports that.
    let _ = done.await;
    until
}

/// Runs a plan that begins at `start`. Returns when every fault has been injected and healed. When the cell is cut
/// short, it returns once the injected faults are healed.
async fn carry_out<B: Backend>(backend: &Rc<B>, plan: &Plan, start: Nanos) {
    let end = start + plan.measure_ms * 1_000_000;
    backend.record(plan.event(start));
    let mut running = FuturesUnordered::new();
    for (place, planned) in plan.faults.iter().enumerate() {
        let intended = start + planned.at_ms * 1_000_000;
        let wait = async {
            let goes_on = backend.goes_on_until(intended).await;
            if goes_on && planned.kind() == FaultKind::ServerRestartAll {
                servers_are_back(backend).await;
            }
            goes_on
        };
        if !beside(wait, &mut running).await {
            plan.faults[place..].iter().for_each(|left| withhold(&**backend, left, WithheldReason::CutShort));
            break;
        }
        let state = backend.state();
        let hit = match aim(&**backend, planned) {
            Ok(hit) => hit,
            Err(why) => {
                withhold(&**backend, planned, why);
                continue;
            }
        };
        let hits = hit.split(&state.cell, planned.kind(), &state.leaders.borrow());
        for hit in hits {
            // The target of a fault that waits for a winner is unaffected until then.
            if planned.moment.is_planned() {
                state.injure(planned.kind(), &hit);
            }
            running.push(injection(backend.clone(), planned.clone(), hit, intended, end));
        }
    }
    while running.next().await.is_some() {}
}

/// Records that a planned fault is not injected, and why.
fn withhold<B: Backend>(backend: &B, planned: &PlannedFault, why: WithheldReason) {
    let Some(id) = planned.id else { return };
    backend.record(Event::FaultWithheld { t: backend.now(), planned: id, why });
    backend.warn(&format!(
        "{}: planned fault {id}, {}, is withheld: {}",
        backend.state().cell.name,
        planned.kind(),
        why.about()
    ));
}

/// Waits for `wait`, while the tasks in `running` go on.
async fn beside<T>(wait: impl Future<Output = T>, running: &mut FuturesUnordered<impl Future<Output = ()>>) -> T {
    let mut wait = std::pin::pin!(wait);
    loop {
        if running.is_empty() {
            return wait.await;
        }
        match futures::future::select(wait.as_mut(), running.next()).await {
            futures::future::Either::Left((done, _)) => return done,
            futures::future::Either::Right(_) => {}
        }
    }
}

/// A fault on all servers waits until the fault before it is healed: on a busy machine servers may be late.
async fn servers_are_back<B: Backend>(backend: &Rc<B>) {
    let until = backend.now() + BACK_AT_MOST_NS;
    while !backend.state().injured_servers().is_empty() && backend.now() < until {
        if !backend.goes_on_until(backend.now() + LOOK_AGAIN_NS).await {
            return;
        }
    }
}

/// One fault on its marked target: injected, verified, and healed after its duration. `end`: of the measured time.
pub async fn injection<B: Backend>(
    backend: Rc<B>,
    planned: PlannedFault,
    hit: ResolvedTarget,
    intended: Nanos,
    end: Nanos,
) {
    let (hit, intended) = match planned.moment {
        Moment::Planned => (hit, intended),
        Moment::Won => {
            let Some(hit) = await_winner(&*backend, &hit).await else {
                backend.let_win();
                return withhold(&*backend, &planned, WithheldReason::NoWinner);
            };
            backend.state().injure(planned.kind(), &hit);
            // Its intended time is now.
            (hit, backend.now())
        }
    };
    let id = backend.state().next_fault();
    let ordered = backend.now();
    backend.record(planned.event(id, ordered, intended, &hit));
    let heal_at = |in_effect: Nanos| heal_time(&planned, in_effect.max(intended), end);
    let (effect, in_effect) = Effect::new();
    let injected = {
        let mut inject = pin!(backend.inject(id, &planned, &hit, &effect));
        let time_up = async {
            match in_effect.await {
                Ok(injury) if planned.for_ms().is_some() => {
                    // A killed process may take long to die. Any verification after that has until the same time.
                    let until = heal_at(injury.proof.to.max(backend.now()));
                    let goes_on = backend.goes_on_until(until).await;
                    (injury, goes_on)
                }
                // It takes effect in an instant, is a sync point, or is healed when the measured time ends.
                Ok(_) | Err(_) => std::future::pending().await,
            }
        };
        match select(inject.as_mut(), pin!(time_up)).await {
            Either::Left((injury, _)) => (injury, None),
            Either::Right(((injury, goes_on), _)) => (injury, Some(goes_on)),
        }
    };
    let (mut injury, time_up) = injected;
    if planned.moment == Moment::Won {
        backend.let_win();
        injury.proof.evidence = format!("held at the grant of a candidate; {}", injury.proof.evidence);
    }
    let in_effect = injury.proof.to;
    backend.record(injury.proof.verification(id, planned.kind(), VerificationStage::Injected));
    // Heals even when the cell is cut short, except that dead processes are then not restarted.
    if lasts(&planned, &injury.remedy) {
        let goes_on = match time_up {
            Some(goes_on) => goes_on,
            None => backend.goes_on_until(heal_at(in_effect)).await,
        };
        if goes_on || !injury.remedy.restarts_processes() {
            let mut healed = backend.heal(&injury.remedy).await;
            // If it ended early, its duration says nothing.
            let due = left_ms(&planned).filter(|_| goes_on);
            let lasted = healed.from.saturating_sub(in_effect);
            if let Some(ms) = due.filter(|ms| overran(lasted, *ms)) {
                healed.evidence = format!("{}; {}", words::overrun(lasted, ms), healed.evidence);
            }
            backend.record(healed.verification(id, planned.kind(), VerificationStage::Healed));
        }
    }
    backend.state().restore(planned.kind(), &hit);
}

/// How long a fault lasts once it is in effect. `None` for a sync point: it has waited for all of its time.
fn left_ms(planned: &PlannedFault) -> Option<u64> {
    planned.for_ms().filter(|_| !planned.kind().facts().waits_at_sync_point)
}

/// When to heal a fault that took effect at `in_effect`.
fn heal_time(planned: &PlannedFault, in_effect: Nanos, end: Nanos) -> Nanos {
    match left_ms(planned) {
        // A server stays down until the measured time ends; the next cell needs it again.
        None if planned.kind() == FaultKind::ServerKill => end,
        lasts => in_effect + lasts.unwrap_or(0) * 1_000_000,
    }
}

/// Holds the first candidate that wins on one of these hosts before it believes so. Returns its host, with everything
/// that a fault on it hits. A host that is under another lasting fault is left out. `None`: no candidate wins in time.
async fn await_winner<B: Backend>(backend: &B, hit: &ResolvedTarget) -> Option<ResolvedTarget> {
    let state = backend.state();
    let until = backend.now() + WON_WITHIN_T * state.cell.timeout_granted_ms() * 1_000_000;
    let mut hosts = hit.hosts.clone();
    let host = loop {
        hosts.retain(|host| !state.is_injured(*host));
        if hosts.is_empty() {
            return None;
        }
        let host = backend.winner(&hosts, until).await?;
        // Another fault may have hit the host in the meantime.
        if !state.is_injured(host) {
            break host;
        }
        backend.let_win();
    };
    let leaders = state.leaders.borrow();
    let led = leaders.of_groups();
    let leads = |group: &u32| led[*group as usize].is_some_and(|(_, leader)| leader == host);
    let groups = (0_u32..).take(led.len()).filter(leads).collect();
    let mut cands: Vec<u32> = leaders.on_host(host).collect();
    cands.sort_unstable();
    Some(ResolvedTarget { hosts: vec![host], cands, groups, servers: hit.servers.clone() })
}

/// Whether there is something to heal. A crash without a duration leaves its hosts dead until the cell ends.
fn lasts(planned: &PlannedFault, remedy: &Remedy) -> bool {
    match remedy {
        Remedy::None => false,
        Remedy::Restart(_) => planned.for_ms().is_some(),
        Remedy::Links(..) | Remedy::Continue(_) | Remedy::Take(_) | Remedy::SetClocks { .. } | Remedy::Servers(_) => {
            true
        }
    }
}

/// Resolves the target of a fault by the current leaders, or says why it hits nothing.
fn aim<B: Backend>(backend: &B, planned: &PlannedFault) -> Result<ResolvedTarget, WithheldReason> {
    let state = backend.state();
    let is_free = |host: &u16| !state.is_injured(*host) && !state.is_armed(planned.kind(), *host);
    let alive: Vec<u16> = backend.running().into_iter().filter(is_free).collect();
    let servers: Vec<u32> = state.servers.serving().difference(&state.injured_servers()).copied().collect();
    let leaders = state.leaders.borrow();
    let view = LeaderView {
        leader_of_group: &leaders.of_groups(),
        placement: leaders.placement(),
        alive: &alive,
        server_leader: state.servers.leader(),
        servers: &servers,
    };
    resolve(&state.cell, state.seed, planned, view)
}
