//! The program itself and its surroundings: relays that decode its connections, the port for its writes, its slots
//! and its beliefs.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::process::ExitStatus;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use hustings_record::numbers::to_u32;
use hustings_record::{Event, Misbehaviour, Nanos};
use rustix::process::Signal;
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_local;

use super::introduction::HandshakeResult;
use super::survivors::{CutConnection, Survivors};
use super::wall_clock::{ClockSetResult, WallClock};
use crate::foreign::beliefs::{BeliefOutcome, HeldZnodes, ProgramBeliefs, ProtocolViolation, TermBasis};
use crate::foreign::intake::{PendingWrite, ResourceAnswer};
use crate::foreign::message::{Ability, FromProgram, SlotStart, ToProgram};
use crate::foreign::program::{Program, ProgramInput};
use crate::foreign::words::CommandValues;
use crate::host::paths::{PathEvent, Paths};
use crate::host::process::HostShared;
use crate::process::clock;
use crate::protocol::{FromHost, ProgramSetUp, WriteAnswer};
use crate::recording::thread_waits::ThreadWaits;
use crate::wire::end::{SessionCredentials, end_session, holders_last, root};
use crate::witness::{HostSlots, RelayEvent, Slots};

const EXPIRE_AT_MOST: Duration = Duration::from_secs(5);
/// Input queues where the program's output is read; this queue only passes it on.
const INPUTS_WAITING_MAX: usize = 1 << 8;
/// Maximum number of a slot's writes without the coordinator's reply.
const WRITES_WAITING_MAX: usize = 1 << 12;

/// A program on this host.
pub(super) struct HostedProgram {
    pub(super) spec: ProgramSetUp,
    pub(super) program: Option<Program>,
    pub(super) slots: Rc<RefCell<Slots>>,
    pub(super) paths: Paths,
    pub(super) wall_clock: WallClock,
    survivors: Rc<Survivors>,
    /// Tracks its waits for a processor; None: it has not been started.
    waits: Option<ThreadWaits>,
    beliefs: Option<ProgramBeliefs>,
    can_resign: bool,
    /// Writes without the coordinator's reply, by slot.
    waiting: BTreeMap<u32, VecDeque<oneshot::Sender<ResourceAnswer>>>,
    /// The fault for which a slot was ordered to resign.
    resigning: BTreeMap<u32, u32>,
    exe: std::path::PathBuf,
    heard: mpsc::Sender<ProgramInput>,
}

impl HostedProgram {
    /// Starts the program, unless its command carries its election. Returns the receiver of its output.
    pub(super) fn prepare(
        shared: &Rc<HostShared>,
        paths: Paths,
    ) -> anyhow::Result<(Self, mpsc::Receiver<ProgramInput>)> {
        let set_up = &shared.set_up;
        let Some(spec) = set_up.stands.program().cloned() else { bail!("no program was named") };
        let root = root(&set_up.cluster);
        let on_wire = |path: &str| format!("{root}{path}");
        let candidates = set_up.candidates.iter().map(|(cand, _, path)| (*cand, on_wire(path))).collect();
        let slots = Rc::new(RefCell::new(Slots::new(HostSlots { candidates, queue: spec.queue })));
        let survivors = Rc::new(Survivors::among(paths.lines.clone()));
        let exe = std::env::current_exe().context("this executable cannot be found")?;
        let (heard, said) = mpsc::channel(INPUTS_WAITING_MAX);
        let mut guest = Self {
            wall_clock: WallClock::new(spec.wall_clock.clone()),
            spec,
            program: None,
            slots,
            paths,
            survivors,
            waits: None,
            beliefs: None,
            can_resign: false,
            waiting: BTreeMap::new(),
            resigning: BTreeMap::new(),
            exe,
            heard,
        };
        if guest.spec.speaks {
            let command = guest.spec.command.clone();
            guest.start(&command)?;
        }
        Ok((guest, said))
    }

    fn start(&mut self, command: &[String]) -> anyhow::Result<()> {
        let (program, mut heard) = Program::start(&self.exe, command, &self.spec.environment, true)?;
        self.waits = Some(ThreadWaits::of(program.pid()));
        self.program = Some(program);
        let pass_on = self.heard.clone();
        spawn_local(async move {
            while let Some(said) = heard.recv().await {
                if pass_on.send(said).await.is_err() {
                    return;
                }
            }
        });
        Ok(())
    }

