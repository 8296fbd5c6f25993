//! Times of a log's lines, as times since its first one.

use hustings_record::Nanos;

use super::stamp::Stamp;

/// Takes the kind of time that the first stamped line has; the other kind is not looked at.
#[derive(Default)]
pub(super) struct Clock {
    /// The last stamp, and what that is since the beginning.
    last: Option<(Stamp, Nanos)>,
}

impl Clock {
    /// The time of a line with this stamp. An uptime that falls back is that of a new process, which began at the earliest when
    /// the old one was last heard of; a date that falls back is a clock that was set, and stands still.
    pub(super) fn at(&mut self, stamp: Stamp) -> Option<Nanos> {
        let Some((last, at)) = self.last else {
            // What ran before the first line of a process was logged too.
            let at = if let Stamp::Uptime(ns) = stamp { ns } else { 0 };
            self.last = Some((stamp, at));
            return Some(at);
        };
        let now = match (last, stamp) {
            (Stamp::Uptime(last), Stamp::Uptime(now)) => at.saturating_add(now.checked_sub(last).unwrap_or(now)),
            (Stamp::Date(last), Stamp::Date(now)) => at.saturating_add(now.saturating_sub(last)),
            (Stamp::Uptime(_), Stamp::Date(_)) | (Stamp::Date(_), Stamp::Uptime(_)) => return None,
        };
        self.last = Some((stamp, now));
        Some(now)
    }

    /// From the beginning to the last line that bore a time.
    pub(super) fn span(&self) -> Option<Nanos> {
        self.last.map(|(_, at)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_starts_anew_goes_on_from_where_the_old_one_was_heard_of() {
        let mut clock = Clock::default();
        let times = [5, 9, 2, 4].map(|ns| clock.at(Stamp::Uptime(ns)));
        assert_eq!(times, [Some(5), Some(9), Some(11), Some(13)]);
        assert_eq!(clock.at(Stamp::Date(1)), None);
        assert_eq!(clock.span(), Some(13));
    }

    #[test]
    fn a_clock_that_is_set_back_stands_still() {
        let mut clock = Clock::default();
        let times = [100, 150, 120, 130].map(|ns| clock.at(Stamp::Date(ns)));
        assert_eq!(times, [Some(0), Some(50), Some(50), Some(60)]);
    }
}
