//! The processor cores that the servers and hosts of a world share, if they do.

use std::cell::RefCell;

use crate::model::Micros;

pub(crate) struct Cores {
    /// When each of them has done what it owes.
    free_at: RefCell<Vec<Micros>>,
}

impl Cores {
    pub(super) fn new(count: u64) -> Self {
        Self { free_at: RefCell::new(vec![0; count as usize]) }
    }

    /// When a server or a host that is free at `free_at` has done so much work. Where they share cores nobody is done before
    /// these have caught up: what they owe is spread evenly, and a core never waits while there is work.
    pub(crate) fn worked(&self, now: Micros, free_at: Micros, cost: Micros) -> Micros {
        let alone = free_at.max(now) + cost;
        let mut cores = self.free_at.borrow_mut();
        let Some(core) = cores.iter_mut().min().filter(|_| cost > 0) else { return alone };
        *core = (*core).max(now) + cost;
        alone.max(*core)
    }
}
