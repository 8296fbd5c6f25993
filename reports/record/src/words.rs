//! Text forms of durations and counts for people, used by all crates.

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
pub fn duration(ns: u64) -> String {
    let (value, unit) = figure(ns);
    format!("{value} {unit}")
}

/// The same without trailing zeros, for round figures: `2 s`, `1.5 ms`.
#[must_use]
pub fn round_duration(ns: u64) -> String {
    let (value, unit) = figure(ns);
    let trimmed = if value.contains('.') { value.trim_end_matches('0').trim_end_matches('.') } else { &value };
    format!("{trimmed} {unit}")
}

/// States that a fault lasted longer than planned.
#[must_use]
pub fn overrun(lasted_ns: u64, planned_ms: u64) -> String {
    format!("it lasted {}, and {} were planned", duration(lasted_ns), setting_ms(planned_ms))
}

/// A time since a start, to the millisecond: `+12.034 s`.
#[must_use]
pub fn moment(ns: u64) -> String {
    format!("+{:.3} s", ns as f64 / 1e9)
}

fn figure(ns: u64) -> (String, &'static str) {
    if ns == 0 {
        return ("0".into(), "s");
    }
    for (size, limit, unit) in UNITS {
        let value = ns as f64 / size;
        let text = if size > 1.0 { three_digits(value) } else { ns.to_string() };
        if text.parse::<f64>().is_ok_and(|rounded| rounded < limit) {
            return (text, unit);
        }
    }
    (ns.to_string(), "ns")
}

/// Three significant digits, or all digits before the point where there are more.
#[must_use]
pub fn three_digits(value: f64) -> String {
    let two = format!("{value:.2}");
    if two.len() <= 4 {
        return two;
    }
    let one = format!("{value:.1}");
    if one.len() <= 4 { one } else { format!("{value:.0}") }
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

/// Thousands separated by commas.
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

/// `1, 3`.
#[must_use]
pub fn numbers(ids: &[u32]) -> String {
    ids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

/// `server 2`, `servers 1, 3`.
#[must_use]
pub fn servers(ids: &[u32]) -> String {
    format!("server{} {}", if ids.len() == 1 { "" } else { "s" }, numbers(ids))
}

/// `a, b, c`. Of a long list the first few, and the number of the others: `a, b, c and 392 more`.
#[must_use]
pub fn first_few<S: AsRef<str>>(names: &[S]) -> String {
    const NAMED_MAX: usize = 8;
    let shown: Vec<&str> = names.iter().take(NAMED_MAX).map(AsRef::as_ref).collect();
    match names.len().saturating_sub(NAMED_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {} more", shown.join(", "), count(more as u64)),
    }
}

/// A word of the command line, which is seen even if it is empty or blank.
#[must_use]
pub fn as_typed(word: &str) -> &str {
    if word.trim().is_empty() { "''" } else { word }
}

/// Whether the character reorders or hides text.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// A user-chosen name in quotes, with unprintable characters escaped, and no longer than a line.
#[must_use]
pub fn quoted(name: &str) -> String {
    const CHARS_MAX: usize = 60;
    let shown: String = name.chars().take(CHARS_MAX).flat_map(char::escape_debug).collect();
    let more = if name.chars().nth(CHARS_MAX).is_some() { "…" } else { "" };
    format!("\"{shown}{more}\"")
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
    fn names_are_quoted_on_one_line() {
        assert_eq!(quoted("a b"), "\"a b\"");
        assert_eq!(quoted("\u{1b}[31m\n"), "\"\\u{1b}[31m\\n\"");
        assert_eq!(quoted(&"n".repeat(10_000)), format!("\"{}…\"", "n".repeat(60)));
    }

    #[test]
    fn of_a_long_list_the_first_few_are_named_and_the_others_counted() {
        let names: Vec<String> = (1..=2_008).map(|n| format!("s{n}")).collect();
        assert_eq!(first_few(&names[..0]), "");
        assert_eq!(first_few(&names[..2]), "s1, s2");
        assert_eq!(first_few(&names[..8]), "s1, s2, s3, s4, s5, s6, s7, s8");
        assert_eq!(first_few(&names[..9]), "s1, s2, s3, s4, s5, s6, s7, s8 and 1 more");
        assert_eq!(first_few(&names), "s1, s2, s3, s4, s5, s6, s7, s8 and 2,000 more");
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
    fn round_durations_have_no_needless_digits() {
        assert_eq!(
            [2_000_000_000, 1_500_000, 0, 100_000_000, 999].map(round_duration),
            ["2 s", "1.5 ms", "0 s", "100 ms", "999 ns"].map(str::to_owned)
        );
        assert_eq!(moment(12_034_400_000), "+12.034 s");
    }

    #[test]
    fn counts_read_well() {
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(count),
            ["0".to_owned(), "999".into(), "1,000".into(), "1,234,567".into()]
        );
        assert_eq!([plural(1, "cell", "cells"), plural(2, "cell", "cells")], ["1 cell", "2 cells"].map(str::to_owned));
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
        fn counts_lose_no_digit(n in any::<u64>()) {
            prop_assert_eq!(count(n).replace(',', ""), n.to_string());
        }
    }
}
