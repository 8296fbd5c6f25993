//! Record mutations: can each check fail on this cell? A mutation alters the events of a cell as a broken program, server or
//! fault would have caused them; the altered cell is judged again. A check that says *pass*, and would have said so whichever
//! mutation had been applied, has tested nothing here.
//!
//! A mutation is one file in `kinds` and one line of the registry. It names the check that must catch it, and finds its sites:
//! the places in the cell at which that check can be expected to. Where there is none, the mutation gives the reason.

mod edits;
mod examine;
mod kinds;
mod matrix;
mod mutation;
mod registry;
mod scene;
mod shift;
mod sites;

pub use examine::EVENTS_MAX;
pub(crate) use examine::examine;
pub use matrix::{Matrix, MutationRow, SiteOutcome, altered, matrix};
pub use mutation::Mutation;
pub use registry::MUTATIONS;
