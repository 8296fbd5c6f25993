//! The moment at which a fault takes effect, told before its verification is over: the time of its heal counts from there.

use std::cell::RefCell;

use futures::channel::oneshot;
use hustings_record::Nanos;

use super::injury::Remedy;

/// Between which times a fault took effect, and what undoes it.
pub(super) type InEffect = ((Nanos, Nanos), Remedy);

/// Where whoever injects a fault tells that it is in effect, while he verifies that.
pub struct Effect(RefCell<Option<oneshot::Sender<InEffect>>>);

impl Effect {
    pub(super) fn new() -> (Self, oneshot::Receiver<InEffect>) {
        let (tell, told) = oneshot::channel();
        (Self(RefCell::new(Some(tell))), told)
    }

    /// The fault took effect between these times. Verifications go on; what they are not done with at its heal is not verified.
    pub fn took(&self, times: (Nanos, Nanos), remedy: Remedy) {
        if let Some(tell) = self.0.take() {
            // Nobody waits for it any more when the injection is given up.
            let _ = tell.send((times, remedy));
        }
    }
}
