//! The verification that a fault took effect, or ended.

use hustings_record::{Evidence, Nanos, Touch};

/// Verification of one stage of a fault. Several verifications of a stage form one, which is as good as its weakest.
#[derive(Clone, Debug)]
pub struct VerificationResult<'a> {
    pub from: Nanos,
    pub to: Nanos,
    /// The verifications claim it, and no evidence contradicts it.
    pub verified: bool,
    pub evidence: Vec<&'a str>,
    pub touches: Vec<Touch>,
    /// All evidence.
    pub seen: Vec<&'a Evidence>,
    /// The verifications claim that it is verified.
    pub claimed: bool,
    /// Why the evidence does not support the claim.
    pub unfounded: Option<String>,
    /// The servers show the opposite of what the candidate itself reported.
    pub is_denied: bool,
}

impl VerificationResult<'_> {
    /// Whether the record holds evidence.
    #[must_use]
    pub fn recorded(&self) -> bool {
        !self.seen.is_empty()
    }
}
