//! The questions, in their order.

use std::process::ExitStatus;
use std::time::Duration;

use hustings_record::words::plural;
use hustings_record::{EvidenceSource, HELLO_AT_MOST, STOP_AT_MOST};
use rustix::process::Signal;
use tokio::time::Instant;

use super::super::clocks::{ProgramClock, ROUNDS, Round, judge, same_namespace};
use super::super::message::{Ability, FromProgram, PROTOCOL, ToProgram};
use super::examination::{Examination, LAST_WORDS, RUNS_ON, ReceivedWrite, guest_slots};
use super::outcome::{ExaminationReport, Need};
use super::stage::{ELECTIONS, RESIGNATION, StageEvent, StageEventKind, TIMEOUT_MS, WRITE_EVERY_MS, election_of};
use crate::process::clock;
use crate::wire::end::{SessionCredentials as TakenOver, end_session};
use crate::witness::EphemeralNode;

const SYNC_WITHIN: Duration = Duration::from_secs(2);
/// Whether a program has said hello, or has ended, is looked at so often.
const AGAIN: Duration = Duration::from_millis(20);
/// Both have to run on so long after their hellos.
const STAYS: Duration = Duration::from_millis(200);
/// For whatever needs no timeout to pass.
const SOON: Duration = Duration::from_secs(15);
/// For what a dead session's successor needs.
const SUCCEEDS_WITHIN: Duration = Duration::from_secs(20);
const LOOKED_AT: Duration = Duration::from_secs(1);
/// Of the writes that are due in that time.
const WRITES_MIN: usize = (1_000 / WRITE_EVERY_MS / 4) as usize;

/// It cannot go on.
struct Abort;

type CheckStep = anyhow::Result<Result<(), Abort>>;

macro_rules! step {
    ($step:expr) => {
        if $step.is_err() {
            return Ok(Err(Abort));
        }
    };
}

