//! A host whose candidates are an external program. This process is then a sidecar of the host. It starts the program,
//! sends its orders, decodes its connections, and accepts its writes. It reports to the record and the coordinator what
//! our own candidates would report themselves. Faults hit the program, and never this process.

mod deadline;
mod guest;
mod introduction;
mod survivors;
mod wall_clock;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use anyhow::bail;
use hustings_record::{Event, Misbehaviour, Nanos};
use rustix::process::Signal;
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

use crate::foreign::beliefs::BeliefOutcome;
use crate::foreign::intake::PendingWrite;
use crate::foreign::message::FromProgram;
use crate::foreign::program::ProgramInput;
use crate::host::floor;
use crate::host::paths::{PathEvent, Paths, Streams};
use crate::host::process::HostShared;
use crate::host::shutdown::{given_up, hung_up};
use crate::process::clock;
use crate::protocol::{FromHost, Receiver, ToHost};

use deadline::{LOOK, StopDeadline};
use guest::HostedProgram;
use introduction::Introduction;

/// Time for late input after a program's end: the ends of its connections, its last log lines.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// A report that was flushed before its write is received well within this number of checks. This is not a time: while
/// this process is stopped, it receives nothing.
const LOOKS_FOR_REPORT: u64 = 20;
/// Maximum number of recorded events per kind of misbehaviour.
const LISTED_MAX: u32 = 10;

/// Serves until the coordinator's order to stop, or the program's end. False: it could not continue, and the
/// coordinator was notified of the reason.
pub(super) async fn serve(
    shared: std::rc::Rc<HostShared>,
    (paths, streams): (Paths, Streams),
    mut receiver: Receiver,
) -> anyhow::Result<bool> {
    let (guest, heard) = match HostedProgram::prepare(&shared, paths) {
        Ok(prepared) => prepared,
        Err(error) => return Ok(given_up(&shared, format!("{error:#}")).await),
    };
    let mut beside = ProgramHost {
        shared,
        guest,
        passed: streams.passed,
        odd: BTreeMap::new(),
        early: VecDeque::new(),
        enrolled: false,
        leaving_since: None,
        deadline: None,
        looks: 0,
    };
    beside.serve(&mut receiver, heard, streams.writes).await
}

struct ProgramHost {
    shared: std::rc::Rc<HostShared>,
    guest: HostedProgram,
    passed: mpsc::UnboundedReceiver<PathEvent>,
    /// Count of misbehaviour, by kind.
    odd: BTreeMap<Misbehaviour, u32>,
    enrolled: bool,
    /// Writes without their grant so far, in order, and the check after which the grant counts as missing.
    early: VecDeque<(PendingWrite, u64)>,
    /// Since when it has been ordered, or forced, to end: its end is expected.
    leaving_since: Option<Nanos>,
    /// Until when a program with the order to stop may run; its writes are answered as usual until then.
    deadline: Option<StopDeadline>,
    /// Number of checks.
    looks: u64,
}

