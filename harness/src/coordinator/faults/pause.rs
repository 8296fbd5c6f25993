//! `pause`: the host's process is stopped, as by a long garbage collection or a suspended machine, and later continued.
//! Its links live in other processes and are not stopped. Of a program, the process group is stopped. If a process of
//! the program runs on in another group, the pause is not verified.

use std::fmt::Display;
use std::rc::Rc;
use std::time::Duration;

use futures::future::join_all;
use hustings_record::numbers::nanos;
use hustings_record::{Evidence, Nanos, ProcessFate};
use hustings_workloads::driver::{Effect, InjectedFault, Remedy, StoppedHost, Verification};
use hustings_workloads::plan::ResolvedTarget;
use rustix::process::Signal;

use crate::coordinator::hosts::HostProcess;
use crate::coordinator::live_cell::LiveCell;
use crate::process::clock;
use crate::process::pause::{SEEN_AT_MOST, all_stopped};
use crate::process::procfs::{fate_of, process_state};

pub(super) async fn inject(cell: &Rc<LiveCell>, hit: &ResolvedTarget, effect: &Effect) -> InjectedFault {
    let (mut proof, stopped) = stop(cell, &hit.hosts, effect).await;
    effect.seen(proof.clone(), Remedy::Continue(stopped.clone()));
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
            Some(pid) if Some(pid) == process => {
                signalled.send((host, pid), false, |signal| cell.hosts.signal(host, signal)).await;
            }
            // The stopped process is gone; another one, or none, took its place. This fault did not stop it.
            pid => signalled.see(host, pid, true, "what was stopped is not there any more"),
        }
    }
    signalled.proof()
}

async fn stop(cell: &Rc<LiveCell>, hosts: &[u16], effect: &Effect) -> (Verification, Vec<StoppedHost>) {
    let (mut signalled, mut stopped) = (SignalResults::new(!hosts.is_empty()), Vec::new());
    for &host in hosts {
        let running = cell.hosts.pid(host).filter(|&pid| process_state(pid) != Some('T'));
        match running {
            None => signalled.see(host, cell.hosts.pid(host), false, "no process that runs"),
            Some(pid) => signalled.send((host, pid), true, |signal| cell.hosts.signal(host, signal)).await,
        }
        stopped.push(StoppedHost { host, process: running });
    }
    let times = (signalled.from, clock::now());
    signalled.to = Some(times.1);
    let waits = || effect.took(times, Remedy::Continue(stopped.clone()));
    let program = |host: &StoppedHost| cell.hosts.process(host.host, HostProcess::program).flatten();
    let programs = stopped.iter().filter(|host| host.process.is_some()).filter_map(|host| Some((host, program(host)?)));
    let all = programs.map(|(host, program)| async move { (host.host, all_stopped(program, waits).await) });
    let all = join_all(all).await;
    for (host, why) in all.into_iter().filter_map(|(host, all)| Some((host, all.err()?))) {
        signalled.verified = false;
        signalled.seen.push(format!("host {host}: {why}"));
    }
    (signalled.proof(), stopped)
}

/// The results of signals to hosts.
struct SignalResults {
    from: Nanos,
    /// When all signals had taken effect. None: when the results are read.
    to: Option<Nanos>,
    verified: bool,
    seen: Vec<String>,
    fates: Vec<(u16, ProcessFate)>,
}

impl SignalResults {
    fn new(verified: bool) -> Self {
        Self { from: clock::now(), to: None, verified, seen: Vec::new(), fates: Vec::new() }
    }

    /// Stops or continues a host's process, and reads the resulting state from the kernel.
    async fn send(&mut self, (host, pid): (u16, u32), stop: bool, signal: impl FnOnce(Signal) -> std::io::Result<()>) {
        let before = process_state(pid);
        if let Err(error) = signal(if stop { Signal::STOP } else { Signal::CONT }) {
            return self.see(host, Some(pid), false, error);
        }
        let state = wait_for_state(pid, stop).await;
        if !stop && before != Some('T') {
            let before = before.unwrap_or('?');
            return self.see(host, Some(pid), false, format_args!("it was not stopped any more: state {before}"));
        }
        let done = state.is_some_and(|state| (state == 'T') == stop);
        self.see(host, Some(pid), done, format_args!("state {}", state.unwrap_or('?')));
    }

    fn see(&mut self, host: u16, pid: Option<u32>, done: bool, what: impl Display) {
        self.verified &= done;
        self.fates.push((host, fate_of(pid)));
        self.seen.push(format!("host {host}: {what}"));
    }

    fn proof(self) -> Verification {
        let Self { from, to, verified, seen, fates } = self;
        let (evidence, seen) = (seen.join("; "), Some(Evidence::of_processes(fates)));
        let to = to.unwrap_or_else(clock::now);
        Verification { from, to, verified, evidence, seen, ..Verification::default() }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::marked_shell::MarkedShell;

    #[tokio::test]
    async fn a_heal_is_not_verified_if_somebody_else_has_continued_the_process_before() {
        let shell = MarkedShell::start("exec sleep 60");
        let pid = shell.sleeper().await;
        let signal = |signal: Signal| MarkedShell::signal(pid, signal);
        for is_continued_before in [false, true] {
            let mut paused = SignalResults::new(true);
            paused.send((0, pid), true, signal).await;
            assert!(paused.proof().verified);
            if is_continued_before {
                signal(Signal::CONT).expect("continued");
                assert_ne!(wait_for_state(pid, false).await, Some('T'));
            }
            let mut healed = SignalResults::new(true);
            healed.send((0, pid), false, signal).await;
            let proof = healed.proof();
            assert_eq!(proof.verified, !is_continued_before, "{}", proof.evidence);
            assert_eq!(proof.evidence.contains("not stopped any more"), is_continued_before, "{}", proof.evidence);
        }
    }
}
