//! Times of a log's lines, as times since its first one, and how much time its lines cover.

use hustings_record::Nanos;

use super::stamp::{LineStamps, Stamp};
use crate::stats::spans::{Span, total, union};

/// Lines of several threads may be out of order by so much, and a clock may be set back by it.
pub(super) const JITTER_NS: Nanos = 1_000_000_000;
/// What was written in different pieces is taken to be so far apart: no incident spans two of them.
pub(super) const APART_NS: Nanos = 86_400_000_000_000;
/// Of a log with more pieces nobody can tell what it covers.
const PIECES_MAX: usize = 10_000;
/// A clock that is adjusted, and one that is not, differ by no more than one part in so many.
const ADJUSTED_BY: Nanos = 100;

/// Takes the kind of time that the first stamped line has. Beside a date it looks at the uptime too.
///
/// A time that falls back begins a new piece: another process, or a file that was put in the wrong order. What a log covers lies
/// between the first and the last line of each piece. Where the date goes further than the uptime, the clock was set, or the machine
/// was suspended: then the uptime counts.
#[derive(Default)]
pub(super) struct LogClock {
    first: Option<Stamp>,
    /// When the last line was written, since the first one.
    at: Nanos,
    pieces: usize,
    /// From and to, by the log's own times: of a piece more than one where its clock was set.
    spans: Vec<Span>,
    /// The longest uptime of this piece, where there is one beside the date.
    uptime: Option<Nanos>,
    longest_gap: Nanos,
}

impl LogClock {
    /// The time of a line with these stamps, and the stamp that it is by.
    pub(super) fn at(&mut self, stamps: LineStamps) -> Option<(Nanos, Stamp)> {
        let (stamp, uptime) = match *self.first.get_or_insert(stamps.preferred()?) {
            Stamp::Date(_) => (Stamp::Date(stamps.date?), stamps.uptime),
            Stamp::Uptime(_) => (Stamp::Uptime(stamps.uptime?), None),
        };
        let now = stamp.ns();
        let goes_on = |last: Nanos, now: Nanos| last.saturating_sub(now) <= JITTER_NS;
        let is_same_process = self.uptime.zip(uptime).is_none_or(|(last, now)| goes_on(last, now));
        let ran = self.uptime.zip(uptime).map(|(last, now)| now.saturating_sub(last));
        if let Some(span) = self.spans.last_mut().filter(|span| is_same_process && goes_on(span.1, now)) {
            let step = now.saturating_sub(span.1);
            let most = |ran: Nanos| ran.saturating_add(JITTER_NS).saturating_add(step / ADJUSTED_BY);
            let passed = match ran.filter(|ran| step > most(*ran)) {
                Some(ran) => {
                    self.spans.push((now - ran, now));
                    ran
                }
                None => {
                    span.1 = span.1.max(now);
                    step
                }
            };
            self.at = self.at.saturating_add(passed);
            self.longest_gap = self.longest_gap.max(passed);
            self.uptime = self.uptime.max(uptime);
        } else {
            let apart = if self.spans.is_empty() { 0 } else { APART_NS };
            self.at = self.at.saturating_add(apart);
            self.spans.push((now, now));
            self.pieces += 1;
            self.uptime = uptime;
        }
        Some((self.at, stamp))
    }

    /// When the last line was written, since the first one.
    pub(super) fn last_at(&self) -> Nanos {
        self.at
    }

    /// How many pieces there are by now.
    pub(super) fn pieces(&self) -> usize {
        self.pieces
    }

    /// Whether there are so many pieces, or dates that were set, that nobody can tell what the log covers.
    pub(super) fn is_scattered(&self) -> bool {
        self.spans.len() > PIECES_MAX
    }

    /// The longest time between two lines of one piece.
    pub(super) fn longest_gap(&self) -> Nanos {
        self.longest_gap
    }

