//! Text forms of figures: shares to few digits, counts with their base. A zero always comes with its n, its injections
//! and their bound. Durations and plain counts use the formats shared by all crates.

pub use hustings_record::words::{count, duration, plural, setting_ms};

use crate::stats::{self, Distribution, Rate, Tail};
use crate::tune;
use hustings_record::Nanos;
use hustings_record::numbers::{whole, whole_i32};
use hustings_record::words::{round_duration, three_digits};

/// Placeholder for an empty value.
pub(crate) const NOTHING: &str = "–";

const NO_BREAK: &str = "\u{a0}";

/// A quantile that censoring may hide: it is longer than any sample that ended.
#[must_use]
pub fn duration_or_hidden(ns: Option<Nanos>) -> String {
    ns.map_or_else(|| "censored".into(), duration)
}

/// The tail of a distribution with its name: `p99 21 ms`; below 100 samples `longest 21 ms`, or `longest over 21 ms` if
/// some samples had not ended.
#[must_use]
pub fn tail(d: &Distribution) -> String {
    match d.tail() {
        Tail::P99(p99) => format!("p99 {}", duration_or_hidden(p99)),
        Tail::Longest { .. } if d.n == 0 => format!("longest {}", none_ended(d)),
        Tail::Longest { of_ended, all_ended: true } => format!("longest {}", duration(of_ended)),
        Tail::Longest { of_ended, all_ended: false } => format!("longest over {}", duration(of_ended)),
    }
}

/// The same for a column of them: `21 ms`, `> 21 ms`; `21 ms max` where others in it are percentiles (`mixed`).
#[must_use]
pub(crate) fn tail_short(d: &Distribution, mixed: bool) -> String {
    let mark = if mixed { " max" } else { "" };
    match d.tail() {
        Tail::P99(p99) => duration_or_hidden(p99),
        Tail::Longest { .. } if d.n == 0 => none_ended(d),
        Tail::Longest { of_ended, all_ended: true } => format!("{}{mark}", duration(of_ended)),
        Tail::Longest { of_ended, all_ended: false } => format!("> {}{mark}", duration(of_ended)),
    }
}

/// In place of a time of samples of which none ended.
fn none_ended(d: &Distribution) -> String {
    if d.censored > 0 { duration_or_hidden(None) } else { NOTHING.into() }
}

/// A duration at the tick of an axis: round, and so without trailing zeros.
#[must_use]
pub fn tick(ns: f64) -> String {
    round_duration(whole(ns.round()))
}

/// A duration for prose: two digits below a second, three from there on, without trailing zeros: `2.1 ms`, `22 ms`,
/// `1.03 s`.
#[must_use]
pub fn said(ns: Nanos) -> String {
    if ns >= 1_000_000_000 {
        return round_duration(ns);
    }
    let step = 10_u64.pow(ns.checked_ilog10().unwrap_or(0).saturating_sub(1));
    round_duration((ns + step / 2) / step * step)
}

/// A range, with the unit once where both ends have the same: `1.02 to 1.05 s`; one figure where both ends read the
/// same.
#[must_use]
pub fn said_between(least: Nanos, most: Nanos) -> String {
    let (least, most) = (said(least), said(most));
    let unit = |text: &str| text.rsplit_once(' ').map_or("", |(_, unit)| unit).to_owned();
    match (least == most, unit(&least) == unit(&most)) {
        (true, _) => least,
        (false, true) => format!("{} to {most}", least.rsplit_once(' ').map_or("", |(value, _)| value)),
        (false, false) => format!("{least} to {most}"),
    }
}

/// A difference with its sign, to a tenth.
#[must_use]
pub(crate) fn signed(by: f64) -> String {
    let tenths = format!("{:.1}", by.abs());
    format!("{}{tenths}", if by < 0.0 && tenths != "0.0" { "−" } else { "+" })
}

/// A share between 0 and 1 as a percentage with two significant digits. A share below 1 is never written as 100 %.
#[must_use]
pub fn share(share: f64) -> String {
    if !share.is_finite() {
        return "unknown".into();
    }
    match share {
        s if s <= 0.0 => "0 %".into(),
        s if s >= 1.0 => "100 %".into(),
        s if s >= 0.995 => "> 99 %".into(),
        s => percent_text(s * 100.0, f64::round),
    }
}

/// An upper bound as a percentage with two significant digits, rounded up: it never promises more than was shown.
#[must_use]
pub fn bound(share: f64) -> String {
    if !share.is_finite() {
        return "unknown".into();
    }
    percent_text(share.clamp(0.0, 1.0) * 100.0, f64::ceil)
}

fn percent_text(percent: f64, round: fn(f64) -> f64) -> String {
    format!("{} %", two_digits(percent, round))
}

