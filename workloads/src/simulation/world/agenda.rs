//! A calendar of near and far events. Far ones wait unsorted in slots of about a millisecond, so that a million pending
//! timers cost no more each than ten thousand.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};

use crate::model::Micros;

/// A slot is 2¹⁰ µs long.
const SLOT_BITS: u32 = 10;

struct AgendaEntry<T> {
    at: Micros,
    /// Events of one instant occur in the order in which they were planned.
    order: u64,
    item: T,
}

impl<T> AgendaEntry<T> {
    fn key(&self) -> (Micros, u64) {
        (self.at, self.order)
    }
}

impl<T> PartialEq for AgendaEntry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for AgendaEntry<T> {}

impl<T> PartialOrd for AgendaEntry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for AgendaEntry<T> {
    /// The earliest is the greatest, because `BinaryHeap` returns the greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

/// Events by time, then by the order in which they were planned.
pub(super) struct Agenda<T> {
    /// Those of the current slot and before.
    near: BinaryHeap<AgendaEntry<T>>,
    far: BTreeMap<u64, Vec<AgendaEntry<T>>>,
    /// The latest slot whose events are in `near`.
    slot: u64,
    planned: u64,
}

impl<T> Agenda<T> {
    pub(super) fn new() -> Self {
        Self { near: BinaryHeap::new(), far: BTreeMap::new(), slot: 0, planned: 0 }
    }

    pub(super) fn plan(&mut self, at: Micros, item: T) {
        let entry = AgendaEntry { at, order: self.planned, item };
        self.planned += 1;
        let slot = at >> SLOT_BITS;
        if slot <= self.slot {
            self.near.push(entry);
        } else {
            self.far.entry(slot).or_default().push(entry);
        }
    }

    /// The next event and its time.
    pub(super) fn pop(&mut self) -> Option<(Micros, T)> {
        if self.near.is_empty() {
            let (slot, entries) = self.far.pop_first()?;
            self.slot = slot;
            self.near = BinaryHeap::from(entries);
        }
        self.near.pop().map(|entry| (entry.at, entry.item))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Agenda;

    proptest! {
        /// Compares with a sorted list; events are also planned while others occur.
        #[test]
        fn events_come_by_time_and_then_in_the_order_of_planning(
            first in prop::collection::vec(0_u64..10_000, 1..60),
            later in prop::collection::vec(0_u64..5_000, 0..60),
        ) {
            let mut agenda = Agenda::new();
            let mut expected: Vec<(u64, usize)> = Vec::new();
            for (number, at) in first.iter().enumerate() {
                agenda.plan(*at, number);
                expected.push((*at, number));
            }
            let (mut now, mut seen, mut later) = (0, Vec::new(), later.into_iter());
            while let Some((at, number)) = agenda.pop() {
                prop_assert!(at >= now, "time goes on");
                now = at;
                seen.push((at, number));
                if let Some(after) = later.next() {
                    let number = expected.len();
                    agenda.plan(now + after, number);
                    expected.push((now + after, number));
                }
            }
            expected.sort_unstable();
            prop_assert_eq!(seen, expected);
        }
    }
}
