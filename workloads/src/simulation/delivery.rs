//! The delay of messages on a host's link.

use hustings_record::Direction;

use super::world::{Link, ScheduledEvent, SimWorld};
use crate::model::{Conn, Micros};

impl SimWorld {
    /// The latency of a message that leaves now; `way` is up or down.
    pub(super) fn latency(&self, host: u16, way: Direction) -> Micros {
        self.hop_us() + self.added_us(host, way)
    }

    /// The latency between any two machines.
    pub(super) fn hop_us(&self) -> Micros {
        self.timing.link_us + self.draw(self.timing.link_jitter_us + 1)
    }

    /// The additional latency of a slow link for a message.
    pub(super) fn added_us(&self, host: u16, way: Direction) -> Micros {
        let (latency_us, jitter_us) =
            self.network.if_slow(host, way, |slow| (slow.latency_ms * 1_000, slow.jitter_ms * 1_000));
        if jitter_us == 0 {
            return latency_us;
        }
        (latency_us + self.draw(2 * jitter_us + 1)).saturating_sub(jitter_us)
    }

    /// The arrival of a message of this size that leaves at `from`, after the earlier ones on its connection.
    pub(super) fn arrival(&self, conn: Conn, way: Direction, from: Micros, bytes: impl FnOnce() -> u64) -> Micros {
        let host = self.network.host_of(conn);
        let at = from + self.latency(host, way);
        self.network.in_turn(conn, way, at, self.network.line_us(host, way, bytes))
    }

    /// No link of a host is held any more. Held messages arrive at once, before any that are sent from now on.
    pub(super) fn release(&self, host: u16) {
        let (up, down) = self.network.of_link(host, Link::release);
        let at = self.clock.now() + self.timing.link_us;
        for (conn, up) in up {
            self.network.in_turn(conn, Direction::Up, at, 0);
            self.clock.plan(at, ScheduledEvent::Up(conn, up));
        }
        for (conn, down) in down {
            self.network.in_turn(conn, Direction::Down, at, 0);
            self.clock.plan(at, ScheduledEvent::Down(conn, down));
        }
    }
}
