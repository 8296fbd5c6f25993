//! Recipes with a known bug, one file each. They exist so that every checker can be seen to catch what it is there for.

pub(super) mod ignores_session_loss;
pub(super) mod no_relist;
