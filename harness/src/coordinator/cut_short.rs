//! Why a cell did not come to its end.

/// The cell was cut short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CutShort {
    /// By the user.
    Interrupted,
    /// By an error of the infrastructure.
    Aborted(String),
}

impl From<anyhow::Error> for CutShort {
    fn from(error: anyhow::Error) -> Self {
        Self::Aborted(format!("{error:#}"))
    }
}

/// The first trouble of two; but what the user wished for hides no error.
pub(super) fn first_trouble(first: Result<(), CutShort>, then: Result<(), CutShort>) -> Result<(), CutShort> {
    match (first, then) {
        (Err(CutShort::Interrupted), Err(then)) => Err(then),
        (first, then) => first.and(then),
    }
}
