//! Scenarios: what runs, which faults are injected, what is expected. TOML in, cells out.
//!
//! ```toml
//! name = "example"
//! [ensemble]
//! tick_ms = 200
//! [election]
//! groups = 20
//! session_timeout_ms = 2000
//! [faults.cut]
//! kind = "partition"
//! for_t = 2.0
//! [matrix]
//! step_down = ["on-disconnect", "on-expiry"]
//! [[expect]]
//! when = { step_down = "on-expiry" }
//! overlap = "some"
//! because = "the ensemble decides before the client knows"
//! ```

mod axis;
pub(crate) mod cell;
mod contest;
mod declared_step_down;
mod error;
mod expand;
mod expect;
mod expected;
mod explain;
pub(crate) mod fault;
mod fit;
mod info;
mod load;
mod placement;
pub mod plan;
mod program;
mod random;
mod raw_fault_spec;
mod rounds;
mod schema;
mod shipped;
mod validate;

pub use self::axis::{Axis, Coordinates};
pub use self::cell::{Cell, ROOT};
pub use self::contest::{PairedCells, in_turn, sides};
pub use self::declared_step_down::DeclaredStepDown;
pub use self::error::{Problem, ScenarioError, UnknownWord, meant, nearest};
pub use self::expect::ExpectSpec;
pub use self::explain::{ExternalServers, PlanView, cell_duration_ms, describe_further_rounds, explain, explain_as};
pub use self::fault::{FaultSpec, Target, TargetKind};
pub use self::load::{Overrides, declared_program, in_words, shortened, value};
pub use self::placement::placement;
pub use self::program::{
    ForeignSpec, POLICY_BY_COMMAND, RESOURCE_PLACEHOLDER, ResolvedProgram, placeholder, says_where_to_write,
    unknown_placeholder, uses_placeholders,
};
pub use self::random::{RunCapabilities, random};
pub use self::rounds::{Rounds, check_rounds, rounds};
pub use self::schema::{ElectionSpec, EnsembleSpec, Links, Paths, PhasesSpec, Scenario, SelfTest};
pub use self::shipped::{SHIPPED, ShippedScenario, TEMPLATE};

use hustings_record::{REPETITIONS_MAX, Warning};

use crate::recipes::CandidateKind;

impl Scenario {
    /// Reads a scenario, applies the `--set` arguments (`dotted.key=value`) in turn, and checks the whole.
    ///
    /// `origin` is the name of the text in errors, for example a file's path.
    ///
    /// # Errors
    /// Syntax, unknown keys with the nearest known one, and every [`Problem`], all at once.
    pub fn parse(text: &str, origin: &str, sets: &[String]) -> Result<Self, ScenarioError> {
        Self::parse_with(text, origin, &[Overrides { option: "--set", sets }])
    }

    /// As [`Scenario::parse`], for the arguments of several options, in turn.
    ///
    /// # Errors
    /// As [`Scenario::parse`].
    pub fn parse_with(text: &str, origin: &str, overrides: &[Overrides<'_>]) -> Result<Self, ScenarioError> {
        load::load(text, origin, overrides)?.checked(origin)
    }

    fn checked(self, origin: &str) -> Result<Self, ScenarioError> {
        let problems = validate::problems(&self);
        if problems.is_empty() { Ok(self) } else { Err(ScenarioError::Invalid { origin: origin.to_owned(), problems }) }
    }

    /// The same scenario with an external program in place of its recipes. Parts that no program supports are left out,
    /// and returned as one line each.
    ///
    /// # Errors
    /// As [`Scenario::parse`], for the combination of both.
    pub fn with_program(
        mut self,
        name: &str,
        spec: ForeignSpec,
        origin: &str,
    ) -> Result<(Self, Vec<String>), ScenarioError> {
        let stands = CandidateKind::Foreign(name.to_owned());
        self.foreign.insert(name.to_owned(), spec);
        for matrix in self.matrices_mut() {
            matrix.recipe = matrix.recipe.take().map(|_| Axis(vec![stands.clone()]));
        }
        self.election.recipe = stands;
        let left_out = fit::fit(&mut self);
        Ok((self.checked(origin)?, left_out))
    }

    /// The same scenario with each cell run this many times.
    ///
    /// # Errors
    /// As [`Scenario::parse`], for the resulting scenario.
    pub fn repeated(mut self, repeat: u32, origin: &str) -> Result<Self, ScenarioError> {
        self.repeat = repeat;
        self.checked(origin)
    }

    /// The largest number of rounds. Cells that run only once get no further rounds when one is spoilt.
    #[must_use]
    pub fn rounds_max(&self) -> u32 {
        if self.repeat > 1 { self.repeat.saturating_add(self.further_rounds).min(REPETITIONS_MAX) } else { self.repeat }
    }

    /// The largest number that a repetition may have. Undecided cells share the time of all further rounds, so that one
    /// may be run more often than [`Scenario::rounds_max`].
    #[must_use]
    pub fn repetition_number_max(&self) -> u32 {
        if self.rounds_max() > self.repeat { REPETITIONS_MAX } else { self.repeat }
    }

    /// Its cells, in the order in which they are run.
    #[must_use]
    pub fn cells(&self) -> Vec<Cell> {
        expand::expand(self)
    }

    /// Settings that are allowed but probably not intended.
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        validate::warnings(self)
    }

    /// The scenario with all defaults filled in, as TOML that [`Scenario::parse`] reads back.
    ///
    /// # Errors
    /// A value that TOML cannot represent.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }

    /// As [`Scenario::to_toml`], with the seed of a run. TOML has no integers beyond 2⁶³−1: such a seed stands in a comment.
    ///
    /// # Errors
    /// As [`Scenario::to_toml`].
    pub fn to_toml_with_seed(&self, seed: u64) -> Result<String, toml::ser::Error> {
        if i64::try_from(seed).is_ok() {
            return Self { seed: Some(seed), ..self.clone() }.to_toml();
        }
        let text = Self { seed: None, ..self.clone() }.to_toml()?;
        Ok(format!("# seed: {seed}, too large for TOML; to be given with --seed {seed}\n{text}"))
    }
}
