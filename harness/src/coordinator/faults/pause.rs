//! `pause`: the host's process is stopped, as by a long garbage collection or a suspended machine, and later continued.
//! Its links live in other processes and are not stopped.

use std::fmt::Display;
use std::rc::Rc;
use std::time::Duration;

use hustings_record::numbers::nanos;
use hustings_record::{Evidence, Nanos, ProcessFate};
use hustings_workloads::driver::{Effect, InjectedFault, Remedy, StoppedHost, Verification};
use hustings_workloads::plan::ResolvedTarget;
use rustix::process::Signal;

use crate::coordinator::live_cell::LiveCell;
use crate::process::clock;
use crate::process::procfs::{fate_of, process_state};

/// The kernel shows the new state well within this.
const SEEN_AT_MOST: Duration = Duration::from_secs(1);

pub(super) async fn inject(cell: &Rc<LiveCell>, hit: &ResolvedTarget, effect: &Effect) -> InjectedFault {
    let (mut proof, stopped) = stop(cell, &hit.hosts).await;
    effect.took((proof.from, proof.to), Remedy::Continue(stopped.clone()));
    if cell.environment.links.is_some() {
        match cell.environment.touches(&hit.hosts).await {
            Ok(touches) => proof.touches = touches,
            Err(why) => proof.evidence = format!("{}; {why}", proof.evidence),
        }
    }
    InjectedFault { proof, remedy: Remedy::Continue(stopped) }
}

pub(super) async fn heal(cell: &Rc<LiveCell>, stopped: &[StoppedHost]) -> Verification {
    let mut signalled = SignalResults::new(true);
    for &StoppedHost { host, process } in stopped {
        match cell.hosts.pid(host) {
            Some(pid) if Some(pid) == process => signalled.send(cell, host, pid, false).await,
            // The stopped process is gone; another one, or none, took its place. This fault did not stop it.
            pid => signalled.see(host, pid, true, "what was stopped is not there any more"),
        }
    }
    signalled.proof()
}

async fn stop(cell: &Rc<LiveCell>, hosts: &[u16]) -> (Verification, Vec<StoppedHost>) {
    let (mut signalled, mut stopped) = (SignalResults::new(!hosts.is_empty()), Vec::new());
    for &host in hosts {
        let running = cell.hosts.pid(host).filter(|&pid| process_state(pid) != Some('T'));
        match running {
            None => signalled.see(host, cell.hosts.pid(host), false, "no process that runs"),
            Some(pid) => signalled.send(cell, host, pid, true).await,
        }
        stopped.push(StoppedHost { host, process: running });
    }
    (signalled.proof(), stopped)
}

/// The results of signals to hosts.
struct SignalResults {
    from: Nanos,
    verified: bool,
    seen: Vec<String>,
    fates: Vec<(u16, ProcessFate)>,
}

impl SignalResults {
    fn new(verified: bool) -> Self {
        Self { from: clock::now(), verified, seen: Vec::new(), fates: Vec::new() }
    }

    /// Stops or continues a host's process, and reads the resulting state from the kernel.
    async fn send(&mut self, cell: &Rc<LiveCell>, host: u16, pid: u32, stop: bool) {
        if let Err(error) = cell.hosts.signal(host, if stop { Signal::STOP } else { Signal::CONT }) {
            return self.see(host, Some(pid), false, error);
        }
        let state = wait_for_state(pid, stop).await;
        let done = state.is_some_and(|state| (state == 'T') == stop);
        self.see(host, Some(pid), done, format_args!("state {}", state.unwrap_or('?')));
    }

    fn see(&mut self, host: u16, pid: Option<u32>, done: bool, what: impl Display) {
        self.verified &= done;
        self.fates.push((host, fate_of(pid)));
        self.seen.push(format!("host {host}: {what}"));
    }

    fn proof(self) -> Verification {
        let Self { from, verified, seen, fates } = self;
        let (evidence, seen) = (seen.join("; "), Some(Evidence::of_processes(fates)));
        Verification { from, to: clock::now(), verified, evidence, seen, ..Verification::default() }
    }
}

async fn wait_for_state(pid: u32, stopped: bool) -> Option<char> {
    let until = clock::now() + nanos(SEEN_AT_MOST);
    loop {
        let state = process_state(pid);
        if state.is_none_or(|state| (state == 'T') == stopped) || clock::now() > until {
            return state;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
