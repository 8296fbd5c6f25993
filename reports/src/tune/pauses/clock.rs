//! Times of a log's lines, as times since its first one, and how much time its lines cover.

use hustings_record::Nanos;

use super::stamp::Stamp;
use crate::stats::spans::{Span, total, union};

/// Lines of several threads may be out of order by so much, and a clock may be set back by it.
pub(super) const JITTER_NS: Nanos = 1_000_000_000;
/// What was written in different pieces is taken to be so far apart: no incident spans two of them.
pub(super) const APART_NS: Nanos = 86_400_000_000_000;
/// Of a log with more pieces nobody can tell what it covers.
pub(super) const PIECES_MAX: usize = 10_000;

/// Takes the kind of time that the first stamped line has; the other kind is not looked at.
///
/// A time that falls back begins a new piece: another process, or a file that was put in the wrong order. What a log covers lies
/// between the first and the last line of each piece.
#[derive(Default)]
pub(super) struct LogClock {
    first: Option<Stamp>,
    /// When the last line was written, since the first one.
    at: Nanos,
    /// From and to, by the log's own times.
    pieces: Vec<Span>,
}

impl LogClock {
    /// The time of a line with this stamp.
    pub(super) fn at(&mut self, stamp: Stamp) -> Option<Nanos> {
        if !self.first.get_or_insert(stamp).is_like(stamp) {
            return None;
        }
        let now = stamp.ns();
        if let Some(piece) = self.pieces.last_mut().filter(|piece| piece.1.saturating_sub(now) <= JITTER_NS) {
            self.at = self.at.saturating_add(now.saturating_sub(piece.1));
            piece.1 = piece.1.max(now);
        } else {
            let apart = if self.pieces.is_empty() { 0 } else { APART_NS };
            self.at = self.at.saturating_add(apart);
            self.pieces.push((now, now));
        }
        Some(self.at)
    }

    /// When the last line was written, since the first one.
    pub(super) fn last_at(&self) -> Nanos {
        self.at
    }

    /// How many pieces there are by now.
    pub(super) fn pieces(&self) -> usize {
        self.pieces.len()
    }

    /// How much time the pieces cover, if any line bore a time. Pieces by date may lie over each other: that time counts once.
    /// Uptimes of two processes may be the same and are not one time.
    pub(super) fn covered(&self) -> Option<Nanos> {
        Some(match self.first? {
            Stamp::Date(_) => total(&union(self.pieces.clone())),
            Stamp::Uptime(_) => self.pieces.iter().fold(0, |sum: Nanos, piece| sum.saturating_add(piece.1 - piece.0)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Nanos = 1_000_000_000;

    fn clock(stamps: &[Stamp]) -> (Vec<Option<Nanos>>, Option<Nanos>, usize) {
        let mut clock = LogClock::default();
        let times = stamps.iter().map(|&stamp| clock.at(stamp)).collect();
        (times, clock.covered(), clock.pieces())
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
        let times = [50, 90, 20, 40].map(|s| clock.at(Stamp::Uptime(s * S)));
        assert_eq!(times, [Some(0), Some(40 * S), Some(40 * S + APART_NS), Some(60 * S + APART_NS)]);
        assert_eq!(clock.at(Stamp::Date(1)), None);
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
}
