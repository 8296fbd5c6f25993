//! Handles the hosts' messages: writes to the resource, beliefs, fencings, replies and shutdowns.

use std::rc::Rc;
use std::time::Duration;

use hustings_record::{Event, FencingMethod};
use hustings_workloads::host::{Predecessor, Token};
use tokio::sync::mpsc;

use crate::coordinator::batch::in_order_of_sending;
use crate::coordinator::hosts::HostMessage;
use crate::coordinator::live_cell::LiveCell;
use crate::coordinator::unanswered_writes::UnansweredWrite;
use crate::process::clock;
use crate::protocol::{FromHost, ToHost};

/// Delay between a program's unplanned end and its restart, and the maximum of such ends per host.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
const DEATHS_MAX: usize = 20;

/// Messages taken at once; after a stall more may be queued.
const BATCH_MAX: usize = 1 << 12;

/// Serves all hosts of a cell until the last sender is gone.
pub(super) async fn serve(cell: Rc<LiveCell>, mut inbound: mpsc::Receiver<HostMessage>) {
    let mut batch = Vec::new();
    while inbound.recv_many(&mut batch, BATCH_MAX).await > 0 {
        for HostMessage { host, generation, message } in in_order_of_sending(batch.drain(..)) {
            match message {
                Some(message) => take(&cell, host, generation, message),
                None => hung_up(&cell, host, generation).await,
            }
        }
    }
}

fn take(cell: &Rc<LiveCell>, host: u16, generation: u32, message: FromHost) {
    match message {
        FromHost::Hello { .. } => {}
        FromHost::Ready { acts, equal_paths } => {
            if cell.state.cell.equal_paths && !equal_paths {
                // The binary of --against-exe may be older than equal paths.
                let what = "its program does not know the paths of programs: use election.paths = \"short\"";
                cell.status.fail(format!("host {host}: {what}"));
            }
            if cell.hosts.is_current(host, generation) {
                cell.hosts.process(host, |process| process.is_acted_for_by(acts));
            }
        }
        // Late messages of an ended process must not restore its beliefs.
        FromHost::Progress { .. } | FromHost::Belief { .. } if !cell.hosts.is_current(host, generation) => {}
        FromHost::Progress { connected, standing } => {
            cell.hosts.with(host, |host| host.progress = (connected, standing));
            cell.status.touch();
        }
        FromHost::Belief { cand, token } => {
            if let Some(token) = token {
                cell.hosts.with(host, |host| host.led.insert(token.session, generation));
            }
            cell.state.leaders.borrow_mut().believe(cand, token);
            cell.status.touch();
        }
        FromHost::Write { cand, token, node, sent, is_stamped, .. } => {
            let token = node.map_or(token, |node| cell.token_of(cand, token, &node));
            let write = UnansweredWrite { host, generation, cand, token, sent: is_stamped.then_some(sent) };
            if let Some(write) = cell.hung.keep(write) {
                cell.take(write);
            }
        }
        FromHost::Fence { request, cand, old, new, .. } => {
            let owned = cell.clone();
            cell.background_tasks.send(async move {
                let error = fence(&owned, host, cand, &old, new).await;
                owned.hosts.tell(host, generation, ToHost::Fenced { request, error });
            });
        }
        FromHost::Won { cand } => {
            if !cell.sync_point.triggers(host, generation, cand) {
                cell.hosts.tell(host, generation, ToHost::GoOn { cand });
            }
        }
        FromHost::FloorDone { part, one, taken } => {
            if let Some(waiting) = &*cell.floor.borrow() {
                // The floor measurement has timed out.
                let _ = waiting.try_send((part, one, taken));
            }
        }
        FromHost::Done { fault, cand, outcome } => {
            if let Some(waiting) = cell.hosts.with(host, |host| host.orders.remove(&(fault, cand))).flatten() {
                // The fault may have timed out.
                let _ = waiting.send(outcome);
            }
        }
        FromHost::Clock { outcome } => {
            if let Some(waiting) = cell.hosts.with(host, |host| host.clock.take()).flatten() {
                // The fault may have timed out.
                let _ = waiting.send(outcome);
            }
        }
        FromHost::Failed { what } => cell.status.fail(format!("host {host}: {what}")),
        FromHost::Died { what } => _ = cell.hosts.with(host, |host| host.deaths.push((generation, what))),
        FromHost::Bye { closed, unanswered } => {
            if unanswered > 0 {
                let text = format!("host {host} closed {closed} sessions; {unanswered} closes were not answered");
                cell.journal.push(&Event::Note { t: clock::now(), cand: None, text });
            }
        }
    }
}

