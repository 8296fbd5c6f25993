//! The connections that pass through a witness's relays, by number: when their servers last said anything, and a way to cut them.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::Rc;

use hustings_record::Nanos;
use tokio::sync::Notify;

use crate::clock;

/// All relays of one witness count their connections together.
#[derive(Debug, Default)]
pub struct Lines {
    last: Cell<u64>,
    open: RefCell<HashMap<u64, Rc<Line>>>,
}

impl Lines {
    /// Where a connection leads to, if it is not over.
    #[must_use]
    pub fn server(&self, number: u64) -> Option<SocketAddr> {
        Some(self.open.borrow().get(&number)?.server)
    }

    /// When the server of a connection last said anything. None: it has not, or that connection is over.
    #[must_use]
    pub fn heard(&self, number: u64) -> Option<Nanos> {
        self.open.borrow().get(&number)?.heard.get()
    }

    /// Ends a connection at both of its ends. False: it is over, or being cut already.
    pub fn cut(&self, number: u64) -> bool {
        let Some(line) = self.open.borrow_mut().remove(&number) else { return false };
        line.cut.notify_one();
        true
    }

    /// Counts a new connection to a server, which is open until it is cut, or what this gives is dropped.
    pub(super) fn open(self: &Rc<Self>, server: SocketAddr) -> Open {
        let number = self.last.get() + 1;
        self.last.set(number);
        let line = Rc::new(Line { server, heard: Cell::default(), cut: Notify::new() });
        self.open.borrow_mut().insert(number, line.clone());
        Open { number, line, of: self.clone() }
    }
}

#[derive(Debug)]
pub(super) struct Line {
    pub(super) server: SocketAddr,
    heard: Cell<Option<Nanos>>,
    cut: Notify,
}

impl Line {
    /// The server has said something.
    pub(super) fn hears(&self) {
        self.heard.set(Some(clock::now()));
    }

    /// Waits until it is to end.
    pub(super) async fn cut(&self) {
        self.cut.notified().await;
    }
}

/// An open connection.
pub(super) struct Open {
    pub(super) number: u64,
    pub(super) line: Rc<Line>,
    of: Rc<Lines>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.of.open.borrow_mut().remove(&self.number);
    }
}
