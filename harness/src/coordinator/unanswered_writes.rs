//! Writes that the resource withholds for now: those of hosts under the `hang` fault.

use std::cell::RefCell;
use std::collections::BTreeMap;

use hustings_record::Nanos;
use hustings_workloads::host::Token;

/// Per host; later writes are dropped without a reply.
const KEPT_MAX: usize = 1 << 16;

/// A received write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UnansweredWrite {
    pub(super) host: u16,
    pub(super) generation: u32,
    pub(super) cand: u32,
    pub(super) token: Token,
    /// When it was sent, if known.
    pub(super) sent: Option<Nanos>,
}

/// The hosts whose writes hang, and these writes.
#[derive(Debug, Default)]
pub(crate) struct UnansweredWrites(RefCell<BTreeMap<u16, Vec<UnansweredWrite>>>);

impl UnansweredWrites {
    /// Withholds the writes of this host from now on. False: that is already in effect.
    pub(crate) fn begin(&self, host: u16) -> bool {
        let mut hung = self.0.borrow_mut();
        !hung.contains_key(&host) && hung.insert(host, Vec::new()).is_none()
    }

    /// Stops withholding. Returns the withheld writes.
    pub(super) fn end(&self, host: u16) -> Vec<UnansweredWrite> {
        self.0.borrow_mut().remove(&host).unwrap_or_default()
    }

    /// Number of withheld writes of a host; None: its writes do not hang.
    pub(crate) fn kept(&self, host: u16) -> Option<usize> {
        self.0.borrow().get(&host).map(Vec::len)
    }

    /// Withholds a write of a host whose writes hang; returns any other.
    pub(super) fn keep(&self, write: UnansweredWrite) -> Option<UnansweredWrite> {
        let mut hung = self.0.borrow_mut();
        let Some(kept) = hung.get_mut(&write.host) else { return Some(write) };
        if kept.len() < KEPT_MAX {
            kept.push(write);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(host: u16) -> UnansweredWrite {
        UnansweredWrite { host, generation: 0, cand: 1, token: Token { czxid: 1, session: 1 }, sent: None }
    }

    #[test]
    fn writes_hang_from_the_beginning_to_the_end_and_are_not_lost() {
        let hung = UnansweredWrites::default();
        assert_eq!(hung.keep(write(1)), Some(write(1)));
        assert!(hung.begin(1) && !hung.begin(1));
        assert_eq!((hung.keep(write(1)), hung.keep(write(2))), (None, Some(write(2))));
        assert_eq!((hung.kept(1), hung.kept(2)), (Some(1), None));
        assert_eq!(hung.end(1), [write(1)]);
        assert_eq!(hung.keep(write(1)), Some(write(1)));
    }
}
