//! The processor cores that the servers and hosts of a world share, if they do.

use std::cell::RefCell;

use crate::model::Micros;

pub(crate) struct Cores {
    /// When each of them has finished its assigned work.
    free_at: RefCell<Vec<Micros>>,
}

impl Cores {
    pub(super) fn new(count: u64) -> Self {
        Self { free_at: RefCell::new(vec![0; count as usize]) }
    }

    /// When a server or host that is free at `free_at` has done this much work. Shared cores delay it until they have
    /// finished their earlier work. Work is spread evenly, and no core is idle while there is work.
    pub(crate) fn worked(&self, now: Micros, free_at: Micros, cost: Micros) -> Micros {
        let alone = free_at.max(now) + cost;
        let mut cores = self.free_at.borrow_mut();
        let Some(core) = cores.iter_mut().min().filter(|_| cost > 0) else { return alone };
        *core = (*core).max(now) + cost;
        alone.max(*core)
    }
}