/// Ensures that a former leader cannot act any more, by the cell's fencing method; otherwise returns the reason.
async fn fence(cell: &Rc<LiveCell>, host: u16, cand: u32, old: &Predecessor, new: Token) -> Option<String> {
    let group = cell.state.leaders.borrow().group_of(cand);
    let (how, error) = match (cell.state.cell.fencing, group) {
        (_, None) => (FencingMethod::None, Some("no such candidate".to_owned())),
        (FencingMethod::None, _) => (FencingMethod::None, None),
        (FencingMethod::Resource, Some(group)) => {
            cell.state.resource.borrow_mut().bar(group as usize, old.token);
            (FencingMethod::Resource, None)
        }
        // A host cannot fence itself by its own death.
        (FencingMethod::Kill, _) if old.host == host => (FencingMethod::None, None),
        (FencingMethod::Kill, _) => (FencingMethod::Kill, kill(cell, old).await),
    };
    cell.journal.push(&Event::Fence {
        t: clock::now(),
        group: group.unwrap_or(u32::MAX),
        by: cand,
        old_czxid: old.token.czxid,
        old_session: old.token.session,
        how,
        done: error.is_none() && cell.state.cell.fencing == FencingMethod::Resource && group.is_some(),
    });
    tracing::debug!(cand, ?old, ?new, %how, "fenced");
    error
}

/// Kills the host of a former leader, and restarts it as a supervisor would. A host that has ended already is fenced.
async fn kill(cell: &Rc<LiveCell>, old: &Predecessor) -> Option<String> {
    let host = old.host;
    match cell.hosts.kill_leader(host, old.token.session).await {
        Ok(true) => {}
        Ok(false) => return None,
        Err(error) => return Some(format!("host {host} could not be killed: {error:#}")),
    }
    let owned = cell.clone();
    cell.background_tasks.send(async move {
        if let Err(error) = owned.hosts.restart(&[host]).await {
            owned.status.fail(format!("host {host} could not be started again after it was fenced: {error:#}"));
        }
    });
    None
}

/// A host's connection has ended: in order, by the harness, or by an accident that ends the run.
async fn hung_up(cell: &Rc<LiveCell>, host: u16, generation: u32) {
    if cell.status.is_stopping() {
        return;
    }
    let Some(mut process) = cell.hosts.lost(host, generation) else { return };
    let died = cell.hosts.reported_death(host, generation);
    let status = match process.wait(Duration::from_secs(2)).await {
        Ok((status, _)) => status.to_string(),
        Err(error) => error.to_string(),
    };
    match died {
        // The harness's own process behaved correctly.
        Some(what) => {
            cell.hosts.ended(host, generation, false, &what, 0);
            start_again(cell, host, what);
        }
        None => {
            cell.hosts.ended(host, generation, false, &status, 0);
            cell.status.fail(format!("host {host} ended by itself: {status}"));
        }
    }
}

/// Restarts a host whose program ended by itself, as a supervisor would.
fn start_again(cell: &Rc<LiveCell>, host: u16, what: String) {
    let owned = cell.clone();
    cell.background_tasks.send(async move {
        if owned.status.before_tear_down(tokio::time::sleep(AGAIN_AFTER)).await.is_none() {
            return;
        }
        if owned.hosts.with(host, |host| host.deaths.len()) > Some(DEATHS_MAX) {
            return owned.status.fail(format!("host {host} does not stay: {what}"));
        }
        if let Err(error) = owned.hosts.restart(&[host]).await {
            owned.status.fail(format!("host {host} could not be started again after {what}: {error:#}"));
        }
    });
}
