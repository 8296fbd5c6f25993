//! Pauses that overlap in time. A process that is stopped cannot be stopped again, so a log of one process has none.

use std::collections::VecDeque;

use hustings_record::Nanos;
use hustings_record::words::duration;
use serde::Serialize;

use super::error::PauseError;
use crate::stats::spans::Span;

/// A collection holds at most so many others: a young one in which a full one is needed, say.
pub(super) const NESTED_MAX: usize = 16;
/// A log in which a larger share of the pauses overlaps is none of one process. Of fewer, a torn line may be the cause.
const SHARE_MAX: f64 = 0.01;

/// Pauses that begin before an earlier one is over: how many, and the first of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OverlappingPauses {
    pub count: u64,
    pub first: Option<(u64, String)>,
}

/// A pause with the line that tells of it.
struct PauseOfLine {
    line: u64,
    began: Nanos,
    ended: Nanos,
}

/// Finds overlaps, pause by pause, in order of their ends.
pub(super) struct OverlapCheck {
    nested_max: usize,
    /// The last pauses of this piece of the log that lie within no other.
    last: VecDeque<PauseOfLine>,
    timed: u64,
    found: OverlappingPauses,
}

impl OverlapCheck {
    /// `nested_max`: so many pauses may lie within a later one.
    pub(super) fn new(nested_max: usize) -> Self {
        Self { nested_max, last: VecDeque::new(), timed: 0, found: OverlappingPauses::default() }
    }

    /// A new piece begins: no time of it can be compared with those before.
    pub(super) fn begin_piece(&mut self) {
        self.last.clear();
    }

    /// The next pause. `tolerance`: its times are no more precise.
    pub(super) fn take(&mut self, line: u64, (mut began, ended): Span, tolerance: Nanos) {
        self.timed += 1;
        let after = began.saturating_add(tolerance);
        let until = self.last.partition_point(|earlier| earlier.ended <= after);
        if let Some(earlier) = self.last.get(until) {
            let is_within = earlier.began.saturating_add(tolerance) >= began;
            if !is_within || self.last.len() - until > self.nested_max {
                self.found.count += 1;
                let (by, other) = (duration(earlier.ended.saturating_sub(began)), earlier.line);
                let told = || (line, format!("its pause begins {by} before the one of line {other} is over"));
                self.found.first.get_or_insert_with(told);
            }
            began = began.min(earlier.began);
            self.last.truncate(until);
        }
        self.last.push_back(PauseOfLine { line, began, ended });
        if self.last.len() > self.nested_max + 1 {
            self.last.pop_front();
        }
    }

    /// The overlaps, if they are few.
    pub(super) fn finish(self) -> Result<OverlappingPauses, PauseError> {
        let Self { found, timed, .. } = self;
        match found.first {
            Some((line, what)) if found.count as f64 > SHARE_MAX * timed as f64 => {
                Err(PauseError::Overlapping { line, what, count: found.count, timed })
            }
            first => Ok(OverlappingPauses { count: found.count, first }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of these pauses (from, to) overlap, in milliseconds, of how many it takes to refuse them.
    fn overlapping(nested_max: usize, pauses: &[(Nanos, Nanos)]) -> u64 {
        let mut check = OverlapCheck::new(nested_max);
        let ms = |ms: Nanos| ms * 1_000_000;
        pauses.iter().zip(1..).for_each(|(&(from, to), line)| check.take(line, (ms(from), ms(to)), 2_000_000));
        check.found.count
    }

    #[test]
    fn a_process_that_is_stopped_is_not_stopped_again() {
        assert_eq!(overlapping(0, &[(0, 700), (600, 1_300), (1_200, 1_900)]), 2);
        assert_eq!(overlapping(0, &[(0, 700), (698, 1_300), (1_400, 1_900)]), 0, "within the precision of the times");
        assert_eq!(overlapping(0, &[(100, 200), (50, 300)]), 1, "one within another");
    }

    #[test]
    fn collections_may_lie_within_another_and_not_across_its_beginning() {
        assert_eq!(overlapping(NESTED_MAX, &[(100, 200), (250, 300), (50, 400)]), 0);
        assert_eq!(overlapping(NESTED_MAX, &[(100, 200), (150, 400)]), 1);
        let many: Vec<_> = (1..=20).map(|at| (at * 10, at * 10 + 5)).chain([(0, 500)]).collect();
        assert_eq!(overlapping(NESTED_MAX, &many), 1, "no collection holds so many");
    }

    #[test]
    fn pauses_of_another_piece_are_not_compared() {
        let mut check = OverlapCheck::new(0);
        check.take(1, (0, 1_000), 0);
        check.begin_piece();
        check.take(2, (500, 2_000), 0);
        assert_eq!(check.finish().expect("none"), OverlappingPauses::default());
    }

    #[test]
    fn few_overlaps_are_counted_and_many_are_refused_with_their_lines() {
        let with = |apart: u64| {
            let mut check = OverlapCheck::new(0);
            (0..apart).for_each(|at| check.take(at + 1, (at * 1_000, at * 1_000 + 10), 0));
            check.take(apart + 1, ((apart - 1) * 1_000, apart * 1_000), 0);
            check.finish()
        };
        assert_eq!(with(200).expect("one of 201").count, 1);
        let refused = with(50).expect_err("one of 51").to_string();
        assert!(refused.starts_with("line 51: its pause begins 10 ns before the one of line 50 is over"), "{refused}");
    }
}