    /// How much time the pieces cover, if any line bore a time. Pieces by date may lie over each other: that time counts once.
    /// Uptimes of two processes may be the same and are not one time.
    pub(super) fn covered(&self) -> Option<Nanos> {
        Some(match self.first? {
            Stamp::Date(_) => total(&union(self.spans.clone())),
            Stamp::Uptime(_) => self.spans.iter().fold(0, |sum: Nanos, span| sum.saturating_add(span.1 - span.0)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Nanos = 1_000_000_000;

    fn at(clock: &mut LogClock, stamp: Stamp) -> Option<Nanos> {
        let stamps = match stamp {
            Stamp::Date(ns) => LineStamps { date: Some(ns), uptime: None },
            Stamp::Uptime(ns) => LineStamps { date: None, uptime: Some(ns) },
        };
        clock.at(stamps).map(|(at, _)| at)
    }

    fn clock(stamps: &[Stamp]) -> (Vec<Option<Nanos>>, Option<Nanos>, usize) {
        let mut clock = LogClock::default();
        let times = stamps.iter().map(|&stamp| at(&mut clock, stamp)).collect();
        (times, clock.covered(), clock.pieces())
    }

    /// What a log of dates with uptimes, in seconds, covers in seconds, and its pieces.
    fn covered(lines: &[(Nanos, Nanos)]) -> (Option<Nanos>, usize) {
        let mut clock = LogClock::default();
        for (date, uptime) in lines {
            clock.at(LineStamps { date: Some(date * S), uptime: Some(uptime * S) });
        }
        (clock.covered().map(|ns| ns / S), clock.pieces())
    }

    #[test]
    fn what_ran_before_the_first_line_is_not_covered() {
        let uptimes = [8_000, 8_060].map(|s| Stamp::Uptime(s * S));
        assert_eq!(clock(&uptimes), (vec![Some(0), Some(60 * S)], Some(60 * S), 1));
        assert_eq!(LogClock::default().covered(), None);
    }

    #[test]
    fn a_process_that_starts_anew_covers_what_lies_between_its_own_lines() {
        let mut clock = LogClock::default();
        let times = [50, 90, 20, 40].map(|s| at(&mut clock, Stamp::Uptime(s * S)));
        assert_eq!(times, [Some(0), Some(40 * S), Some(40 * S + APART_NS), Some(60 * S + APART_NS)]);
        assert_eq!(at(&mut clock, Stamp::Date(1)), None);
        assert_eq!((clock.covered(), clock.pieces()), (Some(60 * S), 2));
    }

    #[test]
    fn files_in_the_wrong_order_cover_what_each_of_them_does_and_no_time_twice() {
        let dates = [1_000, 1_100, 500, 600, 550, 700].map(|s| Stamp::Date(s * S));
        let (_, covered, pieces) = clock(&dates);
        assert_eq!((covered, pieces), (Some(300 * S), 3));
    }

    #[test]
    fn lines_of_several_threads_are_one_piece() {
        let dates = [100 * S, 101 * S, 100 * S + 900_000_000, 102 * S].map(Stamp::Date);
        assert_eq!(clock(&dates), (vec![Some(0), Some(S), Some(S), Some(2 * S)], Some(2 * S), 1));
    }

    #[test]
    fn an_uptime_that_falls_beside_a_rising_date_is_that_of_another_process() {
        assert_eq!(covered(&[(1_000, 5), (1_060, 65), (900_000, 5), (900_030, 35)]), (Some(90), 2));
        assert_eq!(covered(&[(1_000, 5), (1_060, 65), (1_120, 125)]), (Some(120), 1), "the same process");
    }

    #[test]
    fn where_the_clock_was_set_the_uptime_counts() {
        assert_eq!(covered(&[(1_000, 1), (900_000, 3), (900_010, 13)]), (Some(12), 1));
        // A process that slept for a month, and a clock that gains a second an hour.
        assert_eq!(covered(&[(0, 0), (100, 100), (2_600_100, 160)]), (Some(160), 1));
        assert_eq!(covered(&[(0, 0), (36_010, 36_000)]), (Some(36_010), 1));
    }

    #[test]
    fn the_longest_time_without_a_line_is_within_a_piece() {
        let mut clock = LogClock::default();
        for uptime_s in [50, 90, 900, 20, 40] {
            at(&mut clock, Stamp::Uptime(uptime_s * S));
        }
        assert_eq!(clock.longest_gap(), 810 * S);
    }
}