    /// Starts a program that does not speak the protocol, in its one slot.
    pub(super) fn start_mute(&mut self, shared: &Rc<HostShared>) -> anyhow::Result<()> {
        let set_up = &shared.set_up;
        let (cand, _, path) = set_up.candidates.first().context("no slot")?;
        let told = CommandValues {
            connect: self.paths.cluster.clone(),
            group: path.clone(),
            resource: self.resource(*cand),
            timeout_ms: set_up.timeout_ms,
        };
        let command = told.put_into(&self.spec.command);
        self.start(&command)?;
        let introduced = HandshakeResult::mute(self.spec.name.clone());
        shared.journal.push(&introduced.event(clock::now()));
        self.introduced(shared, introduced);
        shared.tell(FromHost::Ready { acts: self.pid(), equal_paths: false });
        Ok(())
    }

    pub(super) fn introduced(&mut self, shared: &HostShared, introduced: HandshakeResult) {
        let set_up = &shared.set_up;
        let slots = set_up.candidates.iter().map(|(cand, ..)| *cand);
        self.can_resign = introduced.can(Ability::Resign);
        let (by, every_ms) = (introduced.belief, set_up.work_interval_ms);
        self.beliefs = Some(ProgramBeliefs::new(by, slots, every_ms, clock::uncertainty(), clock::now()));
    }

    pub(super) fn is_introduced(&self) -> bool {
        self.beliefs.is_some()
    }

    /// Orders it to enrol in all of its slots.
    pub(super) fn stand(&self, shared: &HostShared) {
        let Some(program) = &self.program else { return };
        for (cand, _, path) in &shared.set_up.candidates {
            if !program.tell(self.start_of(shared, *cand, path)) {
                shared
                    .tell(FromHost::Failed { what: self.with_last_words("the program does not read what it is told") });
                return;
            }
        }
    }

    /// The order for one of its slots.
    fn start_of(&self, shared: &HostShared, cand: u32, path: &str) -> ToProgram {
        let set_up = &shared.set_up;
        ToProgram::Start(SlotStart {
            slot: cand,
            group: path.to_owned(),
            connect: self.paths.cluster.clone(),
            timeout_ms: set_up.timeout_ms,
            resource: self.resource(cand),
            write_every_ms: set_up.work_interval_ms,
            rejoin_after_ms: set_up.rejoin_after_ms,
            step_down: set_up.step_down,
            config: self.spec.config.clone(),
        })
    }

    pub(super) fn pid(&self) -> Option<u32> {
        self.program.as_ref().map(Program::pid)
    }

    pub(super) fn is_running(&self) -> bool {
        self.program.is_some()
    }

    /// The stall that its threads' waits for a processor amount to since the last check, if any.
    pub(super) fn look_at_waits(&mut self, now: Nanos) -> Option<(Nanos, Nanos)> {
        self.waits.as_mut()?.look(now)
    }

    /// The URL for a slot's writes.
    pub(super) fn resource(&self, cand: u32) -> String {
        self.paths.address(cand).to_owned()
    }

    // ---- its traffic, reports and writes

    /// Handles an event on one of its connections.
    pub(super) fn passed(&self, shared: &HostShared, PathEvent { t, connection, what }: &PathEvent) {
        let mut slots = self.slots.borrow_mut();
        let was_sound = slots.is_sound();
        slots.take(*t, *connection, what, &mut |event| shared.journal.push(&event));
        if was_sound && !slots.is_sound() {
            shared.journal.push(&Event::Unwitnessed { t: *t, lost: 0, unsound: 1 });
        }
        if let RelayEvent::Ended { failure: Some(why) } = what {
            let text = format!("connection {connection} could not be decoded to its end: {why}");
            shared.journal.push(&Event::Note { t: *t, cand: None, text });
        }
    }

    /// The znode by which a slot leads from now on, by the name that it reports, if any.
    fn held(&self, cand: u32, named: Option<&str>) -> HeldZnodes {
        let slots = self.slots.borrow();
        let Some(seen) = slots.slot(cand) else { return HeldZnodes::default() };
        HeldZnodes::of(seen.session, seen.rests_on(named))
    }

    /// The znode behind a slot's write without such information.
    fn writes_by(&self, cand: u32) -> HeldZnodes {
        let slots = self.slots.borrow();
        let Some(seen) = slots.slot(cand) else { return HeldZnodes::default() };
        HeldZnodes::of(seen.session, seen.writes_by())
    }

