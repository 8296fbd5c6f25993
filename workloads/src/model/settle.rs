//! A driver without delays.

use super::ensemble::Ensemble;
use super::interface::Output;
use super::op::Micros;

/// Orders everything that is forwarded and applies everything that is committed, on all servers at once, until nothing
/// is left. All other outputs go to `each`.
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
