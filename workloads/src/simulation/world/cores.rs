//! The processor cores that the servers and hosts of a world share, if they do.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hustings_record::numbers::to_usize;

use crate::model::Micros;

pub(crate) struct Cores {
    /// When each of them has finished its assigned work; the one that is free first comes first.
    free_at: RefCell<BinaryHeap<Reverse<Micros>>>,
}

impl Cores {
    pub(super) fn new(count: u64) -> Self {
        Self { free_at: RefCell::new(BinaryHeap::from(vec![Reverse(0); to_usize(count)])) }
    }

    /// When a server or host that is free at `free_at` has done this much work. Shared cores delay it until they have
    /// finished their earlier work. Work is spread evenly, and no core is idle while there is work.
    pub(crate) fn worked(&self, now: Micros, free_at: Micros, cost: Micros) -> Micros {
        let alone = free_at.max(now) + cost;
        if cost == 0 {
            return alone;
        }
        let mut cores = self.free_at.borrow_mut();
        let Some(mut core) = cores.peek_mut() else { return alone };
        let free = core.0.max(now) + cost;
        *core = Reverse(free);
        alone.max(free)
    }
}

#[cfg(test)]
mod tests {
    use super::Cores;

    #[test]
    fn work_goes_to_the_core_that_is_free_first() {
        let cores = Cores::new(2);
        let ends = [(0, 10), (0, 30), (0, 5), (0, 0), (20, 1), (20, 1)].map(|(now, cost)| cores.worked(now, 0, cost));
        assert_eq!(ends, [10, 30, 15, 0, 21, 22]);
    }

    #[test]
    fn cores_of_their_own_delay_nobody() {
        let cores = Cores::new(0);
        assert_eq!([cores.worked(0, 0, 10), cores.worked(0, 0, 10), cores.worked(0, 7, 10)], [10, 10, 17]);
    }
}
