//! How figures are written: shares to few digits, counts with what stands behind them. A zero never stands alone: it comes
//! with its n and its bound. Durations and plain counts are written as everywhere in the house.

pub use hustings_record::words::{count, duration, plural, setting_ms};

use crate::stats::{self, Distribution, Rate, Tail};
use hustings_record::Nanos;
use hustings_record::words::{round_duration, three_digits};

/// What stands where there is nothing to say.
pub(crate) const NOTHING: &str = "–";

const NO_BREAK: &str = "\u{a0}";

/// A quantile that may be hidden by censoring: it is longer than anything that was seen to end.
#[must_use]
pub fn duration_or_hidden(ns: Option<Nanos>) -> String {
    ns.map_or_else(|| "censored".into(), duration)
}

/// How bad it gets, by its name: `p99 21 ms`; below 100 samples `longest 21 ms`, or `longest over 21 ms` where some had not
/// ended.
#[must_use]
pub fn tail(d: &Distribution) -> String {
    match d.tail() {
        Tail::P99(p99) => format!("p99 {}", duration_or_hidden(p99)),
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
        Tail::Longest { of_ended, all_ended: true } => format!("{}{mark}", duration(of_ended)),
        Tail::Longest { of_ended, all_ended: false } => format!("> {}{mark}", duration(of_ended)),
    }
}

/// A duration at the tick of an axis: round, and so without needless digits.
#[must_use]
pub fn tick(ns: f64) -> String {
    round_duration(ns.round() as Nanos)
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

/// A plain count with the opportunities behind it; at zero with its bound.
#[must_use]
pub fn count_of(seen: u64, n: u64) -> String {
    let upper_95 = if seen == 0 { stats::upper_95(seen, n) } else { None };
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

    #[test]
    fn memory_reads_well() {
        assert_eq!(
            [12.0, 2048.0, 3_145_728.0, f64::NAN].map(memory_kb),
            ["12.0 KB", "2.00 MB", "3.00 GB", "unknown"].map(str::to_owned)
        );
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
        fn a_bound_is_never_understated(p in 0.000_001f64..1.0, scale in 0i32..4) {
            let p = p / 10f64.powi(scale);
            let text = bound(p);
            let percent: f64 = text.trim_start_matches("< ").trim_end_matches(" %").parse().expect("a percentage");
            prop_assert!(percent >= p * 100.0 - 1e-7, "{p} is written {text}");
            prop_assert!(percent <= p * 110.0 + 1e-6, "{p} is written {text}");
        }
    }
}
