//! The link of a host: what it delays, and what it holds back.

use hustings_record::Direction;

use super::message::{Down, Up};
use crate::faults::Slow;
use crate::model::Conn;

/// Messages that wait, each with its connection.
type Held<T> = Vec<(Conn, T)>;

/// Where a host's messages pass, both ways.
#[derive(Default)]
pub(crate) struct Link {
    up_held: bool,
    down_held: bool,
    held_up: Held<Up>,
    held_down: Held<Down>,
    /// What it adds to messages.
    pub(crate) slow: Slow,
}

impl Link {
    pub(crate) fn holds_up(&self) -> bool {
        self.up_held
    }

    pub(crate) fn holds_down(&self) -> bool {
        self.down_held
    }

    /// No connection can be made while either way is held.
    pub(crate) fn is_held(&self) -> bool {
        self.up_held || self.down_held
    }

    pub(crate) fn hold_up(&mut self, conn: Conn, up: Up) {
        self.held_up.push((conn, up));
    }

    pub(crate) fn hold_down(&mut self, conn: Conn, down: Down) {
        self.held_down.push((conn, down));
    }

    /// Nothing passes this way from now on; what is sent waits.
    pub(super) fn hold(&mut self, way: Direction) {
        self.up_held |= way.is_up();
        self.down_held |= way.is_down();
    }

    /// Everything passes again. Gives what has waited, each way in its order.
    pub(crate) fn release(&mut self) -> (Held<Up>, Held<Down>) {
        (self.up_held, self.down_held) = (false, false);
        (std::mem::take(&mut self.held_up), std::mem::take(&mut self.held_down))
    }
}
