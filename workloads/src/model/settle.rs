//! A driver for those who want no time in between.

use super::ensemble::Ensemble;
use super::interface::Output;
use super::op::Micros;

/// Orders whatever is forwarded and applies whatever is committed, everywhere and at once, until there is nothing left to do.
/// Everything else goes to `each`.
pub fn settle(ensemble: &mut Ensemble, now: Micros, mut each: impl FnMut(Output)) {
    while let Some(output) = ensemble.pop() {
        match output {
            Output::Forward { server, ticket, .. } => {
                if let Some(zxid) = ensemble.order(now, ticket) {
                    ensemble.apply(now, server, zxid);
                }
            }
            Output::Committed { zxid } => (0..ensemble.servers()).for_each(|server| ensemble.apply(now, server, zxid)),
            other => each(other),
        }
    }
}
