//! The link of a host: what it delays, and what it holds back.

use std::collections::VecDeque;
use std::rc::Rc;

use super::script::Way;
use super::world::{Due, NOWHERE, World};
use crate::model::{Conn, Micros};

/// Where a host's messages pass, both ways.
#[derive(Default)]
pub(super) struct Link {
    up_held: bool,
    down_held: bool,
    held_up: VecDeque<Due>,
    held_down: VecDeque<Due>,
    /// Added to every message, and up to so much more.
    pub(super) slow_us: Micros,
    pub(super) jitter_us: Micros,
}

impl Link {
    pub(super) fn holds_up(&self) -> bool {
        self.up_held
    }

    pub(super) fn holds_down(&self) -> bool {
        self.down_held
    }

    /// No connection can be made while either way is held.
    pub(super) fn is_held(&self) -> bool {
        self.up_held || self.down_held
    }

    pub(super) fn hold_up(&mut self, due: Due) {
        self.held_up.push_back(due);
    }

    pub(super) fn hold_down(&mut self, due: Due) {
        self.held_down.push_back(due);
    }
}

impl World {
    /// When a message leaving now is at the other end, at least.
    pub(super) fn latency(&self, host: u16) -> Micros {
        let (slow, jitter) = match host {
            NOWHERE => (0, 0),
            host => {
                let hosts = self.hosts.borrow();
                let link = &hosts[usize::from(host)].link;
                (link.slow_us, link.jitter_us)
            }
        };
        self.timing.link_us + slow + self.draw(self.timing.link_jitter_us + jitter + 1)
    }

    /// Nothing passes from now on; what is sent waits.
    pub(super) fn hold(&self, host: u16, way: Way) {
        let mut hosts = self.hosts.borrow_mut();
        let link = &mut hosts[usize::from(host)].link;
        link.up_held |= way != Way::Down;
        link.down_held |= way != Way::Up;
    }

    /// Everything passes again, first what has waited, in its order.
    pub(super) fn release(self: &Rc<Self>, host: u16) {
        let (up, down) = {
            let mut hosts = self.hosts.borrow_mut();
            let link = &mut hosts[usize::from(host)].link;
            (link.up_held, link.down_held) = (false, false);
            (std::mem::take(&mut link.held_up), std::mem::take(&mut link.held_down))
        };
        for due in up.into_iter().chain(down) {
            let at = match &due {
                Due::Up(conn, _) => self.in_order(*conn, true),
                Due::Down(conn, _) => self.in_order(*conn, false),
                _ => self.now(),
            };
            self.plan(at, due);
        }
    }

    /// What was held arrives at once, before everything that is sent from now on.
    fn in_order(&self, conn: Conn, up: bool) -> Micros {
        let mut lines = self.lines.borrow_mut();
        let line = &mut lines[conn as usize];
        let last = if up { &mut line.up_at } else { &mut line.down_at };
        let at = self.now() + self.timing.link_us;
        *last = (*last).max(at);
        at
    }

    /// Resets all connections of a host; both ends know at once.
    pub(super) fn reset_host(self: &Rc<Self>, host: u16) -> usize {
        let clients = self.hosts.borrow()[usize::from(host)].clients.clone();
        let open: Vec<Conn> =
            clients.into_iter().filter_map(|client| self.clients.borrow()[client as usize].conn()).collect();
        open.iter().for_each(|conn| self.reset(*conn));
        open.len()
    }

    /// Resets a connection; both ends know at once, over a held link too.
    pub(super) fn reset(self: &Rc<Self>, conn: Conn) {
        let host = {
            let mut lines = self.lines.borrow_mut();
            let line = &mut lines[conn as usize];
            if !line.client_open {
                return;
            }
            line.client_open = false;
            line.host
        };
        self.server_loses(conn);
        self.host_later(host, self.now(), move |world| world.connection_gone(conn));
    }
}
