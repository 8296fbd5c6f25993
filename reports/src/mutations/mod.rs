//! Record mutations: can each check fail on this cell? A mutation alters the events of a cell as a broken program,
//! server or fault would. The altered cell is judged again. A check that passes, and would have passed under every
//! mutation, has tested nothing here.
//!
//! A mutation is one file in `kinds` and one line of the registry. It names the check that must catch it. It finds its
//! sites, the places in the cell where that check should catch it, or gives the reason why there are none.

mod edits;
mod examine;
mod indexed_cell;
mod kinds;
mod matrix;
mod mutation;
mod registry;
mod shift;
mod sites;

pub use examine::EVENTS_MAX;
pub(crate) use examine::examine;
pub use matrix::{Matrix, MutationRow, SiteOutcome, altered, matrix};
pub use mutation::Mutation;
pub use registry::MUTATIONS;
