//! What a recipe says of itself, apart from what it does.

use hustings_record::Declaration;

/// A recipe's promises.
pub(super) trait Declares {
    /// What it promises, whoever takes its steps.
    const DECLARES: Declaration;
}
