//! What proves that a fault took effect, or ended.

use hustings_record::{Evidence, Nanos, Touch};

/// Proof of one stage of a fault; several receipts of a stage are one proof, as good as its weakest.
#[derive(Clone, Debug)]
pub struct Proof<'a> {
    pub from: Nanos,
    pub to: Nanos,
    /// The receipts say so, and nothing that was looked at says otherwise.
    pub verified: bool,
    pub evidence: Vec<&'a str>,
    pub touches: Vec<Touch>,
    /// All that was looked at.
    pub seen: Vec<&'a Evidence>,
    /// The receipts said that it is verified.
    pub claimed: bool,
    /// Why what was looked at does not bear that out.
    pub unfounded: Option<String>,
}

impl Proof<'_> {
    /// Whether the record says what was looked at.
    #[must_use]
    pub fn recorded(&self) -> bool {
        !self.seen.is_empty()
    }
}
