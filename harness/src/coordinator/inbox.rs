//! Takes what hosts say: writes to the resource, beliefs, fencings, answers and farewells.

use std::rc::Rc;

use hustings_reports::record::Event;
use hustings_workloads::booth::{Predecessor, Token};
use hustings_workloads::scenario::FencingMethod;
use tokio::sync::mpsc;

use crate::clock;
use crate::coordinator::hosts::Inbound;
use crate::coordinator::stage::Stage;
use crate::host::said;
use crate::protocol::{FromHost, ToHost};

/// Serves all hosts of a cell until the last sender is gone.
pub(super) async fn serve(stage: Rc<Stage>, mut inbound: mpsc::Receiver<Inbound>) {
    while let Some(Inbound { host, life, message }) = inbound.recv().await {
        match message {
            Some(message) => take(&stage, host, life, message),
            None => hung_up(&stage, host, life).await,
        }
    }
}

fn take(stage: &Rc<Stage>, host: u16, life: u32, message: FromHost) {
    match message {
        FromHost::Hello { .. } | FromHost::Ready => {}
        // The last words of a process that is dead must not bring its beliefs back.
        FromHost::Progress { .. } | FromHost::Belief { .. } if !stage.is_current(host, life) => {}
        FromHost::Progress { connected, standing } => {
            stage.progress.borrow_mut().insert(host, (connected, standing));
            stage.touch();
        }
        FromHost::Belief { cand, token } => {
            stage.led.borrow_mut().extend(token.map(|token| (token.session, life)));
            stage.leaders.borrow_mut().believe(cand, token);
            stage.touch();
        }
        FromHost::Write { cand, token } => {
            write(stage, host, cand, token);
            stage.tell(host, life, ToHost::Written { cand });
        }
        FromHost::Fence { request, cand, old, new } => {
            let stage = stage.clone();
            stage.clone().errand(async move {
                let error = fence(&stage, host, cand, &old, new).await;
                stage.tell(host, life, ToHost::Fenced { request, error });
            });
        }
        FromHost::FloorDone { part, stamps } => {
            if let Some(waiting) = &*stage.floor.borrow() {
                // Nobody waits any more when it took too long.
                let _ = waiting.try_send((part, stamps));
            }
        }
        FromHost::Done { fault, cand, outcome } => {
            if let Some(waiting) = stage.asked.borrow_mut().remove(&(fault, cand)) {
                // The fault has given up waiting.
                let _ = waiting.send(outcome);
            }
        }
        FromHost::Failed { what } => stage.fail(format!("host {host}: {what}")),
        FromHost::Bye { closed, unanswered } => {
            if unanswered > 0 {
                let text = format!("host {host} closed {closed} sessions; {unanswered} closes were not answered");
                stage.journal.push(&Event::Note { t: clock::now(), cand: None, text });
            }
        }
    }
}

fn write(stage: &Stage, host: u16, cand: u32, token: Token) {
    let Some(group) = stage.leaders.borrow().group_of(cand) else { return };
    let taken = stage.resource.borrow_mut().write(group as usize, cand, token);
    stage.journal.push(&said::written(clock::now(), group, (cand, host), token, taken));
}

/// Makes sure that a former leader cannot act any more, as the cell says; else tells why not.
async fn fence(stage: &Rc<Stage>, host: u16, cand: u32, old: &Predecessor, new: Token) -> Option<String> {
    let group = stage.leaders.borrow().group_of(cand);
    let (how, error) = match (stage.cell.fencing, group) {
        (_, None) => ("none", Some("no such candidate".to_owned())),
        (FencingMethod::None, _) => ("none", None),
        (FencingMethod::Resource, Some(group)) => {
            stage.resource.borrow_mut().bar(group as usize, old.token);
            ("resource", None)
        }
        // A host cannot outlive its own fencing.
        (FencingMethod::Kill, _) if old.host == host => ("none", None),
        (FencingMethod::Kill, _) => ("kill", kill(stage, old).await),
    };
    stage.journal.push(&Event::Fence {
        t: clock::now(),
        group: group.unwrap_or(u32::MAX),
        by: cand,
        old_czxid: old.token.czxid,
        old_session: old.token.session,
        how: how.to_owned(),
        done: error.is_none() && stage.cell.fencing == FencingMethod::Resource && group.is_some(),
    });
    tracing::debug!(cand, ?old, ?new, how, "fenced");
    error
}

/// Kills the host of a former leader, and starts it again as a supervisor would. A host that is dead already is fenced.
async fn kill(stage: &Rc<Stage>, old: &Predecessor) -> Option<String> {
    let host = old.host;
    match stage.kill_leader(host, old.token.session).await {
        Ok(true) => {}
        Ok(false) => return None,
        Err(error) => return Some(format!("host {host} could not be killed: {error:#}")),
    }
    let stage = stage.clone();
    stage.clone().errand(async move {
        if let Err(error) = stage.restart(&[host]).await {
            stage.fail(format!("host {host} could not be started again after it was fenced: {error:#}"));
        }
    });
    None
}

/// A host's connection has ended: in order, by our doing, or by an accident that ends the run.
async fn hung_up(stage: &Rc<Stage>, host: u16, life: u32) {
    if stage.stopping.get() || stage.buried.borrow().contains(&(host, life)) {
        return;
    }
    let process = {
        let mut hosts = stage.hosts.borrow_mut();
        match hosts.get(&host) {
            Some(process) if process.life == life => hosts.remove(&host),
            _ => None,
        }
    };
    let Some(mut process) = process else { return };
    let status = match process.wait(std::time::Duration::from_secs(2)).await {
        Ok((status, _)) => status.to_string(),
        Err(error) => error.to_string(),
    };
    stage.ended(host, life, false, &status, 0);
    stage.fail(format!("host {host} ended by itself: {status}"));
}
