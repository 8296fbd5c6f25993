//! The moment at which a fault takes effect, reported before its verification is over. The time to its heal starts
//! then.

use std::cell::RefCell;

use futures::channel::oneshot;
use hustings_record::Nanos;

use super::injected_fault::{InjectedFault, Remedy, Verification};

/// Through this, the injector of a fault reports that it is in effect while it still verifies it.
pub struct Effect(RefCell<Option<oneshot::Sender<InjectedFault>>>);

impl Effect {
    pub(super) fn new() -> (Self, oneshot::Receiver<InjectedFault>) {
        let (tell, told) = oneshot::channel();
        (Self(RefCell::new(Some(tell))), told)
    }

    /// The fault took effect between these times. Verification goes on; any part not done by the heal is unverified.
    pub fn took(&self, (from, to): (Nanos, Nanos), remedy: Remedy) {
        let evidence = "its time was over before its verification was".to_owned();
        self.seen(Verification { from, to, evidence, ..Verification::default() }, remedy);
    }

    /// The fault took effect, as this shows. What the injector still asks, such as the last contact with each session,
    /// is no part of its verification.
    pub fn seen(&self, proof: Verification, remedy: Remedy) {
        if let Some(tell) = self.0.take() {
            // The receiver is gone when the injection was given up.
            let _ = tell.send(InjectedFault { proof, remedy });
        }
    }
}