/// Two significant digits of a finite value above zero, and all digits before the point, without trailing zeros.
pub(crate) fn two_digits(value: f64, round: fn(f64) -> f64) -> String {
    if value < 1e-6 {
        return "< 0.000001".into();
    }
    let decimals = decimals(value, 8);
    let step = 10f64.powi(decimals);
    // A value that sits on its last digit must not be pushed over it by the error of the multiplication.
    let scaled = value * step;
    let nearest = scaled.round();
    let rounded = if (scaled - nearest).abs() < 1e-6 { nearest } else { round(scaled) } / step;
    let text = format!("{rounded:.*}", usize::try_from(decimals).unwrap_or(0));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// How many decimals two significant digits of `value` need, but no more than `most`.
fn decimals(value: f64, most: i32) -> i32 {
    (1 - whole_i32(value.log10().floor())).clamp(0, most)
}

/// `0 of 552, 1 injection: 95 % bound 95 %`; `7 of 120 (5.8 %), 3 of 40 injections: 95 % bound 19 %`. Percentages do not break, so
/// that a narrow column breaks before them.
#[must_use]
pub fn rate(rate: &Rate) -> String {
    if rate.n == 0 {
        return format!("{} of 0: nothing stands behind it", count(rate.seen));
    }
    // Three leaders at once are three overlaps of two handovers.
    if rate.seen > rate.n {
        return rate_within(rate);
    }
    format!("{}, {}", share_of(rate.seen, rate.n), injections(rate))
}

/// The same for events that may occur several times in one handover: `212 in 40, 3 of 3 injections: 95 % bound 100 %`.
#[must_use]
pub fn rate_within(rate: &Rate) -> String {
    if rate.n == 0 {
        return format!("{} in 0: nothing stands behind it", count(rate.seen));
    }
    format!("{} in {}, {}", count(rate.seen), plural(rate.n, "handover", "handovers"), injections(rate))
}

fn injections(rate: &Rate) -> String {
    let all = plural(rate.injections, "injection", "injections");
    let bad = if rate.bad_injections > 0 { format!("{} of ", count(rate.bad_injections)) } else { String::new() };
    let bound = rate.upper_95.map(|upper| format!(": 95 % bound {}", bound(upper)).replace(' ', NO_BREAK));
    let bound = bound.map_or_else(String::new, |bound| bound.replacen(&format!(":{NO_BREAK}"), ": ", 1));
    format!("{}{bound}", format!("{bad}{all}").replace(' ', NO_BREAK))
}

/// The same for a narrow column: `0/552·1 ≤95 %`, with events, handovers and injections.
#[must_use]
pub fn rate_short(rate: &Rate) -> String {
    match rate.upper_95 {
        _ if rate.n == 0 => format!("{}/0", rate.seen),
        Some(upper) if rate.seen == 0 => format!("0/{}·{} ≤{}", count(rate.n), count(rate.injections), bound(upper)),
        _ => format!("{}/{}·{}", count(rate.seen), count(rate.n), count(rate.injections)),
    }
}

/// A plain count with its base.
#[must_use]
pub fn count_of(seen: u64, n: u64) -> String {
    match (seen, n) {
        (seen, n) if seen > n => format!("{} ({} behind it)", count(seen), count(n)),
        (0, 0) => "0 of 0: nothing stands behind it".into(),
        _ => share_of(seen, n),
    }
}

/// A plain count with its handovers and injections; a zero has the bound that follows from these.
#[must_use]
pub fn count_by(seen: u64, n: u64, injections: u64) -> String {
    if seen > 0 || n == 0 {
        return count_of(seen, n);
    }
    rate(&Rate { seen, n, injections, bad_injections: 0, upper_95: stats::upper_95(0, injections) })
}

/// Count of spontaneous events in the combined time of several groups: `0 in 2.1 group-hours (95 % bound: 1.5 an
/// hour)`.
#[must_use]
pub fn count_within(seen: u64, time: Nanos) -> String {
    let hours = time as f64 / 3.6e12;
    if time == 0 {
        return format!("{} in no time at all: nothing stands behind it", count(seen));
    }
    let bound = significant(tune::upper_95(seen) / hours);
    format!("{} in {} group-hours (95 % bound: {bound} an hour)", count(seen), significant(hours))
}

/// Two significant digits, and no fraction from ten on, rounded up.
fn significant(value: f64) -> String {
    let decimals = decimals(value.max(1e-6), 6);
    let step = 10f64.powi(decimals);
    if decimals == 0 { count(whole(value.ceil())) } else { format!("{}", (value * step - 1e-9).ceil() / step) }
}

fn share_of(seen: u64, n: u64) -> String {
    if seen == 0 {
        return format!("0 of {}", count(n));
    }
    let share = share(seen as f64 / n as f64);
    format!("{} of {} ({})", count(seen), count(n), share.replace(' ', NO_BREAK))
}

/// Kibibytes as KB, MB or GB (powers of 1,024), three digits.
#[must_use]
pub fn memory_kb(kb: f64) -> String {
    match kb {
        kb if !kb.is_finite() || kb < 0.0 => "unknown".into(),
        kb if kb < 999.5 => format!("{} KB", three_digits(kb)),
        kb if kb < 999.5 * 1024.0 => format!("{} MB", three_digits(kb / 1024.0)),
        kb => format!("{} GB", three_digits(kb / (1024.0 * 1024.0))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn memory_reads_well() {
        assert_eq!(
            [12.0, 2048.0, 3_145_728.0, f64::NAN].map(memory_kb),
            ["12.0 KB", "2.00 MB", "3.00 GB", "unknown"].map(str::to_owned)
        );
    }

    #[test]
    fn of_samples_of_which_none_ended_there_is_no_longest() {
        let (mut open, mut void) = (stats::Samples::default(), stats::Samples::default());
        open.censor(9_000_000_000);
        void.void();
        for (samples, text) in [(open, "censored"), (void, NOTHING)] {
            let of = samples.distribution().expect("there was one");
            assert_eq!(tail(&of), format!("longest {text}"));
            assert_eq!([tail_short(&of, false), tail_short(&of, true)], [text, text]);
        }
    }

    #[test]
    fn durations_are_said_as_people_say_them() {
        let all = [0, 7, 2_099_000, 21_990_000, 994_999_999, 999_999_999, 1_034_000_000, 12_345_000_000].map(said);
        assert_eq!(all, ["0 s", "7 ns", "2.1 ms", "22 ms", "990 ms", "1 s", "1.03 s", "12.3 s"].map(str::to_owned));
        assert_eq!(said_between(1_021_000_000, 1_049_000_000), "1.02 to 1.05 s");
        assert_eq!(said_between(950_000_000, 1_020_000_000), "950 ms to 1.02 s");
        assert_eq!(said_between(2_101_000, 2_099_000), "2.1 ms");
    }

    #[test]
    fn a_zero_comes_with_its_n_and_its_bound() {
        let rate_of =
            |seen, n, injections, bad_injections, upper_95| Rate { seen, n, injections, bad_injections, upper_95 };
        let plain = |text: String| text.replace(NO_BREAK, " ");
        assert_eq!(plain(rate(&rate_of(0, 552, 1, 0, Some(0.95)))), "0 of 552, 1 injection: 95 % bound 95 %");
        let seen = rate_of(7, 120, 40, 3, Some(0.182_8));
        assert_eq!(plain(rate(&seen)), "7 of 120 (5.8 %), 3 of 40 injections: 95 % bound 19 %");
        assert_eq!(plain(rate_within(&seen)), "7 in 120 handovers, 3 of 40 injections: 95 % bound 19 %");
        assert_eq!(
            plain(rate(&rate_of(3, 2, 2, 1, Some(0.97)))),
            "3 in 2 handovers, 1 of 2 injections: 95 % bound 97 %"
        );
        assert_eq!(rate(&Rate::default()), "0 of 0: nothing stands behind it");
        assert_eq!(rate_short(&rate_of(0, 1200, 1200, 0, Some(0.002_5))), "0/1,200·1,200 ≤0.25 %");
        assert_eq!(rate_short(&Rate::default()), "0/0");
        assert_eq!(plain(count_by(0, 120, 1)), "0 of 120, 1 injection: 95 % bound 95 %");
        assert_eq!(plain(count_by(3, 120, 1)), "3 of 120 (2.5 %)");
        assert_eq!(count_of(0, 120), "0 of 120");
        assert_eq!(count_of(3, 2), "3 (2 behind it)");
    }

    #[test]
    fn shares_never_claim_all_or_nothing_falsely() {
        assert_eq!(share(0.999_9), "> 99 %");
        assert_eq!(share(0.000_001), "0.0001 %");
        assert_eq!(share(0.05), "5 %");
        assert_eq!(share(f64::NAN), "unknown");
        assert_eq!(bound(0.02), "2 %");
        assert_eq!(bound(0.020_01), "2.1 %");
        assert_eq!(bound(1.0), "100 %");
    }

    proptest! {
        #[test]
        fn a_bound_is_never_understated(p in 0.000_001f64..1.0, scale in 0i32..4) {
            let p = p / 10f64.powi(scale);
            let text = bound(p);
            let percent: f64 = text.trim_start_matches("< ").trim_end_matches(" %").parse().expect("a percentage");
            prop_assert!(percent >= p * 100.0 - 1e-7, "{p} is written {text}");
            prop_assert!(percent <= p * 110.0 + 1e-6, "{p} is written {text}");
        }
    }
}
