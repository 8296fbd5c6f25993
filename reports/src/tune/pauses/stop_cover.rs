//! Whether the collections of a log lie within its stops. Those of one process do, if it logs its stops.

use hustings_record::Nanos;
use hustings_record::words::quoted;

use super::clock::JITTER_NS;
use super::lines::LogLine;
use super::overlaps::NESTED_MAX;

/// Collections whose stop has no line yet: it comes after theirs.
struct WaitingCollections {
    /// The first one.
    line: u64,
    text: String,
    ended: Option<Nanos>,
    count: usize,
}

/// Finds collections outside stops, line by line.
#[derive(Default)]
pub(super) struct StopCover {
    waiting: Option<WaitingCollections>,
    /// This piece of the log has a stop.
    has_stop: bool,
    /// The first collection that lies in no stop.
    outside: Option<(u64, String)>,
}

impl StopCover {
    pub(super) fn take_collection(&mut self, line: &LogLine<'_>, ended: Option<Nanos>) {
        if self.outside.is_some() {
            return;
        }
        let first = || WaitingCollections { line: line.number, text: quoted(line.text), ended, count: 0 };
        self.waiting.get_or_insert_with(first).count += 1;
    }

    /// The line of a stop, which began at this time.
    pub(super) fn take_stop(&mut self, began: Option<Nanos>) {
        self.has_stop = true;
        self.release(|first| is_before(first.ended, began));
    }

    /// A piece is over, whose last line is of this time: a log may be cut off before the line of a stop.
    pub(super) fn end_piece(&mut self, last_at: Nanos) {
        let has_stop = std::mem::take(&mut self.has_stop);
        self.release(|first| !has_stop || is_before(first.ended, Some(last_at)));
    }

    /// The first collection outside a stop, with its line.
    pub(super) fn finish(mut self, last_at: Nanos) -> Option<(u64, String)> {
        self.end_piece(last_at);
        self.outside
    }

    fn release(&mut self, is_outside: impl FnOnce(&WaitingCollections) -> bool) {
        let Some(waiting) = self.waiting.take() else { return };
        if waiting.count > NESTED_MAX || is_outside(&waiting) {
            self.outside.get_or_insert((waiting.line, waiting.text));
        }
    }
}

fn is_before(ended: Option<Nanos>, time: Option<Nanos>) -> bool {
    ended.zip(time).is_some_and(|(ended, time)| ended.saturating_add(JITTER_NS) < time)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Nanos = 1_000_000_000;

    /// The line of the first collection outside: of collections (end) and stops (beginning), in seconds.
    fn outside(events: &[Result<Nanos, Nanos>], last_at: Nanos) -> Option<u64> {
        let mut cover = StopCover::default();
        for (event, number) in events.iter().zip(1..) {
            let line = LogLine { number, text: "x", bytes_until: 0, is_whole: true };
            match event {
                Ok(collection) => cover.take_collection(&line, Some(collection * S)),
                Err(stop) => cover.take_stop(Some(stop * S)),
            }
        }
        cover.finish(last_at * S).map(|(line, _)| line)
    }

    #[test]
    fn a_collection_lies_in_the_stop_whose_line_comes_next() {
        assert_eq!(outside(&[Ok(10), Err(9), Ok(20), Ok(22), Err(18), Ok(30)], 30), None);
        assert_eq!(outside(&[Ok(10), Err(9), Ok(20), Err(28)], 30), Some(3), "the next stop began later");
        assert_eq!(outside(&[Ok(10), Err(9), Ok(20)], 30), Some(3), "no stop comes");
        assert_eq!(outside(&[Ok(10)], 10), Some(1), "no stop at all");
    }

    #[test]
    fn without_times_a_stop_holds_only_so_many_collections() {
        let after = |collections: u64| {
            let mut cover = StopCover::default();
            for number in 1..=collections {
                cover.take_collection(&LogLine { number, text: "x", bytes_until: 0, is_whole: true }, None);
            }
            cover.take_stop(None);
            cover.finish(0).map(|(line, _)| line)
        };
        assert_eq!((after(16), after(17)), (None, Some(1)));
    }
}
