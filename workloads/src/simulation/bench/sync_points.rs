//! What a test has lying in wait for requests of candidates.

use std::rc::Rc;

use hustings_record::Direction;

use super::ground::Ground;
use crate::model::Micros;
use crate::schedule::ScheduledRequest;
use crate::simulation::world::{RequestFate, Trap, TrapEffect};

/// What a test does when a request is about to leave is done by then: the request leaves so much later.
const LATE_US: Micros = 10_000;

impl Ground {
    /// Does something when a candidate's next request of a kind is about to leave, before it does.
    pub fn before(
        self: &Rc<Self>,
        index: usize,
        kind: ScheduledRequest,
        part: &str,
        act: impl FnOnce(&Rc<Self>) + 'static,
    ) {
        let own = self.clone();
        self.call_before(index, kind, part, move || act(&own));
        self.lay(index, kind, part, TrapEffect::Request(RequestFate::Late(LATE_US)));
    }

    /// The request is carried out, and its answer waits with everything after it until the connection goes.
    pub fn hold_reply(&self, index: usize, kind: ScheduledRequest, part: &str) {
        let world = self.world.clone();
        self.call_before(index, kind, part, move || world.network.hold(index as u16, Direction::Down));
    }

    /// The request is carried out; then the connection goes, and no other one can be made before the next `reconnect`.
    pub fn drop_reply(&self, index: usize, kind: ScheduledRequest, part: &str) {
        let world = self.world.clone();
        self.call_before(index, kind, part, move || {
            world.network.hold(index as u16, Direction::Down);
            let own = world.clone();
            world.clock.later(world.clock.now() + LATE_US, move || {
                own.network.hold(index as u16, Direction::Both);
                own.reset_host(index as u16);
            });
        });
    }

    /// The request leaves so much later.
    pub fn delay(&self, index: usize, kind: ScheduledRequest, part: &str, ms: u64) {
        self.lay(index, kind, part, TrapEffect::Request(RequestFate::Late(ms * 1_000)));
    }

    fn call_before(&self, index: usize, kind: ScheduledRequest, part: &str, act: impl FnOnce() + 'static) {
        self.lay(index, kind, part, TrapEffect::Call(Box::new(act)));
    }

    fn lay(&self, index: usize, kind: ScheduledRequest, part: &str, effect: TrapEffect) {
        let (cand, part) = (index as u32, part.to_owned());
        self.world.traps.borrow_mut().lay(Trap { cand, kind, part, left: 1, from: 0, effect });
    }

    pub fn clear_hooks(&self) {
        self.world.traps.borrow_mut().clear();
    }
}
