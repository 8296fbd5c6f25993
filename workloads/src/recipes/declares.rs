//! The declarations of a recipe, apart from its steps.

use hustings_record::Declaration;

/// A recipe's promises.
pub(super) trait RecipeDeclaration {
    /// Its promises, which also hold for the broken recipes derived from it.
    const DECLARES: Declaration;

    /// Whether a winner fences the leader before it, by the cell's method. No other recipe depends on that method.
    const FENCES: bool = false;
}
