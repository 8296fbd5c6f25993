//! Why a cell did not complete.

/// Why the cell was cut short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CellInterruption {
    /// The user interrupted it.
    Interrupted,
    /// An infrastructure error occurred.
    Aborted(String),
}

impl From<anyhow::Error> for CellInterruption {
    fn from(error: anyhow::Error) -> Self {
        Self::Aborted(format!("{error:#}"))
    }
}

/// The first of two errors; an interruption by the user does not hide an error.
pub(super) fn first_trouble(
    first: Result<(), CellInterruption>,
    then: Result<(), CellInterruption>,
) -> Result<(), CellInterruption> {
    match (first, then) {
        (Err(CellInterruption::Interrupted), Err(then)) => Err(then),
        (first, then) => first.and(then),
    }
}
