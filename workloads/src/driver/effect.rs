//! The moment at which a fault takes effect, reported before its verification is over. The time to its heal starts
//! then.

use std::cell::RefCell;

use futures::channel::oneshot;
use hustings_record::Nanos;

use super::injected_fault::Remedy;

/// Bounds of the time at which a fault took effect, and its remedy.
pub(super) type EffectBounds = ((Nanos, Nanos), Remedy);

/// Through this, the injector of a fault reports that it is in effect while it still verifies it.
pub struct Effect(RefCell<Option<oneshot::Sender<EffectBounds>>>);

impl Effect {
    pub(super) fn new() -> (Self, oneshot::Receiver<EffectBounds>) {
        let (tell, told) = oneshot::channel();
        (Self(RefCell::new(Some(tell))), told)
    }

    /// The fault took effect between these times. Verification goes on; any part not done by the heal is unverified.
    pub fn took(&self, times: (Nanos, Nanos), remedy: Remedy) {
        if let Some(tell) = self.0.take() {
            // The receiver is gone when the injection was given up.
            let _ = tell.send((times, remedy));
        }
    }
}
