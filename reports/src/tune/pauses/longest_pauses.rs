//! As many pauses as memory is meant for: of more, the longest.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::{DefaultHasher, Hash, Hasher as _};

use hustings_record::Nanos;

use super::log::Pause;

/// A pause, by its length: with its place in the log, its end and its mark.
type PlacedPause = (Nanos, u64, Option<Nanos>, Option<u64>);

pub(super) struct LongestPauses {
    most: usize,
    /// The shortest on top.
    heap: BinaryHeap<Reverse<PlacedPause>>,
    count: u64,
    pub(super) left_out: u64,
    pub(super) left_out_max: Nanos,
}

impl LongestPauses {
    pub(super) fn new(most: usize) -> Self {
        Self { most, heap: BinaryHeap::new(), count: 0, left_out: 0, left_out_max: 0 }
    }

    /// `mark`: a [`mark`] of what the log says of it, with its absolute time.
    pub(super) fn push(&mut self, lasted: Nanos, ended: Option<Nanos>, mark: Option<u64>) {
        self.heap.push(Reverse((lasted, self.count, ended, mark)));
        self.count += 1;
        if self.heap.len() > self.most
            && let Some(Reverse((shortest, ..))) = self.heap.pop()
        {
            self.left_out += 1;
            self.left_out_max = self.left_out_max.max(shortest);
        }
    }

    /// How many were told, kept or not.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The marks of those that are kept, sorted.
    pub(super) fn marks(&self) -> Vec<u64> {
        let mut marks: Vec<u64> = self.heap.iter().filter_map(|Reverse((.., mark))| *mark).collect();
        marks.sort_unstable();
        marks
    }

    pub(super) fn in_order(self) -> Vec<Pause> {
        let mut all: Vec<_> = self.heap.into_iter().map(|Reverse(pause)| pause).collect();
        all.sort_unstable_by_key(|(_, place, ..)| *place);
        all.into_iter().map(|(lasted, _, ended, _)| Pause { ended, lasted }).collect()
    }
}

/// Tells a pause from others, in whatever file it stands.
pub(super) fn mark(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_longest_stay_in_the_order_of_the_log(all in prop::collection::vec(0_u64..50, 0..60), most in 0_usize..60) {
            let mut kept = LongestPauses::new(most);
            all.iter().zip(0_u64..).for_each(|(lasted, at)| kept.push(*lasted, Some(at), None));
            let (left_out, left_out_max) = (kept.left_out, kept.left_out_max);
            let stayed = kept.in_order();
            prop_assert!(stayed.is_sorted_by_key(|pause| pause.ended));
            let mut sorted = all.clone();
            sorted.sort_unstable_by(|a, b| b.cmp(a));
            let mut lengths: Vec<u64> = stayed.iter().map(|pause| pause.lasted).collect();
            lengths.sort_unstable_by(|a, b| b.cmp(a));
            let split = most.min(all.len());
            prop_assert_eq!(&lengths[..], &sorted[..split]);
            prop_assert_eq!(left_out as usize, all.len() - split);
            prop_assert_eq!(left_out_max, sorted.get(split).copied().unwrap_or(0));
        }
    }
}
