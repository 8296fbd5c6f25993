//! The times that a JVM writes before its lines: uptimes and dates, in brackets (unified logging) or bare (version 8).

use hustings_record::Nanos;
use hustings_record::numbers::whole;

/// Nothing has been up for so long: ten years. It is a time since 1970.
const UPTIME_MAX_NS: Nanos = 10 * 366 * 86_400_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stamp {
    /// Since the process began, or the machine.
    Uptime(Nanos),
    /// Since 1970.
    Date(Nanos),
}

impl Stamp {
    pub(super) fn ns(self) -> Nanos {
        match self {
            Self::Uptime(ns) | Self::Date(ns) => ns,
        }
    }
}

/// The times of a line. A date knows of the time between two processes, an uptime that there were two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LineStamps {
    pub(super) date: Option<Nanos>,
    pub(super) uptime: Option<Nanos>,
}

impl LineStamps {
    /// The first one of each kind.
    fn add(&mut self, stamp: Stamp) {
        match stamp {
            Stamp::Date(ns) => self.date = self.date.or(Some(ns)),
            Stamp::Uptime(ns) => self.uptime = self.uptime.or(Some(ns)),
        }
    }

    /// The date, or the uptime where there is none.
    pub(super) fn preferred(self) -> Option<Stamp> {
        self.date.map(Stamp::Date).or(self.uptime.map(Stamp::Uptime))
    }
}

/// A line of a JVM without what stands before it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StampedLine<'a> {
    pub(super) stamps: LineStamps,
    /// It bears what unified logging puts before a line, or a bare time.
    pub(super) decorated: bool,
    /// It bears one of these tags.
    pub(super) gc_or_safepoint: bool,
    /// It bears both tags with which a collector says how it is set up.
    pub(super) gc_init: bool,
    pub(super) text: &'a str,
}

/// Takes stamps, levels and tags off.
pub(super) fn strip(line: &str) -> StampedLine<'_> {
    let stamps = LineStamps::default();
    let mut stripped = StampedLine { stamps, decorated: false, gc_or_safepoint: false, gc_init: false, text: line };
    loop {
        let (word, rest) = match stripped.text.strip_prefix('[') {
            Some(inside) => match inside.split_once(']') {
                Some((word, rest)) if !is_message(word) => (word, rest),
                _ => break,
            },
            None => match stripped.text.split_once(": ") {
                Some((word, rest)) if bare(word).is_some() => (word, rest),
                _ => break,
            },
        };
        if let Some(found) = stamp(word.trim()).or_else(|| bare(word)) {
            stripped.stamps.add(found);
        }
        let has = |tag: &str| word.split(',').any(|other| other.trim() == tag);
        stripped.gc_or_safepoint |= has("gc") || has("safepoint");
        stripped.gc_init |= has("gc") && has("init");
        (stripped.decorated, stripped.text) = (true, rest.trim_start());
    }
    stripped
}

/// Brackets of the message itself, as version 8 has them: `[GC (Allocation Failure) …`.
fn is_message(inside: &str) -> bool {
    inside.starts_with("GC ") || inside.starts_with("Full GC") || inside.starts_with("GC(")
}

/// `0.123s`, `123ms`, `123456ns`, `1785542400000ms` since 1970, or a date.
fn stamp(word: &str) -> Option<Stamp> {
    let unit = |ending: &str, ns: f64| {
        let ns = nanos(word.strip_suffix(ending)?, ns)?;
        Some(if ns < UPTIME_MAX_NS { Stamp::Uptime(ns) } else { Stamp::Date(ns) })
    };
    date(word).or_else(|| unit("ns", 1.0)).or_else(|| unit("ms", 1e6)).or_else(|| unit("s", 1e9))
}

/// `12.345` (`12,345`) or a date, as version 8 writes them before a colon.
fn bare(word: &str) -> Option<Stamp> {
    let uptime = || word.contains(['.', ',']).then(|| nanos(word, 1e9)).flatten().map(Stamp::Uptime);
    date(word).or_else(uptime)
}

/// A number that is none below 0, in units of so many nanoseconds.
pub(super) fn nanos(number: &str, unit: f64) -> Option<Nanos> {
    let plain = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit() || b == b'.' || b == b',');
    // Some locales have a comma for the point.
    let value: f64 = number.replace(',', ".").parse().ok().filter(|_| plain)?;
    let ns = (value * unit).round();
    (0.0..1e19).contains(&ns).then_some(whole(ns))
}

