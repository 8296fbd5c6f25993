//! How figures are written: durations and shares to few digits, counts with what stands behind them. A zero never stands
//! alone: it comes with its n and its bound.

use crate::record::Nanos;
use crate::summary::Rate;

/// What stands where there is nothing to say.
pub(crate) const NOTHING: &str = "–";

const NO_BREAK: &str = "\u{a0}";

/// (nanoseconds in the unit, first rounded value that belongs to the next unit, name).
const UNITS: [(f64, f64, &str); 6] = [
    (1.0, 1_000.0, "ns"),
    (1e3, 1_000.0, "µs"),
    (1e6, 1_000.0, "ms"),
    (1e9, 600.0, "s"),
    (60e9, 120.0, "min"),
    (3_600e9, f64::INFINITY, "h"),
];

/// Three significant digits and the unit that suits: `850 ns`, `1.23 ms`, `12.3 s`. Never falls as `ns` rises.
#[must_use]
pub fn duration(ns: Nanos) -> String {
    if ns == 0 {
        return "0 s".into();
    }
    if ns < 1_000 {
        return format!("{ns} ns");
    }
    for (size, limit, name) in UNITS {
        let value = ns as f64 / size;
        let text = three_digits(value);
        if text.parse::<f64>().is_ok_and(|rounded| rounded < limit) {
            return format!("{text} {name}");
        }
    }
    format!("{ns} ns")
}

fn three_digits(value: f64) -> String {
    let two = format!("{value:.2}");
    if two.len() <= 4 {
        return two;
    }
    let one = format!("{value:.1}");
    if one.len() <= 4 { one } else { format!("{value:.0}") }
}

/// A quantile that may be hidden by censoring: it is longer than anything that was seen to end.
#[must_use]
pub fn duration_or_hidden(ns: Option<Nanos>) -> String {
    ns.map_or_else(|| "censored".into(), duration)
}

/// A setting in milliseconds, written without loss: `6 s`, `1.25 s`, `400 ms`.
#[must_use]
pub fn setting_ms(ms: u64) -> String {
    if ms < 1_000 {
        return format!("{ms} ms");
    }
    let rest = format!("{:03}", ms % 1_000);
    let rest = rest.trim_end_matches('0');
    if rest.is_empty() { format!("{} s", ms / 1_000) } else { format!("{}.{rest} s", ms / 1_000) }
}

