//! The election recipes: one file per recipe, and shared parts. Each is written once against
//! [`Session`](crate::coordination::Session) and [`Host`](crate::host::Host), and cannot tell a model from a real
//! ensemble.

mod breadcrumb;
pub mod broken;
mod candidate;
mod contender;
mod declares;
pub mod election;
mod gone;
mod kind;
mod lead_kind;
mod leadership;
mod leave;
mod lifecycle;
mod lock;
mod lock_race;
mod naive;
pub mod names;
mod order;
mod own;
mod poll_race;
mod predecessor_watch;
mod queue;
mod registry;
mod stand;
mod steps;

pub use self::broken::{Case, FindingKind, cases};
pub use self::contender::{CandidateKind, LeadNode};
pub use self::election::Election;
pub use self::kind::{RecipeKind, UnknownRecipe};
pub use self::lead_kind::LeadKind;
pub use self::lifecycle::Lifecycle;
pub use self::stand::stand;
pub use hustings_record::{FRACTION_MAX, StepDown, UnknownStepDown};