/// `2026-01-31T12:34:56.789+0100`, and the same with a colon in the offset or a Z.
fn date(word: &str) -> Option<Stamp> {
    let (day, time) = word.split_once('T')?;
    let mut parts = day.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let fits = (1970..=2200).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    let split = time.find(['+', '-', 'Z'])?;
    let (clock, offset) = time.split_at(split);
    let mut parts = clock.splitn(3, ':');
    let (hour, minute) = (parts.next()?.parse::<i64>().ok()?, parts.next()?.parse::<i64>().ok()?);
    let second = nanos(parts.next()?, 1e9)?;
    let fits = fits && parts.next().is_none() && (0..24).contains(&hour) && (0..60).contains(&minute);
    let offset_s = offset_s(offset)?;
    if !fits || second > 61_000_000_000 {
        return None;
    }
    let s = days(year, usize::try_from(month).ok()?, day) * 86_400 + hour * 3_600 + minute * 60 - offset_s;
    Some(Stamp::Date(u64::try_from(s).ok()?.checked_mul(1_000_000_000)?.checked_add(second)?))
}

fn offset_s(offset: &str) -> Option<i64> {
    if offset == "Z" {
        return Some(0);
    }
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    let digits: String = offset.get(1..)?.chars().filter(|c| *c != ':').collect();
    let number = digits.parse::<i64>().ok().filter(|_| digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_digit()));
    number.map(|number| sign * (number / 100 * 3_600 + number % 100 * 60))
}

/// Days since 1970-01-01 of a date of the Gregorian calendar.
fn days(year: i64, month: usize, day: i64) -> i64 {
    const BEFORE: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let leap = |year: i64| year / 4 - year / 100 + year / 400;
    let this_leap = i64::from(month > 2 && (year % 4 == 0 && year % 100 != 0 || year % 400 == 0));
    (year - 1970) * 365 + leap(year - 1) - leap(1969) + BEFORE[month - 1] + this_leap + day - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let ns = |word: &str| match date(word) {
            Some(Stamp::Date(ns)) => Some(ns),
            Some(Stamp::Uptime(_)) | None => None,
        };
        assert_eq!(ns("1970-01-01T00:00:00.000+0000"), Some(0));
        assert_eq!(ns("2000-02-29T12:00:00.5Z"), Some(951_825_600_500_000_000));
        assert_eq!(ns("2026-11-23T22:57:00.123+0100"), Some(1_795_471_020_123_000_000));
        assert_eq!(ns("2024-12-31T23:59:59.999-05:30"), Some(1_735_709_399_999_000_000));
        for wrong in ["2026-13-01T00:00:00.0Z", "2026-01-01T00:00Z", "T", "2026-01-01T00:00:00.0+1", "--T::+é0000"] {
            assert_eq!(date(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_stands_before_a_line_is_taken_off() {
        let check = |line: &str, stamp: Option<Stamp>, gc_or_safepoint: bool, text: &str| {
            let stripped = strip(line);
            let found = (stripped.stamps.preferred(), stripped.gc_or_safepoint, stripped.text);
            assert_eq!(found, (stamp, gc_or_safepoint, text));
        };
        check("[0.123s][info][safepoint] Safepoint", Some(Stamp::Uptime(123_000_000)), true, "Safepoint");
        check("[7ms][12][info ][gc,start    ] GC(0) Pause", Some(Stamp::Uptime(7_000_000)), true, "GC(0) Pause");
        check("[1785542400000ms][5ns] x", Some(Stamp::Date(1_785_542_400_000_000_000)), false, "x");
        check("[1970-01-01T00:00:01.000+0000][0.5s] x", Some(Stamp::Date(1_000_000_000)), false, "x");
        check("1970-01-01T00:00:01.000+0000: 0.500: Total", Some(Stamp::Date(1_000_000_000)), false, "Total");
        check(
            "0.5: [GC (System.gc()) 1K->1K(9K)]",
            Some(Stamp::Uptime(500_000_000)),
            false,
            "[GC (System.gc()) 1K->1K(9K)]",
        );
        check("Total: 3", None, false, "Total: 3");
    }

    #[test]
    fn a_line_keeps_its_date_and_its_uptime() {
        let stamps = |line: &str| strip(line).stamps;
        let both = LineStamps { date: Some(1_000_000_000), uptime: Some(500_000_000) };
        assert_eq!(stamps("[0.5s][1970-01-01T00:00:01.000+0000] x"), both);
        assert_eq!(stamps("[1970-01-01T00:00:01.000+0000][0.5s][7ns] x"), both, "the first uptime");
        assert_eq!(stamps("1970-01-01T00:00:01,000+0000: 0,500: x"), both, "a comma for the point");
        assert_eq!(stamps("[0.5s] x"), LineStamps { date: None, ..both });
    }
}