/// Thousands parted by commas.
#[must_use]
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 cell`, `12 cells`.
#[must_use]
pub fn plural(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// A share between 0 and 1 as a percentage with two significant digits. Less than all is never written as 100 %.
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
    if percent < 1e-6 {
        return "< 0.000001 %".into();
    }
    let decimals = (1 - percent.log10().floor() as i32).clamp(0, 8);
    let step = 10f64.powi(decimals);
    // A value that sits on its last digit must not be pushed over it by the error of the multiplication.
    let scaled = percent * step;
    let nearest = scaled.round();
    let rounded = if (scaled - nearest).abs() < 1e-6 { nearest } else { round(scaled) } / step;
    let text = format!("{rounded:.*}", decimals as usize);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text.as_str() };
    format!("{text} %")
}

/// `0 of 120, 95 % bound 2.5 %`; `7 of 120 (5.8 %), 95 % bound 12 %`. Percentages do not break, so that a narrow
/// column breaks before them.
#[must_use]
pub fn rate(rate: &Rate) -> String {
    if rate.n == 0 {
        return format!("{} of 0: nothing stands behind it", count(rate.seen));
    }
    let mut text = format!("{} of {}", count(rate.seen), count(rate.n));
    if rate.seen > 0 {
        let share = share(rate.seen as f64 / rate.n as f64);
        text.push_str(&format!(" ({})", share.replace(' ', NO_BREAK)));
    }
    if let Some(upper) = rate.upper_95 {
        text.push_str(", ");
        text.push_str(&format!("95 % bound {}", bound(upper)).replace(' ', NO_BREAK));
    }
    text
}

/// The same for a narrow column: `0/120 ≤2.5 %`.
#[must_use]
pub fn rate_short(rate: &Rate) -> String {
    match rate.upper_95 {
        _ if rate.n == 0 => format!("{}/0", rate.seen),
        Some(upper) if rate.seen == 0 => format!("0/{} ≤{}", count(rate.n), bound(upper)),
        _ => format!("{}/{}", count(rate.seen), count(rate.n)),
    }
}

/// A plain count with the opportunities behind it; at zero with its bound, `1 − 0.05^(1/n)` (exact binomial, about 3/n).
#[must_use]
pub fn count_of(seen: u64, n: u64) -> String {
    let upper_95 = (seen == 0 && n > 0).then(|| 1.0 - 0.05f64.powf(1.0 / n as f64));
    if seen > n {
        return format!("{} ({} behind it)", count(seen), count(n));
    }
    rate(&Rate { seen, n, upper_95 })
}

/// Kibibytes as B, KB, MB or GB (powers of 1,024), three digits.
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

    fn back(text: &str) -> f64 {
        let (value, unit) = text.split_once(' ').expect("a value and a unit");
        let size = UNITS.iter().find(|(_, _, name)| *name == unit).expect("a known unit").0;
        value.parse::<f64>().expect("a number") * size
    }

    #[test]
    fn durations_have_three_digits_and_the_unit_that_suits() {
        for (ns, text) in [
            (0, "0 s"),
            (1, "1 ns"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (12_345, "12.3 µs"),
            (999_499, "999 µs"),
            (999_500, "1.00 ms"),
            (9_996_000, "10.0 ms"),
            (99_960_000, "100 ms"),
            (1_234_567, "1.23 ms"),
            (6_010_000_000, "6.01 s"),
            (125_000_000_000, "125 s"),
            (599_900_000_000, "10.0 min"),
            (7_200_000_000_000, "2.00 h"),
        ] {
            assert_eq!(duration(ns), text);
        }
    }

    #[test]
    fn settings_are_written_without_loss() {
        for (ms, text) in
            [(0, "0 ms"), (400, "400 ms"), (1_000, "1 s"), (1_250, "1.25 s"), (6_000, "6 s"), (10_001, "10.001 s")]
        {
            assert_eq!(setting_ms(ms), text);
        }
    }

    #[test]
    fn counts_and_memory_read_well() {
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(count),
            ["0".to_owned(), "999".into(), "1,000".into(), "1,234,567".into()]
        );
        assert_eq!(
            [12.0, 2048.0, 3_145_728.0, f64::NAN].map(memory_kb),
            ["12.0 KB", "2.00 MB", "3.00 GB", "unknown"].map(str::to_owned)
        );
        assert_eq!([plural(1, "cell", "cells"), plural(2, "cell", "cells")], ["1 cell", "2 cells"].map(str::to_owned));
    }

    #[test]
    fn a_zero_comes_with_its_n_and_its_bound() {
        let rate_of = |seen, n, upper_95| Rate { seen, n, upper_95 };
        let plain = |text: String| text.replace(NO_BREAK, " ");
        assert_eq!(plain(rate(&rate_of(0, 120, Some(0.024_66)))), "0 of 120, 95 % bound 2.5 %");
        assert_eq!(plain(rate(&rate_of(7, 120, Some(0.116_5)))), "7 of 120 (5.8 %), 95 % bound 12 %");
        assert_eq!(rate(&rate_of(0, 0, None)), "0 of 0: nothing stands behind it");
        assert_eq!(rate_short(&rate_of(0, 1200, Some(0.002_5))), "0/1,200 ≤0.25 %");
        assert_eq!(rate_short(&rate_of(0, 0, None)), "0/0");
        assert_eq!(plain(count_of(0, 120)), "0 of 120, 95 % bound 2.5 %");
        assert_eq!(plain(count_of(3, 120)), "3 of 120 (2.5 %)");
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
        fn durations_never_fall_and_keep_their_unit(a in 0u64..=u64::MAX / 2, shift in 0u32..62, more in 0u64..1_000_000) {
            let low = a >> shift;
            let high = low + more;
            let (x, y) = (back(&duration(low)), back(&duration(high)));
            prop_assert!(x <= y * (1.0 + 1e-9), "{} > {}", duration(low), duration(high));
            prop_assert!((x - low as f64).abs() <= low as f64 * 0.005_001, "{low} is written {}", duration(low));
        }

        #[test]
        fn a_bound_is_never_understated(p in 0.000_001f64..1.0, scale in 0i32..4) {
            let p = p / 10f64.powi(scale);
            let text = bound(p);
            let percent: f64 = text.trim_start_matches("< ").trim_end_matches(" %").parse().expect("a percentage");
            prop_assert!(percent >= p * 100.0 - 1e-7, "{p} is written {text}");
            prop_assert!(percent <= p * 110.0 + 1e-6, "{p} is written {text}");
        }

        #[test]
        fn counts_lose_no_digit(n in any::<u64>()) {
            prop_assert_eq!(count(n).replace(',', ""), n.to_string());
        }
    }
}
