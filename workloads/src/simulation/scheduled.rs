//! A schedule instead of a plan: its timed actions, and its sync points.

use std::rc::Rc;

use super::sim_cell::SimCell;
use super::world::{AnswerDelivery, ArmedSyncPoint, RequestDelivery, SyncPointEffect};
use crate::model::Micros;
use crate::schedule::{Action, Step, StepTrigger};

/// Begins a schedule. Returns the longest duration of its own steps, as far as that is known.
pub(super) fn follow(sim: &Rc<SimCell>, steps: &[Step]) -> Micros {
    let world = &sim.world;
    arm_sync_points(sim, steps, true);
    let mut last = 0;
    for step in steps {
        let lasts_ms = match step.action {
            Action::Partition { for_ms, .. } | Action::Pause { for_ms, .. } | Action::Server { for_ms, .. } => for_ms,
            Action::RestartServers { gap_ms } => gap_ms * u64::from(sim.state.cell.servers),
            Action::Crash { for_ms, .. } => for_ms.unwrap_or(0),
            Action::DelayRequest(ms) | Action::DelayReply(ms) => ms,
            Action::LoseReply
            | Action::LoseRequest
            | Action::Disconnect(_)
            | Action::Expire(_)
            | Action::Resign(_)
            | Action::DeleteNode(_)
            | Action::DeleteParent
            | Action::Lag { .. }
            | Action::Slow { .. }
            | Action::SlowWrites { .. }
            | Action::Close(_)
            | Action::CountFrom(_)
            | Action::SetClockBack { .. } => 0,
        };
        let at_ms = match step.when {
            StepTrigger::At(ms) => {
                let action = step.action;
                let own = sim.clone();
                world.clock.later(world.clock.now() + ms * 1_000, move || own.act(action));
                ms
            }
            StepTrigger::Sent { after_ms, .. } => after_ms.unwrap_or(0),
            StepTrigger::Leads { .. } => 0,
        };
        last = last.max((at_ms + lasts_ms) * 1_000);
    }
    last
}

/// Sets the sync points for requests or terms: those that count from the start, or those that count from now on.
pub(super) fn arm_sync_points(sim: &Rc<SimCell>, steps: &[Step], measuring: bool) {
    let now = sim.world.clock.now();
    for step in steps {
        match step.when {
            StepTrigger::Sent { cand, kind, part, nth, after_ms } if after_ms.is_some() == measuring => {
                let from = now + after_ms.unwrap_or(0) * 1_000;
                let point = ArmedSyncPoint {
                    cand,
                    kind,
                    part: part.to_owned(),
                    left: nth,
                    from,
                    effect: effect(sim, step.action),
                };
                sim.world.sync_points.borrow_mut().arm(point);
            }
            StepTrigger::Leads { cand, nth } if !measuring => {
                sim.on_leading.borrow_mut().entry((cand, nth)).or_default().push(step.action);
            }
            // These are timed, set already, or set later.
            StepTrigger::At(_) | StepTrigger::Sent { .. } | StepTrigger::Leads { .. } => {}
        }
    }
}

fn effect(sim: &Rc<SimCell>, action: Action) -> SyncPointEffect {
    match action {
        Action::LoseRequest => SyncPointEffect::Request(RequestDelivery::Lost),
        Action::DelayRequest(ms) => SyncPointEffect::Request(RequestDelivery::Late(ms * 1_000)),
        Action::LoseReply => SyncPointEffect::Answer(AnswerDelivery::Lost),
        Action::DelayReply(ms) => SyncPointEffect::Answer(AnswerDelivery::Late(ms * 1_000)),
        other => {
            let own = sim.clone();
            SyncPointEffect::Call(Box::new(move || own.act(other)))
        }
    }
}
