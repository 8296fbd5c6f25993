//! The election recipes: one file per recipe, and shared parts. Each is written once against
//! [`Session`](crate::coordination::Session) and [`Host`](crate::host::Host), and cannot tell a model from a real
//! ensemble.

mod breadcrumb;
pub mod broken;
mod candidate;
mod candidate_kind;
mod declares;
mod departure;
pub mod election;
mod enrolment;
mod kind;
mod lead_kind;
mod leadership;
mod lifecycle;
mod lock;
mod lock_race;
mod naive;
pub mod names;
mod order;
mod own_znode;
mod poll_race;
mod predecessor_watch;
mod queue;
mod registry;
mod steps;
mod vanished_znode;

pub use self::broken::{Case, FindingKind, cases};
pub use self::candidate_kind::{CandidateKind, LeadNode};
pub use self::election::Election;
pub use self::enrolment::stand;
pub use self::kind::{RecipeKind, UnknownRecipe};
pub use self::lead_kind::LeadKind;
pub use self::lifecycle::Lifecycle;
pub use hustings_record::{FRACTION_MAX, StepDown, UnknownStepDown};
