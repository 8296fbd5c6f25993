//! Why a cell did not complete.

/// Why the cell was cut short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CutShort {
    /// The user interrupted it.
    Interrupted,
    /// An infrastructure error occurred.
    Aborted(String),
}

impl From<anyhow::Error> for CutShort {
    fn from(error: anyhow::Error) -> Self {
        Self::Aborted(format!("{error:#}"))
    }
}

/// The first of two errors; an interruption by the user does not hide an error.
pub(super) fn first_trouble(first: Result<(), CutShort>, then: Result<(), CutShort>) -> Result<(), CutShort> {
    match (first, then) {
        (Err(CutShort::Interrupted), Err(then)) => Err(then),
        (first, then) => first.and(then),
    }
}