    /// Why a grant cannot rest on the znode that it names: the connections show another one, and never that one.
    pub(super) fn wrong_node(&self, said: &FromProgram) -> Option<ProtocolViolation> {
        let FromProgram::Grant { slot, node: Some(named), .. } = said else { return None };
        let slots = self.slots.borrow();
        let own = slots.slot(*slot).filter(|_| slots.is_sound())?.contradicts(named)?;
        let text = format!("slot {slot} said that it leads by {named:?}, which it never had; it has {:?}", own.name);
        Some((Misbehaviour::WrongNode, text))
    }

    pub(super) fn reported(&mut self, heard: Nanos, said: &FromProgram) -> Result<BeliefOutcome, ProtocolViolation> {
        let held = match said {
            FromProgram::Grant { slot, node, .. } => self.held(*slot, node.as_deref()),
            FromProgram::Revoke { .. } => HeldZnodes::default(),
            _ => return Ok(BeliefOutcome::default()),
        };
        self.beliefs
            .as_mut()
            .map_or_else(|| Ok(BeliefOutcome::default()), |beliefs| beliefs.reported(heard, said, &held))
    }

    /// Whether a write is valid now, by its slot's reports.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn may_write(&self, write: &PendingWrite) -> Result<(), ProtocolViolation> {
        self.beliefs.as_ref().map_or(Ok(()), |beliefs| beliefs.may_write(write.slot, write.said.term))
    }

    /// Passes a write on. Returns the change of belief that it implies, if writes are the only evidence.
    pub(super) fn write(&mut self, shared: &HostShared, write: PendingWrite) -> BeliefOutcome {
        let PendingWrite { t, slot, said, answer } = write;
        let held = self.writes_by(slot);
        let slots = self.slots.clone();
        let told = |node: &str| slots.borrow().slot(slot)?.rests_on(Some(node))?.czxid;
        let Some(beliefs) = &mut self.beliefs else { return BeliefOutcome::default() };
        let lead = beliefs.written_by(slot, &said, held, told);
        let stamped = said.t.filter(|_| beliefs.by() == hustings_record::EvidenceSource::Report && said.t <= Some(t));
        let waiting = self.waiting.entry(slot).or_default();
        if waiting.len() >= WRITES_WAITING_MAX {
            // Dropping it makes the reply that the resource is unavailable.
            return BeliefOutcome::default();
        }
        waiting.push_back(answer);
        let told = beliefs.wrote(t, slot, &lead);
        let (sent, is_stamped) = (stamped.unwrap_or(t), stamped.is_some());
        let TermBasis { token, node } = lead;
        let node = node.filter(|_| !token.is_ordered());
        shared.tell(FromHost::Write { cand: slot, token, node, sent, is_stamped, came: t });
        told
    }

    /// Passes the coordinator's reply to a slot's oldest write without one.
    pub(super) fn written(&mut self, cand: u32, answer: WriteAnswer) {
        if let Some(waiting) = self.waiting.get_mut(&cand).and_then(VecDeque::pop_front) {
            // The writer may have ended.
            let _ = waiting.send(answer.into());
        }
    }

    pub(super) fn fall_silent(&mut self, now: Nanos) -> Vec<BeliefOutcome> {
        self.beliefs.as_mut().map_or_else(Vec::new, |beliefs| beliefs.fall_silent(now))
    }

    // ---- orders and faults

    pub(super) fn resign(&mut self, shared: &Rc<HostShared>, fault: u32, cand: u32) {
        let refused = if !self.can_resign {
            Some("the program does not claim that it can resign")
        } else if self.resigning.contains_key(&cand) {
            Some("it is resigning already")
        } else {
            let told = self.program.as_ref().is_some_and(|p| p.tell(ToProgram::Resign { slot: cand, fault }));
            (!told).then_some("the program does not read what it is told")
        };
        if let Some(why) = refused {
            return shared.tell(FromHost::Done { fault, cand, outcome: Err(why.to_owned()) });
        }
        self.resigning.insert(cand, fault);
        self.slots.borrow_mut().resigns(cand);
    }

    /// Handles its report of a resignation. Times observed on the connections take precedence over reported ones.
    /// False: it had no such order.
    pub(super) fn resigned(&mut self, shared: &HostShared, (cand, fault): (u32, u32), told: (Nanos, Nanos)) -> bool {
        if self.resigning.get(&cand) != Some(&fault) {
            return false;
        }
        self.resigning.remove(&cand);
        let seen = self.slots.borrow().slot(cand).and_then(|slot| slot.gave_back);
        shared.tell(FromHost::Done { fault, cand, outcome: Ok(seen.unwrap_or(told)) });
        true
    }

    /// Makes the servers end a slot's session.
    pub(super) fn expire(&self, shared: &Rc<HostShared>, fault: u32, cand: u32) {
        let held = {
            let (slots, cluster) = (self.slots.borrow(), &shared.set_up.cluster);
            let session = slots.slot(cand).and_then(|slot| slot.session);
            let taken =
                session.and_then(|id| Some(SessionCredentials { session: id, password: slots.session(id)?.password }));
            taken.map(|taken| (taken, holders_last(cluster, &self.paths.lines.holders(taken.session))))
        };
        let (shared, survivors) = (shared.clone(), self.survivors.clone());
        spawn_local(async move {
            let outcome = match held {
                Some((taken, servers)) => {
                    let outcome = end_session(&servers, taken, None, EXPIRE_AT_MOST).await;
                    outcome.inspect(|&(_, confirmed)| survivors.ended(taken.session, confirmed))
                }
                None => Err("its connections show no session to expire".to_owned()),
            };
            shared.tell(FromHost::Done { fault, cand, outcome });
        });
    }

    /// Cuts the connections that servers keep for ended sessions, and records that.
    pub(super) fn cut_survivors(&self, shared: &HostShared) {
        for CutConnection { session, answered_after } in self.survivors.cut(&self.slots.borrow()) {
            shared.journal.push(&Event::Severed { t: clock::now(), session, answered_ns: answered_after });
        }
    }

    pub(super) fn set_clock(&mut self, shared: &HostShared, by_ms: i64) {
        let begun = match &self.program {
            Some(program) => self.wall_clock.set(by_ms, program),
            None => Err("it was not started".to_owned()),
        };
        if let Err(why) = begun {
            shared.tell(FromHost::Clock { outcome: Err(why) });
        }
    }

    /// The result of setting the wall clock, once known.
    pub(super) fn look_at_clock(&mut self) -> Option<ClockSetResult> {
        self.wall_clock.look(self.program.as_ref()?)
    }

    pub(super) fn signal(&self, signal: Signal) -> std::io::Result<()> {
        self.program.as_ref().map_or(Ok(()), |program| program.signal(signal))
    }

    /// Orders it to end, in the ways that it may understand.
    pub(super) fn stop(&mut self) {
        self.slots.borrow_mut().stop(clock::now());
        let Some(program) = &mut self.program else { return };
        if self.spec.speaks {
            program.tell(ToProgram::Stop);
        } else {
            // If it has ended already, the goal is reached.
            let _ = program.signal(Signal::TERM);
        }
        program.hang_up();
    }

    /// Waits for its end for so long. True: it has ended.
    pub(super) async fn ends_within(&mut self, at_most: Duration) -> anyhow::Result<bool> {
        let Some(program) = &mut self.program else { return Ok(true) };
        program.ends_within(at_most).await.context("the program's end")
    }

    /// Kills it unless it has ended, and its descendants in any case. True: it was killed.
    pub(super) async fn end(&mut self) -> anyhow::Result<(String, bool)> {
        let Some(program) = &mut self.program else { return Ok(("it was not started".to_owned(), false)) };
        let (status, killed): (ExitStatus, bool) =
            program.wait(Duration::from_millis(1)).await.context("the program's end")?;
        program.kill_descendants();
        Ok((status.to_string(), killed))
    }

    // ---- its end

    /// Numbers of sessions that were closed, and that were not.
    pub(super) fn closed(&self) -> (u32, u32) {
        let slots = self.slots.borrow();
        let closed = slots.sessions().filter(|(_, seen)| seen.over).count();
        (to_u32(closed), to_u32(slots.sessions().count() - closed))
    }

    /// A sentence with the last lines of the program's log.
    pub(super) fn with_last_words(&self, what: &str) -> String {
        let words = self.program.as_ref().map(Program::last_words).unwrap_or_default();
        if words.is_empty() { what.to_owned() } else { format!("{what}; the last it logged: {}", words.join(" | ")) }
    }
}