impl Examination<'_> {
    pub(super) async fn run(mut self) -> anyhow::Result<ExaminationReport> {
        let stage = self.stage;
        // What is missing afterwards was not tested, and so not passed.
        let lost = tokio::select! {
            biased;
            number = stage.lost() => Ok(Some(number)),
            done = self.all() => done.map(|_| None),
        };
        let ended = match lost {
            Ok(Some(number)) => self.note_lost(number).await,
            Ok(None) => {
                self.write_tokens();
                self.all_reports();
                self.messages().await;
                Ok(())
            }
            Err(error) => Err(error),
        };
        match ended {
            Ok(()) => Ok(self.report(None)),
            Err(error) if self.outcomes.is_empty() => Err(error),
            Err(error) => Ok(self.report(Some(format!("{error:#}")))),
        }
    }

    async fn all(&mut self) -> CheckStep {
        step!(self.hello().await?);
        self.clocks().await;
        step!(self.stand().await?);
        self.writes().await;
        self.reports();
        self.resigns().await;
        self.session_ends().await?;
        step!(self.pauses().await?);
        step!(self.is_killed().await?);
        step!(self.is_terminated().await?);
        self.stops().await?;
        self.input_ends().await?;
        Ok(Ok(()))
    }

    async fn hello(&mut self) -> CheckStep {
        (self.progress)("hello");
        self.start(0).await?;
        match self.said_hello(0).await {
            Some(FromProgram::Hello { protocol, name, version, can }) => {
                (self.name, self.version, self.can) = (name, version, can);
                let text = format!("{} {}, protocol {protocol}", self.name, self.version);
                let fits = protocol == PROTOCOL;
                self.found("says_hello", Need::Required, EvidenceSource::Report, fits, text);
                if !fits {
                    return Ok(Err(Abort));
                }
            }
            _ => {
                let why = self.why_no_hello(0);
                let text = format!("no hello: {why}; `hustings candidate protocol` prints what a program has to say");
                self.found("says_hello", Need::Required, EvidenceSource::Report, false, text);
                return Ok(Err(Abort));
            }
        }
        self.stage.must_run(0);
        self.start(1).await?;
        let both = self.said_hello(1).await.is_some();
        if both {
            self.stage.must_run(1);
            tokio::time::sleep(STAYS).await;
        }
        let text =
            if both { "two of it at a time".to_owned() } else { format!("the second: {}", self.why_no_hello(1)) };
        self.found("runs_twice", Need::Required, EvidenceSource::Process, both, text);
        Ok(if both { Ok(()) } else { Err(Abort) })
    }

    /// What this one introduced itself with. None: it has ended before, or did not in time.
    async fn said_hello(&mut self, number: usize) -> Option<FromProgram> {
        let until = Instant::now() + HELLO_AT_MOST;
        loop {
            if let Some(hello) = self.hello_of(number) {
                return Some(hello);
            }
            let has_ended = self.guests[number].ended().is_some();
            if has_ended {
                // What it has started may hold its output open.
                self.stage.until(LAST_WORDS, || self.is_over(number)).await;
            }
            if has_ended || Instant::now() > until {
                return self.hello_of(number);
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    fn why_no_hello(&mut self, number: usize) -> String {
        let garbage = self.stage.facts(|fact| match &fact.what {
            StageEventKind::Garbage(text) if fact.guest == number => Some(text.clone()),
            _ => None,
        });
        let said = match (garbage.first(), self.guests[number].program.unended_line()) {
            (Some(first), _) => format!("it said {first}, which is no message"),
            (None, Some(unended)) => unended,
            (None, None) => "it said nothing".to_owned(),
        };
        match self.guests[number].ended() {
            Some(status) => format!("it ended before ({status}); {said}"),
            None => format!(
                "within {} s {said}; `hustings run --candidate` takes programs that do not speak the protocol, by {{connect}}, {{group}} and {{resource}} in their command",
                HELLO_AT_MOST.as_secs()
            ),
        }
    }

    async fn clocks(&mut self) {
        (self.progress)("clocks");
        let mut rounds = Vec::new();
        for n in 1..=ROUNDS {
            let asked = clock::now();
            self.guests[0].program.tell(ToProgram::Sync { n });
            let answer = || {
                self.stage.facts(|fact| match fact.what {
                    StageEventKind::Said(FromProgram::Sync { n: of, t, .. }) if fact.guest == 0 && of == n => {
                        Some((fact.t, t))
                    }
                    _ => None,
                })
            };
            if self.stage.until(SYNC_WITHIN, || !answer().is_empty()).await {
                rounds.extend(answer().first().map(|&(answered, told)| Round { asked, told, answered }));
            }
        }
        let (fits, text) = match judge(&rounds, same_namespace(self.guests[0].program.pid())) {
            ProgramClock::Ours { most, .. } => {
                (true, format!("its stamps are of our clock, answers within {} µs", most / 1_000))
            }
            ProgramClock::Other(why) => (false, format!("its stamps are of no use: {why}")),
        };
        let need = Need::Optional;
        if fits || self.has(Ability::Report) {
            self.found("clock_is_ours", need, EvidenceSource::Report, fits, text);
        } else {
            self.untested(
                "clock_is_ours",
                need,
                EvidenceSource::Report,
                "it reports nothing that a clock is needed for",
            );
        }
    }

    async fn stand(&mut self) -> CheckStep {
        (self.progress)("stand and lead");
        for number in 0..2 {
            for slot in self.slots_of(number) {
                self.guests[number].stand(slot);
            }
        }
        let stands = |slot: u32| {
            let slots = self.guest_of(slot).slots.borrow();
            slots.slot(slot).is_some_and(|seen| seen.session.is_some())
        };
        let all: Vec<u32> = (0..2).flat_map(|number| self.slots_of(number)).collect();
        let stood = self.stage.until(SOON, || all.iter().all(|&slot| stands(slot))).await;
        let count = all.iter().filter(|&&slot| stands(slot)).count();
        let text = format!("{count} of {} slots asked for something in their election", all.len());
        self.found("stands_where_it_is_told", Need::Required, EvidenceSource::Wire, stood, text);
        let led = self.stage.until(SOON, || self.elections().all(|election| self.last_write(election).is_some())).await;
        let silent = self.elections().filter(|&election| self.last_write(election).is_none()).count();
        let text = if led {
            format!("the leader of {} wrote", if ELECTIONS == 1 { "the election" } else { "each election" })
        } else {
            let all = plural(self.elections().count() as u64, "election", "elections");
            format!("nobody wrote in {silent} of {all} within {} s", SOON.as_secs())
        };
        self.found("leads_and_writes", Need::Required, EvidenceSource::Effect, led, text);
        Ok(if stood && led { Ok(()) } else { Err(Abort) })
    }

    async fn writes(&mut self) {
        (self.progress)("one leader");
        let from = clock::now();
        tokio::time::sleep(LOOKED_AT).await;
        let count = |election| (self.writes_since(election, from).len(), self.writers(election, from).len());
        let counts: Vec<(usize, usize)> = self.elections().map(count).collect();
        let fits = counts.iter().all(|&(writes, writers)| writers == 1 && writes >= WRITES_MIN);
        let each: Vec<String> = counts
            .iter()
            .map(|&(writes, writers)| {
                format!("{writes} writes by {}", plural(writers as u64, "candidate", "candidates"))
            })
            .collect();
        let text = format!("within a second, election by election: {}", each.join("; "));
        self.found("one_writes_steadily", Need::Required, EvidenceSource::Effect, fits, text);
        let sound = self.guests.iter().all(|guest| guest.slots.borrow().is_sound());
        let text = if sound { "what passes can be read along" } else { "not all that passes can be read along" };
        self.found("wire_is_understood", Need::Optional, EvidenceSource::Wire, sound, text.to_owned());
    }

    async fn resigns(&mut self) {
        const NAME: &str = "resigns_by_order";
        if !self.has(Ability::Resign) {
            return self.untested(NAME, Need::Optional, EvidenceSource::Effect, "it does not claim to resign");
        }
        (self.progress)("resign");
        let Some(write @ ReceivedWrite { slot: leader, .. }) = self.last_write(0) else { return };
        let number = self.guest_of(leader).number;
        let (from, before) = (clock::now(), self.open_sessions(number));
        self.order_to_resign(leader);
        let next = self.succeeded(write, from, SOON).await;
        let resigned = |fact: &StageEvent| match fact.what {
            StageEventKind::Said(FromProgram::Resigned { slot, fault: RESIGNATION, t1, .. }) if slot == leader => {
                Some(t1)
            }
            _ => None,
        };
        let told = self.stage.until(SOON, || !self.stage.facts(resigned).is_empty()).await;
        let said = self.stage.facts(resigned).first().copied();
        let early = said.and_then(|t1| {
            self.guest_of(leader).slots.borrow().resigned_early(leader, t1.saturating_add(clock::uncertainty()))
        });
        // Whoever writes on does so beside its successor.
        tokio::time::sleep(LOOKED_AT).await;
        let late = self.stale_since(leader, from);
        let text = match next {
            None => "nobody else wrote after it".to_owned(),
            Some(_) if early.is_some() => early.clone().unwrap_or_default(),
            Some(_) if !told => "it never said what came of it".to_owned(),
            Some(_) => format!("another one wrote, and {late} writes of its own came within a second after that"),
        };
        let fits = next.is_some() && told && late == 0 && early.is_none();
        self.found(NAME, Need::Optional, EvidenceSource::Effect, fits, text);
        // Nobody else is there to take over from the next one.
        let resigned = self.stage.facts(|fact| resigned(fact).map(|_| fact.t)).first().copied().unwrap_or(from);
        let again = || {
            let slots = self.guest_of(leader).slots.borrow();
            slots.slot(leader).and_then(|seen| seen.asked_at).is_some_and(|asked| asked > resigned)
        };
        let stands = self.stage.until(SOON, again).await;
        let what = if stands { "something" } else { "nothing" };
        let text = format!("within {} s it asked for {what} in the election", SOON.as_secs());
        self.found("stands_again_after_it_resigned", Need::Optional, EvidenceSource::Wire, stands, text);
        let closed = self.stage.until(SOON, || self.open_sessions(number) <= before).await;
        let text = format!("{before} open before it resigned, {} afterwards", self.open_sessions(number));
        self.found("leaves_no_session_open", Need::Optional, EvidenceSource::Wire, closed, text);
    }

    async fn session_ends(&mut self) -> anyhow::Result<()> {
        (self.progress)("the session ends");
        let Some(write @ ReceivedWrite { slot: leader, .. }) = self.last_write(0) else { return Ok(()) };
        let of_leader = {
            let slots = self.guest_of(leader).slots.borrow();
            let id = slots.slot(leader).and_then(|seen| seen.session);
            id.and_then(|id| slots.session(id).map(|session| TakenOver { session: id, password: session.password }))
        };
        let Some(taken) = of_leader else { return Ok(()) };
        let from = clock::now();
        let ended = end_session(&self.stage.cluster(), taken, None, SOON).await;
        if let Err(why) = ended {
            self.untested("hands_over_when_its_session_ends", Need::Required, EvidenceSource::Effect, &why);
            return Ok(());
        }
        let next = self.succeeded(write, from, SUCCEEDS_WITHIN).await;
        let again = || {
            let slots = self.guest_of(leader).slots.borrow();
            slots.slot(leader).and_then(|seen| seen.session).is_some_and(|session| session != taken.session)
        };
        let stands = self.stage.until(SUCCEEDS_WITHIN, again).await;
        let text = if stands { "under a session of its own" } else { "no session of its own followed" };
        self.found(
            "stands_again_after_its_session_ended",
            Need::Required,
            EvidenceSource::Wire,
            stands,
            text.to_owned(),
        );
        self.one_writes("gives_up_when_its_session_ends").await;
        let text = self.of_successor(leader, from, next);
        self.found("hands_over_when_its_session_ends", Need::Required, EvidenceSource::Effect, next.is_some(), text);
        Ok(())
    }

    /// Sessions of a program that have not ended.
    fn open_sessions(&self, number: usize) -> usize {
        self.guests[number].slots.borrow().sessions().filter(|(_, session)| !session.over).count()
    }

    /// Whether in no election two write at once by now.
    async fn one_writes(&mut self, name: &'static str) {
        let quiet = clock::now();
        tokio::time::sleep(LOOKED_AT).await;
        let most = self.elections().map(|election| self.writers(election, quiet).len()).max().unwrap_or(0);
        let text = format!("{most} at once, at most, write in an election after it");
        self.found(name, Need::Required, EvidenceSource::Effect, most <= 1, text);
    }

    /// Sends a signal, unless the program has ended by itself: that is a finding, and the end of the examination.
    fn signalled(&mut self, number: usize, (signal, name): (Signal, &str)) -> Result<(), Abort> {
        if !self.is_over(number) && self.guests[number].signal(signal).is_ok() {
            return Ok(());
        }
        let text = format!("it ended by itself, before {name} was sent to it");
        self.found(RUNS_ON, Need::Required, EvidenceSource::Process, false, text);
        Err(Abort)
    }

    async fn pauses(&mut self) -> CheckStep {
        (self.progress)("a pause longer than the timeout");
        let Some(write @ ReceivedWrite { slot: leader, .. }) = self.last_write(0) else { return Ok(Ok(())) };
        let number = self.guest_of(leader).number;
        let from = clock::now();
        step!(self.signalled(number, (Signal::STOP, "SIGSTOP")));
        let stopped = self.guests[number].program.all_stopped().await;
        let next = self.succeeded(write, from, SUCCEEDS_WITHIN).await;
        step!(self.signalled(number, (Signal::CONT, "SIGCONT")));
        let woke = clock::now();
        self.stopped.push((number, (from, woke)));
        tokio::time::sleep(Duration::from_millis(TIMEOUT_MS)).await;
        let fits = stopped.is_ok() && next.is_some();
        let text = stopped.err().unwrap_or_else(|| self.of_successor(leader, from, next));
        self.found("hands_over_when_it_is_stopped", Need::Required, EvidenceSource::Effect, fits, text);
        self.one_writes("gives_up_when_it_wakes").await;
        Ok(Ok(()))
    }

    async fn is_killed(&mut self) -> CheckStep {
        (self.progress)("killed");
        let Some(write @ ReceivedWrite { slot: leader, .. }) = self.last_write(0) else { return Ok(Err(Abort)) };
        let number = self.guest_of(leader).number;
        let from = clock::now();
        self.stage.may_end(number);
        step!(self.signalled(number, (Signal::KILL, "SIGKILL")));
        let next = self.succeeded(write, from, SUCCEEDS_WITHIN).await;
        let text = match next {
            Some(after) => format!("another one wrote after {} ms, with T = {TIMEOUT_MS} ms", after / 1_000_000),
            None => "nobody else wrote".to_owned(),
        };
        self.found("hands_over_when_it_is_killed", Need::Required, EvidenceSource::Effect, next.is_some(), text);
        self.guests[number].ends(STOP_AT_MOST).await?;
        self.one_more().await
    }

    async fn is_terminated(&mut self) -> CheckStep {
        (self.progress)("SIGTERM");
        let Some(write @ ReceivedWrite { slot: leader, .. }) = self.last_write(0) else { return Ok(Err(Abort)) };
        let number = self.guest_of(leader).number;
        let (held, from) = (self.held_by(number), clock::now());
        self.stage.may_end(number);
        step!(self.signalled(number, (Signal::TERM, "SIGTERM")));
        let (status, killed) = self.guests[number].ends(STOP_AT_MOST).await?;
        let text = how_it_ended(status, killed);
        self.found("ends_when_terminated", Need::Advised, EvidenceSource::Process, !killed, text);
        // Before its sessions can have expired.
        let left = self.left_of(&held).await?;
        let next = self.succeeded(write, from, SUCCEEDS_WITHIN).await;
        let text = match next {
            Some(after) if left.is_empty() => format!("another one wrote after {} ms", after / 1_000_000),
            Some(after) => {
                format!("it left its znode to its session's end: another one wrote after {} ms", after / 1_000_000)
            }
            None => "nobody else wrote".to_owned(),
        };
        let fits = next.is_some() && left.is_empty();
        self.found("hands_over_when_terminated", Need::Advised, EvidenceSource::Effect, fits, text);
        self.one_more().await
    }

    /// What a program holds in its elections.
    fn held_by(&self, number: usize) -> Vec<(u32, EphemeralNode)> {
        let slots = self.guests[number].slots.borrow();
        let nodes = |slot| slots.slot(slot).into_iter().flat_map(|seen| seen.nodes.clone());
        guest_slots(number).flat_map(|slot| nodes(slot).map(move |node| (election_of(slot), node))).collect()
    }

    /// Names of those of them that are still there.
    async fn left_of(&self, held: &[(u32, EphemeralNode)]) -> anyhow::Result<Vec<String>> {
        let mut left = Vec::new();
        for (election, node) in held {
            if self.stage.has(*election, node).await? {
                left.push(node.name.clone());
            }
        }
        Ok(left)
    }

    /// Starts another one in place of one that has ended.
    async fn one_more(&mut self) -> CheckStep {
        let place = self.guests.len();
        self.start(place).await?;
        let back = self.said_hello(place).await.is_some();
        if back {
            self.stage.must_run(place);
        }
        for slot in self.slots_of(place) {
            self.guests[place].stand(slot);
        }
        Ok(if back { Ok(()) } else { Err(Abort) })
    }

    async fn stops(&mut self) -> anyhow::Result<()> {
        (self.progress)("stop");
        // Of a lock only its holder has a znode.
        let Some(ReceivedWrite { slot: leader, .. }) = self.last_write(0) else { return Ok(()) };
        let last = self.guest_of(leader).number;
        let held = self.held_by(last);
        self.stage.may_end(last);
        self.guests[last].program.tell(ToProgram::Stop);
        let (status, killed) = self.guests[last].ends(STOP_AT_MOST).await?;
        let text = how_it_ended(status, killed);
        self.found("stops_by_order", Need::Required, EvidenceSource::Process, !killed && status.success(), text);
        self.stopped_by_order = (!killed).then_some(last);
        let left = self.left_of(&held).await?;
        if held.is_empty() {
            self.untested("leaves_no_znode", Need::Optional, EvidenceSource::Wire, "it had none");
        } else {
            let text = match left.first() {
                None => "what it had was gone when it had ended".to_owned(),
                Some(name) => format!("{} of {} were there, {name} for one", left.len(), held.len()),
            };
            self.found("leaves_no_znode", Need::Optional, EvidenceSource::Wire, left.is_empty(), text);
        }
        Ok(())
    }

    async fn input_ends(&mut self) -> anyhow::Result<()> {
        (self.progress)("the end of its input");
        let running = (0..self.guests.len()).find(|&place| !self.is_over(place));
        let Some(place) = running else { return Ok(()) };
        self.stage.may_end(place);
        self.guests[place].program.hang_up();
        let (status, killed) = self.guests[place].ends(STOP_AT_MOST).await?;
        let text = how_it_ended(status, killed);
        self.found("ends_with_its_input", Need::Required, EvidenceSource::Process, !killed, text);
        Ok(())
    }
}

fn how_it_ended(status: ExitStatus, killed: bool) -> String {
    if killed { format!("not within {} s", STOP_AT_MOST.as_secs()) } else { status.to_string() }
}
