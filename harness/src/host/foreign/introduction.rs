//! The handshake with a program: its name, its abilities, and whether its clock is ours.

use std::time::Duration;

use hustings_record::{Event, Grade, Nanos};

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
        until: Nanos,
    },
    Sync {
        asked: Nanos,
        until: Nanos,
    },
    /// All requests have been sent.
    Asked,
    Over,
}

/// The result of the handshake.
pub(super) struct HandshakeResult {
    name: String,
    version: String,
    can: Vec<Ability>,
    speaks: bool,
    pub(super) belief: Grade,
    why: Option<String>,
}

fn within(limit: Duration) -> Nanos {
    clock::now() + limit.as_nanos() as Nanos
}

impl Introduction {
    /// A program that does not speak the protocol needs no handshake.
    pub(super) fn begin(spec: &ProgramSetUp) -> Self {
        let step =
            if spec.speaks { IntroductionStep::Hello { until: within(HELLO_WITHIN) } } else { IntroductionStep::Over };
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

    /// The result, once nothing more is pending. `pid` is the program's.
    ///
    /// # Errors
    /// Why it cannot take part.
    pub(super) fn look(&mut self, pid: Option<u32>) -> Result<Option<HandshakeResult>, String> {
        if let Some(wrong) = self.wrong.take() {
            return Err(wrong);
        }
        let now = clock::now();
        match self.step {
            IntroductionStep::Hello { until } if now > until => {
                return Err(format!("the program said no hello within {} s", HELLO_WITHIN.as_secs()));
            }
            // A program that does not reply has no usable clock.
            IntroductionStep::Sync { until, .. } if now <= until => return Ok(None),
            IntroductionStep::Asked | IntroductionStep::Sync { .. } => {}
            IntroductionStep::Hello { .. } | IntroductionStep::Over => return Ok(None),
        }
        self.step = IntroductionStep::Over;
        let (name, version, can) = self.hello.take().unwrap_or_default();
        let clock = judge(&self.rounds, pid.and_then(same_namespace));
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
        let belief = if why.is_none() { Grade::Report } else { Grade::Effect };
        Self { name, version, can, speaks: true, belief, why }
    }

    /// A program that does not speak the protocol.
    pub(super) fn mute(name: String) -> Self {
        let why = Some("it does not speak the protocol".to_owned());
        Self { name, version: String::new(), can: Vec::new(), speaks: false, belief: Grade::Effect, why }
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
