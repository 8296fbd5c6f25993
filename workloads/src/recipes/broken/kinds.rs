//! The kinds of steps of broken recipes, one for each entry of the registry. The recipe's own file changes the steps.

use crate::recipes::registry::recipes;

macro_rules! kinds {
    ($($kind:ident: $file:ident::$recipe:ident $(but $bug:ident)?, $($facts:tt),+;)+) => {
        $($(
            #[doc = concat!("The steps that `", stringify!($bug), "` changes.")]
            pub(in crate::recipes) struct $kind;
        )?)+
    };
}

recipes!(kinds);
