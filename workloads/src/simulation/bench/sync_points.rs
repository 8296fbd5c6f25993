//! Sync points for candidates' requests, set by a test.

use std::rc::Rc;

use hustings_record::Direction;
use hustings_record::numbers::{to_u16, to_u32};

use super::bench_world::BenchWorld;
use crate::model::Micros;
use crate::schedule::ScheduledRequest;
use crate::simulation::world::{ArmedSyncPoint, RequestDelivery, SyncPointEffect};

/// An action of a test before a request leaves is over by then: the request leaves this much later.
const LATE_US: Micros = 10_000;

impl BenchWorld {
    /// Runs an action when a candidate's next request of a kind is about to leave, before it does.
    pub fn before(
        self: &Rc<Self>,
        index: usize,
        kind: ScheduledRequest,
        part: &str,
        act: impl FnOnce(&Rc<Self>) + 'static,
    ) {
        let own = self.clone();
        self.call_before(index, kind, part, move || act(&own));
        self.arm(index, kind, part, SyncPointEffect::Request(RequestDelivery::Late(LATE_US)));
    }

    /// The request is executed; its answer and everything after it are held until the connection is lost.
    pub fn hold_reply(&self, index: usize, kind: ScheduledRequest, part: &str) {
        let (world, host) = (self.world.clone(), to_u16(index));
        self.call_before(index, kind, part, move || world.network.hold(host, Direction::Down));
    }

    /// The request is executed; then the connection is lost, and cannot be restored before the next `reconnect`.
    pub fn drop_reply(&self, index: usize, kind: ScheduledRequest, part: &str) {
        let (world, host) = (self.world.clone(), to_u16(index));
        self.call_before(index, kind, part, move || {
            world.network.hold(host, Direction::Down);
            let own = world.clone();
            world.clock.later(world.clock.now() + LATE_US, move || {
                own.network.hold(host, Direction::Both);
                own.reset_host(host);
            });
        });
    }

    /// The request leaves this much later.
    pub fn delay(&self, index: usize, kind: ScheduledRequest, part: &str, ms: u64) {
        self.arm(index, kind, part, SyncPointEffect::Request(RequestDelivery::Late(ms * 1_000)));
    }

    fn call_before(&self, index: usize, kind: ScheduledRequest, part: &str, act: impl FnOnce() + 'static) {
        self.arm(index, kind, part, SyncPointEffect::Call(Box::new(act)));
    }

    fn arm(&self, index: usize, kind: ScheduledRequest, part: &str, effect: SyncPointEffect) {
        let (cand, part) = (to_u32(index), part.to_owned());
        self.world.sync_points.borrow_mut().arm(ArmedSyncPoint { cand, kind, part, left: 1, from: 0, effect });
    }

    pub fn clear_hooks(&self) {
        self.world.sync_points.borrow_mut().clear();
    }
}
