//! The time that a program has to end after the order to stop. Time in which the machine kept the program, or this process beside
//! it, from running does not count.

use std::time::Duration;

use hustings_record::numbers::nanos;
use hustings_record::words::duration;
use hustings_record::{Nanos, STOP_AT_MOST};

/// Minimum pause between checks of connections, quiet slots, silent leaders and deadlines.
pub(super) const LOOK: Duration = Duration::from_millis(10);
/// The wait ends here however little the program could run: the coordinator waits for this process in turn.
const WAIT_AT_MOST: Duration = Duration::from_secs(20);
/// Of the time between two checks no more than this counts: a longer one is a stall of this process.
const COUNTED_NS_MAX: Nanos = 2 * nanos(LOOK);

/// An order to end, and how much of the time since then the program could use.
pub(super) struct StopDeadline {
    pub(super) since: Nanos,
    checked: Nanos,
    usable: Nanos,
}

impl StopDeadline {
    pub(super) fn from(now: Nanos) -> Self {
        Self { since: now, checked: now, usable: 0 }
    }

    /// Counts the time since the last check, but for what the program's threads `waited` for a processor.
    pub(super) fn check(&mut self, now: Nanos, waited: Nanos) {
        let counted = now.saturating_sub(self.checked).min(COUNTED_NS_MAX);
        self.usable = (self.usable + counted).saturating_sub(waited);
        self.checked = now;
    }

    pub(super) fn is_over(&self) -> bool {
        self.usable >= nanos(STOP_AT_MOST) || self.waited() >= nanos(WAIT_AT_MOST)
    }

    /// From the order until the last check.
    fn waited(&self) -> Nanos {
        self.checked.saturating_sub(self.since)
    }

    /// The text of the finding about a program that has not ended by then.
    pub(super) fn missed(&self) -> String {
        let kept = self.waited().saturating_sub(self.usable);
        let text = format!("it was ordered to stop, and had not ended after {}", duration(self.waited()));
        match kept > COUNTED_NS_MAX {
            true => format!("{text}, in which it could not run for {}", duration(kept)),
            false => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    /// Checks every 10 ms, of which the program waits so long, until it is over. Returns how long that took.
    fn over_after(waited: Nanos) -> (Nanos, StopDeadline) {
        let mut deadline = StopDeadline::from(7 * MS);
        let mut now = 7 * MS;
        while !deadline.is_over() {
            now += 10 * MS;
            deadline.check(now, waited);
        }
        (now - 7 * MS, deadline)
    }

    #[test]
    fn a_program_has_five_seconds_in_which_it_can_run_to_end() {
        assert_eq!(over_after(0).0, 5_000 * MS);
        assert_eq!(over_after(5 * MS).0, 10_000 * MS);
        assert!(over_after(0).1.missed().ends_with("not ended after 5.00 s"), "{}", over_after(0).1.missed());
    }

    #[test]
    fn one_that_can_hardly_run_is_not_waited_for_without_end() {
        let (took, deadline) = over_after(9 * MS);
        assert_eq!(took, 20_000 * MS);
        assert!(deadline.missed().ends_with("in which it could not run for 18.0 s"), "{}", deadline.missed());
    }

    #[test]
    fn a_stall_of_the_process_beside_it_does_not_count() {
        let mut deadline = StopDeadline::from(0);
        deadline.check(4_900 * MS, 0);
        deadline.check(4_910 * MS, 0);
        assert!(!deadline.is_over());
    }
}
