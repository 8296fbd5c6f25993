//! The handshake with a program: its name, its abilities, and whether its clock is ours.

use std::time::Duration;

use hustings_record::numbers::nanos;
use hustings_record::{Event, EvidenceSource, Misbehaviour, Nanos};

use crate::foreign::clocks::{ProgramClock, ROUNDS, Round, judge, same_namespace};
use crate::foreign::message::{Ability, FromProgram, PROTOCOL, ToProgram};
use crate::foreign::program::{Program, ProgramInput};
use crate::process::clock;
use crate::protocol::ProgramSetUp;

/// A program that has not said hello by then is considered failed.
const HELLO_WITHIN: Duration = Duration::from_secs(30);
const SYNC_WITHIN: Duration = Duration::from_secs(2);

/// The state of the handshake.
pub(super) struct Introduction {
    step: IntroductionStep,
    hello: Option<(String, String, Vec<Ability>)>,
    rounds: Vec<Round>,
    /// The error found.
    wrong: Option<String>,
}

enum IntroductionStep {
    Hello {
        since: Nanos,
    },
    Sync {
        asked: Nanos,
        until: Nanos,
    },
    /// All requests have been sent.
    Asked,
    Over,
}

/// Why a program cannot take part.
pub(super) struct HandshakeError {
    pub(super) text: String,
    /// The rule that it broke, if that is recorded.
    pub(super) rule: Option<Misbehaviour>,
    /// Since when it had time to follow that rule, if stalls may be why it did not.
    pub(super) since: Option<Nanos>,
}

/// The result of the handshake.
pub(super) struct HandshakeResult {
    name: String,
    version: String,
    can: Vec<Ability>,
    speaks: bool,
    pub(super) belief: EvidenceSource,
    why: Option<String>,
}

fn within(limit: Duration) -> Nanos {
    clock::now() + nanos(limit)
}

impl Introduction {
    /// A program that does not speak the protocol needs no handshake.
    pub(super) fn begin(spec: &ProgramSetUp) -> Self {
        let step = if spec.speaks { IntroductionStep::Hello { since: clock::now() } } else { IntroductionStep::Over };
        Self { step, hello: None, rounds: Vec::new(), wrong: None }
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.step, IntroductionStep::Over)
    }

    pub(super) fn heard(&mut self, heard: ProgramInput, program: &Option<Program>) {
        match (heard, &self.step) {
            (
                ProgramInput::Said { message: FromProgram::Hello { protocol, name, version, can }, .. },
                IntroductionStep::Hello { .. },
            ) => {
                if protocol != PROTOCOL {
                    self.wrong = Some(format!("it speaks protocol {protocol}, and here it is {PROTOCOL}"));
                }
                self.hello = Some((name, version, can));
                self.ask(program);
            }
            (
                ProgramInput::Said { t, message: FromProgram::Sync { n, t: told, .. } },
                IntroductionStep::Sync { asked, .. },
            ) if n == self.rounds.len() as u64 + 1 => {
                self.rounds.push(Round { asked: *asked, told, answered: t });
                self.ask(program);
            }
            (ProgramInput::Garbage { why, line, .. }, IntroductionStep::Hello { .. }) => {
                self.wrong = Some(format!("it said {line:?} in place of hello, which is no message: {why}"));
            }
            _ => {}
        }
    }

    /// Requests the time once more, or ends the requests.
    fn ask(&mut self, program: &Option<Program>) {
        let n = self.rounds.len() as u64 + 1;
        if n > ROUNDS {
            self.step = IntroductionStep::Asked;
            return;
        }
        if let Some(program) = program {
            program.tell(ToProgram::Sync { n });
        }
        self.step = IntroductionStep::Sync { asked: clock::now(), until: within(SYNC_WITHIN) };
    }

    /// That the program has said no hello. None: it has, or its time is not over. What it has written without a newline
    /// is no message, and no stall makes it one.
    pub(super) fn missing_hello(&self, program: &Option<Program>) -> Option<HandshakeError> {
        let IntroductionStep::Hello { since } = self.step else { return None };
        let waited = Duration::from_nanos(clock::now().saturating_sub(since));
        let text = format!("the program said no hello within {} s", waited.as_secs());
        let (text, since) = match program.as_ref().and_then(Program::unended_line) {
            Some(unended) => (format!("{text}: {unended}"), None),
            None if waited > HELLO_WITHIN => (text, Some(since)),
            None => return None,
        };
        Some(HandshakeError { text, rule: Some(Misbehaviour::Silent), since })
    }

    /// The result, once nothing more is pending.
    ///
    /// # Errors
    /// Why it cannot take part.
    pub(super) fn look(&mut self, program: &Option<Program>) -> Result<Option<HandshakeResult>, HandshakeError> {
        if let Some(text) = self.wrong.take() {
            return Err(HandshakeError { text, rule: None, since: None });
        }
        let now = clock::now();
        let hello_is_due = matches!(self.step, IntroductionStep::Hello { since } if now > since + nanos(HELLO_WITHIN));
        if hello_is_due && let Some(error) = self.missing_hello(program) {
            return Err(error);
        }
        match self.step {
            // A program that does not reply has no usable clock.
            IntroductionStep::Sync { until, .. } if now <= until => return Ok(None),
            IntroductionStep::Asked | IntroductionStep::Sync { .. } => {}
            IntroductionStep::Hello { .. } | IntroductionStep::Over => return Ok(None),
        }
        self.step = IntroductionStep::Over;
        let (name, version, can) = self.hello.take().unwrap_or_default();
        let clock = judge(&self.rounds, program.as_ref().and_then(|program| same_namespace(program.pid())));
        Ok(Some(HandshakeResult::new(name, version, can, clock)))
    }
}

impl HandshakeResult {
    fn new(name: String, version: String, can: Vec<Ability>, clock: ProgramClock) -> Self {
        let why = match (can.contains(&Ability::Report), clock) {
            (false, _) => Some("it does not report what it believes".to_owned()),
            (true, ProgramClock::Ours { .. }) => None,
            (true, ProgramClock::Other(why)) => Some(format!("its reports are not used: {why}")),
        };
        let belief = if why.is_none() { EvidenceSource::Report } else { EvidenceSource::Effect };
        Self { name, version, can, speaks: true, belief, why }
    }

    /// A program that does not speak the protocol.
    pub(super) fn mute(name: String) -> Self {
        let why = Some("it does not speak the protocol".to_owned());
        Self { name, version: String::new(), can: Vec::new(), speaks: false, belief: EvidenceSource::Effect, why }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn can(&self, ability: Ability) -> bool {
        self.can.contains(&ability)
    }

    pub(super) fn can_hold_one_only(&self) -> bool {
        self.speaks && !self.can(Ability::Many)
    }

    pub(super) fn event(&self, t: Nanos) -> Event {
        let can = self.can.iter().map(|ability| ability.name().to_owned()).collect();
        let (name, version, belief, why) = (self.name.clone(), self.version.clone(), self.belief, self.why.clone());
        Event::Program(Box::new(hustings_record::ProgramInfo { t, name, version, can, belief, why }))
    }
}
