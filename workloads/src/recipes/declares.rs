//! The declarations of a recipe, apart from its steps.

use hustings_record::Declaration;

/// A recipe's promises.
pub(super) trait Declares {
    /// Its promises, which also hold for the broken recipes derived from it.
    const DECLARES: Declaration;
}
