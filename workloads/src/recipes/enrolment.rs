//! How a candidate takes part by its recipe, and how that ends.

use std::pin::pin;

use futures::future::{Either, LocalBoxFuture, select};

use super::candidate::Candidate;
use super::election::Election;
use super::kind::RecipeKind;
use super::lifecycle::Lifecycle;
use super::registry::recipes;
use super::steps::{CorrectSteps, Recipe, Steps};
use super::{broken, departure};
use crate::coordination::Session;
use crate::host::{Departure, Host, Order};

/// Takes part in `election` under `session` until it is ordered to leave, the session ends, or the election is deleted.
/// This is one incarnation: for another one, call it again with another session.
///
/// `lifecycle` belongs to the candidate and outlives its incarnations. So no two of its terms in one process share a
/// number. The remains of an incarnation under a session are removed before the next one enrols under it.
///
/// A departure by order ends within 2 s, whatever the ensemble does. When the znode could not be deleted by then, a
/// note says so and `delete` is `None`. A caller that does not call it again under the session should close the
/// session, which removes the znode too.
pub async fn stand<S: Session, H: Host>(
    session: &S,
    host: &H,
    election: &Election,
    lifecycle: &Lifecycle,
) -> Departure {
    run_recipe(Box::new(Candidate::new(session, host, election, lifecycle))).await
}

/// The steps of a broken recipe, or those of the sound ones.
macro_rules! steps {
    () => {
        CorrectSteps
    };
    ($bug:ident::$kind:ident) => {
        broken::kinds::$kind
    };
}

/// Defines the dispatch from a kind to its recipe.
macro_rules! dispatch {
    ($($kind:ident: $file:ident::$recipe:ident $(but $bug:ident)?, $($facts:tt),+;)+) => {
        /// Runs the recipe of the candidate's election. Boxed, because the recipes differ in size.
        fn run_recipe<'c, S: Session, H: Host>(
            candidate: Box<Candidate<'c, S, H>>,
        ) -> LocalBoxFuture<'c, Departure> {
            match candidate.election.recipe {
                $(RecipeKind::$kind => {
                    Box::pin(stand_by::<super::$file::$recipe, S, H>(candidate, &steps!($($bug::$kind)?)))
                })+
            }
        }
    };
}

recipes!(dispatch);

/// Large parts are boxed: there may be a million of these, and a future holds its parameters twice.
async fn stand_by<R: Recipe, S: Session, H: Host>(
    mut candidate: Box<Candidate<'_, S, H>>,
    steps: &dyn Steps<S, H>,
) -> Departure {
    let ended = {
        let order = pin!(candidate.host.order());
        let run = Box::pin(async {
            Box::pin(departure::clear_up(&mut candidate, async |candidate| steps.delete_own(candidate, false).await))
                .await?;
            steps.begin(&mut candidate);
            R::run(&mut candidate, steps).await
        });
        // The order comes first: once it is given, nothing else of the recipe runs.
        match select(order, run).await {
            Either::Left((order, _)) => Err(order),
            Either::Right((Err(departure), _)) => Ok(departure),
        }
    };
    match ended {
        Ok(departure) => candidate.conclude(departure),
        Err(Order::Resign) => Departure::Resigned { delete: steps.leave(&mut candidate).await },
        Err(Order::Stop) => {
            steps.leave(&mut candidate).await;
            Departure::Stopped
        }
    }
}
