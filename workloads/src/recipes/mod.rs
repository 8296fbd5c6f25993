//! The election recipes: one file a recipe, and what they share. Each is written once against [`Session`] and [`Booth`]
//! and cannot tell a model from a real ensemble.

mod breadcrumb;
mod broken;
mod candidate;
mod career;
pub mod election;
mod lead;
mod leave;
mod lock;
mod lock_race;
mod naive;
pub mod names;
mod poll_race;
mod predecessor_watch;
mod queue;
mod recipe;
mod registry;
pub mod step_down;

use std::pin::pin;

use futures::future::{Either, select};

pub use self::broken::{Case, cases};
pub use self::career::Career;
pub use self::registry::{FanOut, RecipeKind, UnknownRecipe};
pub use self::step_down::{StepDown, UnknownStepDown};

use self::candidate::Candidate;
use self::recipe::Recipe;
use self::registry::stand_by_recipe;
use crate::booth::{Booth, Departure, Order};
use crate::coordination::Session;

/// What a candidate stands for, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Election {
    /// Path of the election, `/election/<group>`.
    pub path: String,
    pub recipe: RecipeKind,
    pub step_down: StepDown,
    /// `poll-race` tries this often, in milliseconds.
    pub poll_interval_ms: u64,
    /// Create the election's path (persistent) when it is missing at first. Without it, and once the path has been seen,
    /// its absence means that the election was deleted.
    pub create_missing: bool,
}

/// Stands in `election` under `session` until it is told to go, the session ends, or the election is deleted. This is one
/// incarnation: for another one, call it again with another session.
///
/// `career` belongs to the candidate and outlives its incarnations, so that no two of its terms in one process share a number,
/// and what one of them left behind under a session is removed before the next one stands under it.
///
/// A departure by order comes within 2 s, whatever the ensemble does. When the znode could not be deleted by then, a note
/// says so, `left` is `None`, and whoever does not stand again under the session should close it, which removes it too.
pub async fn stand<S: Session, B: Booth>(session: &S, booth: &B, election: &Election, career: &Career) -> Departure {
    stand_by_recipe(Box::new(Candidate::new(session, booth, election, career))).await
}

/// What is large is boxed: there may be a million of these, and a future holds its parameters twice.
async fn stand_by<R: Recipe, S: Session, B: Booth>(mut candidate: Box<Candidate<'_, S, B>>) -> Departure {
    let ended = {
        let order = pin!(candidate.booth.order());
        let run = Box::pin(async {
            Box::pin(leave::clear_up::<R, S, B>(&mut candidate)).await?;
            R::stand(&mut candidate).await
        });
        // The order comes first: once it is given, nothing else of the recipe runs.
        match select(order, run).await {
            Either::Left((order, _)) => Err(order),
            Either::Right((Err(departure), _)) => Ok(departure),
        }
    };
    match ended {
        Ok(departure) => candidate.conclude(departure),
        Err(Order::Resign) => Departure::Resigned { left: Box::pin(R::leave(&mut candidate)).await },
        Err(Order::Stop) => {
            Box::pin(R::leave(&mut candidate)).await;
            Departure::Stopped
        }
    }
}