impl ProgramHost {
    async fn serve(
        &mut self,
        receiver: &mut Receiver,
        mut heard: mpsc::Receiver<ProgramInput>,
        mut incoming: mpsc::Receiver<PendingWrite>,
    ) -> anyhow::Result<bool> {
        let journal = self.shared.journal.clone();
        let mut introduction = Introduction::begin(&self.guest.spec);
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                message = receiver.next() => match message? {
                    None => bail!("the coordinator is gone"),
                    Some(ToHost::Stop) if !self.guest.is_running() => return self.shutdown(receiver).await,
                    Some(ToHost::Stop) => {
                        let now = clock::now();
                        self.leaving_since.get_or_insert(now);
                        self.guest.stop();
                        self.deadline = Some(StopDeadline::from(now));
                    }
                    Some(message) => self.obey(message)?,
                },
                what = journal.failed() => return Ok(given_up(&self.shared, what).await),
                Some(said) = heard.recv() => match said {
                    ProgramInput::Over { .. } => return self.over(receiver, &introduction).await,
                    said if introduction.is_over() => self.heard(said),
                    said => introduction.heard(said, &self.guest.program),
                },
                Some(write) = incoming.recv() => self.write(write),
                _ = look.tick() => {
                    if !introduction.is_over() && self.deadline.is_none() {
                        match introduction.look(&self.guest.program) {
                            Ok(None) => {}
                            Ok(Some(introduced)) => self.introduced(introduced),
                            Err(error) => return Ok(self.not_introduced(error).await),
                        }
                    }
                    self.look();
                    if self.deadline.as_ref().is_some_and(StopDeadline::is_over) {
                        return self.over(receiver, &introduction).await;
                    }
                }
            }
        }
    }

    /// The program has introduced itself, and its clock was checked.
    fn introduced(&mut self, introduced: introduction::HandshakeResult) {
        self.shared.journal.push(&introduced.event(clock::now()));
        if introduced.can_hold_one_only() && self.shared.set_up.candidates.len() > 1 {
            let what = format!(
                "{} holds one slot, and {} were to be on a host: use as many groups as make it one candidate a host",
                introduced.name(),
                self.shared.set_up.candidates.len()
            );
            return self.shared.tell(FromHost::Failed { what });
        }
        self.guest.introduced(&self.shared, introduced);
        self.shared.tell(FromHost::Ready { acts: self.guest.pid(), equal_paths: false });
        if self.enrolled {
            self.guest.stand(&self.shared);
        }
    }

    /// The program cannot take part, and the run with it.
    async fn not_introduced(&mut self, error: introduction::HandshakeError) -> bool {
        let introduction::HandshakeError { text, rule, since } = error;
        if let Some(rule) = rule {
            self.broke(None, rule, since, text.clone());
        }
        given_up(&self.shared, self.guest.with_last_words(&text)).await
    }

    /// Handles the traffic on the connections first, since other input may depend on it. Otherwise the traffic waits
    /// for the next check: every wake-up of this thread delays a program on the same cores.
    fn catch_up(&mut self) {
        while let Ok(passed) = self.passed.try_recv() {
            self.guest.passed(&self.shared, &passed);
        }
    }

    /// A write and the report of its grant use different channels, so the write may arrive first.
    fn write(&mut self, write: PendingWrite) {
        self.catch_up();
        let waits = self.early.iter().any(|(early, _)| early.slot == write.slot);
        if waits || self.guest.may_write(&write).is_err() {
            self.early.push_back((write, self.looks + LOOKS_FOR_REPORT));
        } else {
            self.take(write);
        }
    }

    /// Handles the writes whose grants have arrived meanwhile, and those whose grants count as missing.
    fn take_early(&mut self) {
        for _ in 0..self.early.len() {
            let Some((write, until)) = self.early.pop_front() else { return };
            match self.guest.may_write(&write) {
                Ok(()) => self.take(write),
                Err((what, text)) if self.looks > until => {
                    self.odd(Some(write.slot), what, text);
                    self.take(write);
                }
                Err(_) => self.early.push_back((write, until)),
            }
        }
    }

    fn take(&mut self, write: PendingWrite) {
        let told = self.guest.write(&self.shared, write);
        self.tell(told);
    }

    fn look(&mut self) {
        self.catch_up();
        let now = clock::now();
        self.looks += 1;
        self.take_early();
        let journal = &self.shared.journal;
        self.guest.slots.borrow_mut().settle(now, &mut |event| journal.push(&event));
        self.guest.cut_survivors(&self.shared);
        let silent = self.guest.fall_silent(now);
        silent.into_iter().for_each(|told| self.tell(told));
        if let Some(outcome) = self.guest.look_at_clock() {
            self.shared.tell(FromHost::Clock { outcome });
        }
        let wait = self.guest.look_at_waits(now);
        if let Some((from, to)) = wait {
            self.shared.journal.push(&Event::Stall { from, to, ran_ns: 0, program: true });
        }
        if let Some(deadline) = &mut self.deadline {
            deadline.check(now, wait.map_or(0, |(from, to)| to - from));
        }
        let (connected, standing) = self.guest.slots.borrow().standing();
        self.shared.connected.set(connected);
        self.shared.standing.set(standing);
    }

    fn tell(&self, told: BeliefOutcome) {
        told.events.iter().for_each(|event| self.shared.journal.push(event));
        if let Some((cand, token)) = told.belief {
            self.shared.tell(FromHost::Belief { cand, token });
        }
    }

    fn obey(&mut self, message: ToHost) -> anyhow::Result<()> {
        self.catch_up();
        match message {
            ToHost::SetUp(_) => bail!("set up twice"),
            ToHost::Enrol => {
                self.enrolled = true;
                if self.guest.is_introduced() {
                    self.guest.stand(&self.shared);
                } else if !self.guest.spec.speaks {
                    // Its command carries the order.
                    if let Err(error) = self.guest.start_mute(&self.shared) {
                        self.shared.tell(FromHost::Failed { what: format!("{error:#}") });
                    }
                }
            }
            ToHost::Floor { part, one } => {
                tokio::task::spawn_local(floor::measure(
                    self.shared.clone(),
                    self.guest.paths.own_cluster.clone(),
                    part,
                    one,
                ));
            }
            ToHost::Resign { fault, cand } => self.guest.resign(&self.shared, fault, cand),
            ToHost::Expire { fault, cand } => self.guest.expire(&self.shared, fault, cand),
            ToHost::Written { cand, answer } => self.guest.written(cand, answer),
            ToHost::SetClock { by_ms } => self.guest.set_clock(&self.shared, by_ms),
            ToHost::Terminate => {
                let now = clock::now();
                self.leaving_since.get_or_insert(now);
                self.guest.slots.borrow_mut().stop(now);
                // If it has ended already, the goal is reached.
                let _ = self.guest.signal(Signal::TERM);
            }
            // A program neither requests fencings nor reports that it has won.
            ToHost::Fenced { .. } | ToHost::SyncPoint { .. } | ToHost::GoOn { .. } | ToHost::Stop => {}
        }
        Ok(())
    }

    fn heard(&mut self, heard: ProgramInput) {
        self.catch_up();
        match heard {
            ProgramInput::Said { t, message } => self.said(t, message),
            ProgramInput::Garbage { why, line, .. } => {
                self.odd(None, Misbehaviour::Garbage, format!("it said {line:?}, which is no message: {why}"));
            }
            ProgramInput::TooMuch { .. } => {
                let text = "it said so many notes and the like within a second that most of them were not taken";
                self.odd(None, Misbehaviour::TooMuch, text.to_owned());
            }
            ProgramInput::Over { .. } => {}
        }
    }

    fn said(&mut self, t: u64, mut message: FromProgram) {
        if let Some((what, text)) = self.guest.wrong_node(&message)
            && let FromProgram::Grant { slot, node, .. } = &mut message
        {
            // The connections show better by which znode it leads.
            *node = None;
            let slot = *slot;
            self.odd(Some(slot), what, text);
        }
        match &message {
            FromProgram::Grant { slot, .. } | FromProgram::Revoke { slot, .. } => {
                let slot = *slot;
                match self.guest.reported(t, &message) {
                    Ok(told) => self.tell(told),
                    Err((what, text)) => self.odd(Some(slot), what, text),
                }
                self.take_early();
            }
            FromProgram::Resigned { slot, fault, t0, t1 } => {
                let early = self.guest.slots.borrow().resigned_early(*slot, t1.saturating_add(clock::uncertainty()));
                if let Some(text) = early {
                    self.odd(Some(*slot), Misbehaviour::OutOfTime, text);
                }
                if !self.guest.resigned(&self.shared, (*slot, *fault), (*t0, *t1)) {
                    let text = format!("slot {slot} resigned for fault {fault}, which it was not told to");
                    self.odd(Some(*slot), Misbehaviour::UnknownSlot, text);
                }
            }
            FromProgram::Note { slot, text } => {
                let (cand, text) = (*slot, text.clone());
                self.shared.journal.push(&Event::Note { t, cand, text });
            }
            FromProgram::Sync { n, wall, .. } => self.guest.wall_clock.told(*n, *wall),
            // The wire shows enrolments better; messages of later versions are ignored.
            FromProgram::Standing { .. } | FromProgram::Bye | FromProgram::Other => {}
            FromProgram::Hello { .. } => {
                self.odd(None, Misbehaviour::Garbage, "it said hello a second time".to_owned());
            }
        }
    }

    fn odd(&mut self, cand: Option<u32>, what: Misbehaviour, text: String) {
        self.broke(cand, what, None, text);
    }

    /// Records a broken rule. `since`: when the order came that was not followed in time.
    fn broke(&mut self, cand: Option<u32>, what: Misbehaviour, since: Option<Nanos>, text: String) {
        let count = self.odd.entry(what).or_default();
        *count += 1;
        if *count <= LISTED_MAX {
            self.shared.journal.push(&Event::Misbehaved { t: clock::now(), cand, since, what, text });
        }
    }

    /// The program has ended by itself or by order, or its time for that is over.
    async fn over(&mut self, receiver: &mut Receiver, introduction: &Introduction) -> anyhow::Result<bool> {
        // It may have closed its output and run on.
        self.deadline.get_or_insert_with(|| StopDeadline::from(clock::now()));
        while !self.deadline.as_ref().is_some_and(StopDeadline::is_over) && !self.guest.ends_within(LOOK).await? {
            self.look();
        }
        // Its end would end its last line, too.
        let missing_hello = introduction.missing_hello(&self.guest.program);
        let (status, killed) = self.guest.end().await?;
        if let Some(deadline) = self.deadline.as_ref().filter(|_| killed && self.leaving_since.is_some()) {
            // A program that has said no hello in time was stopped for that, here or on another host.
            let (what, since, text) = match missing_hello {
                Some(error) => (Misbehaviour::Silent, error.since, error.text),
                None => (Misbehaviour::StopIgnored, Some(deadline.since), deadline.missed()),
            };
            self.broke(None, what, since, text);
        }
        tokio::time::sleep(LAST_WORDS).await;
        self.catch_up();
        if let Some(since) = self.leaving_since {
            self.look();
            if !killed {
                self.left_behind(since);
            }
            return self.shutdown(receiver).await;
        }
        let what = self.guest.with_last_words(&format!("the program ended by itself: {status}"));
        self.odd(None, Misbehaviour::Ended, what.clone());
        self.shared.journal.flush();
        self.shared.tell(FromHost::Died { what });
        // Gives the message time to be sent.
        hung_up(receiver).await;
        Ok(true)
    }

    /// Sessions that are still open although their program ended by order.
    fn left_behind(&mut self, since: Nanos) {
        let (open, nodes) = self.guest.slots.borrow().left_behind();
        if open > 0 {
            let text = format!("it ended by order and left {open} sessions open, with {nodes} znodes in the elections");
            let text = self.guest.with_last_words(&text);
            self.broke(None, Misbehaviour::LeftBehind, Some(since), text);
        }
    }

    async fn shutdown(&mut self, receiver: &mut Receiver) -> anyhow::Result<bool> {
        self.look();
        if let Err(what) = self.shared.journal.end() {
            return Ok(given_up(&self.shared, what).await);
        }
        let (closed, unanswered) = self.guest.closed();
        self.shared.tell(FromHost::Bye { closed, unanswered });
        hung_up(receiver).await;
        Ok(true)
    }
}
