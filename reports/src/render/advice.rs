//! Renders the advice on a session timeout for a terminal.

use hustings_record::StepDown;
use hustings_record::numbers::whole;

use super::format::{count, duration, plural, setting_ms, share, two_digits};
use super::lines::{columns, lines, marked};
use crate::tune::pauses::{PauseLogFormat, WEEK_NS};
use crate::tune::{Advice, Band, Curve, JudgedTimeout, TimeoutGrade, TimeoutRow};

/// Columns of the table of timeouts. The longest line of a head begins with a space, which keeps it apart from the head
/// before it.
pub(super) const COSTS: [&str; 7] = [
    "\n\nT",
    "false\n failovers\na week",
    "upper\nbound\n (95 %)",
    "\n step-downs\na week",
    "crash:\nmean\n downtime",
    "crash:\nworst\n downtime",
    "\n downtime\na week",
];

/// What sets the timeouts with a star apart, in the table and in the picture.
pub(super) const TRADE_OFFS: &str = "best trade-offs: any other T has more false failovers or downtime";

/// What the marks and the bound in the table mean, and what its words do.
pub(super) fn legend(advice: &Advice) -> [String; 2] {
    let step_down = match advice.step_down {
        StepDown::OnDisconnect => {
            "a pause outlasts the connection, and the leader of an on-disconnect policy gives the lead up".to_owned()
        }
        StepDown::OnExpiry => "the leader of an on-expiry policy has none before its session ends".to_owned(),
        StepDown::After(fraction) => format!(
            "a pause outlasts the connection, the reconnect takes longer than {fraction} T, and the leader gives the lead up"
        ),
    };
    let words = format!(
        "A false failover: a pause outlasts the session, and another process takes the lead. A step-down: {step_down}. Downtime: \
         nobody leads, after true crashes and false failovers."
    );
    [format!("→ recommended; * {TRADE_OFFS}; upper bound: with 95 % confidence."), words]
}

/// The advice as text, for a terminal of this width. `measured` are the bands of the measured expiry curve.
#[must_use]
pub fn advice(advice: &Advice, measured: &[Band], width: usize) -> String {
    let mut text = String::new();
    let mut add = |words: &str| text.push_str(&lines(words, width));
    add(&headline(advice));
    add("");
    for reason in reasons(advice) {
        text.push_str(&marked("·", &reason, width));
    }
    let mut table = |head: &str, table: String| text.push_str(&format!("\n{}{table}\n", lines(head, width)));
    table(
        &format!(
            "What each timeout costs, with {} a week",
            plural_of(advice.crashes_per_week, "true crash of a leader", "true crashes of leaders")
        ),
        columns(COSTS, worth_showing(advice).iter().map(|row| cost(row, advice)), 0..COSTS.len(), width),
    );
    legend(advice).iter().for_each(|paragraph| text.push_str(&lines(paragraph, width)));
    if !measured.is_empty() {
        let head = ["pause / T", "sessions", "expired", "95 %", "fitted", "model"];
        text.push_str(&format!(
            "\n{}{}\n",
            lines("What pauses did to sessions", width),
            columns(head, measured.iter().map(band), 0..head.len(), width)
        ));
    }
    text.push('\n');
    for warning in &advice.warnings {
        text.push_str(&marked("!", warning, width));
    }
    text
}

/// The rows up to the last that is recommended, in use, or beaten by no other: a longer timeout has more downtime and nothing else.
pub(super) fn worth_showing(advice: &Advice) -> &[TimeoutRow] {
    let is_named =
        |row: &TimeoutRow| row.on_front || row.timeout_ms == advice.recommended.timeout_ms || advice.is_used(row);
    let last = advice.rows.iter().rposition(is_named).unwrap_or(0);
    advice.rows.get(..=last).unwrap_or_default()
}

/// The headline: whether the timeout in use is long enough, if there is one, then the recommended one.
pub(super) fn headline(advice: &Advice) -> String {
    let used = advice.used.as_ref().zip(advice.used_row()).map(|(used, row)| of_used(used, row, advice));
    let is_the_same = advice.used.as_ref().is_some_and(|used| used.timeout_ms == advice.recommended.timeout_ms);
    let recommended = if is_the_same { "No other timeout is better.".to_owned() } else { of_recommended(advice) };
    used.into_iter().chain([recommended]).collect::<Vec<_>>().join(" ")
}

fn of_used(used: &JudgedTimeout, row: &TimeoutRow, advice: &Advice) -> String {
    let timeout = match advice.asked_ms {
        Some(asked) if asked != row.timeout_ms => {
            format!("Your T = {} (granted as {})", setting_ms(asked), setting_ms(row.timeout_ms))
        }
        _ => format!("Your T = {}", setting_ms(row.timeout_ms)),
    };
    let answer = match used.grade {
        TimeoutGrade::Shown => "is long enough",
        TimeoutGrade::Missed => "is too short",
        TimeoutGrade::Estimated if row.estimate_per_week() > advice.acceptable_per_week => "is probably too short",
        TimeoutGrade::Estimated => "may be long enough, but this log cannot show it",
    };
    format!("{timeout} {answer}: {}.{}", falsely(row, advice), of_missing(used))
}

/// What a timeout costs in false failovers, step-downs and after a crash.
fn falsely(row: &TimeoutRow, advice: &Advice) -> String {
    let bound = rate_up(row.false_failovers.high);
    let log = weeks(advice.weeks);
    let by = match advice.shape {
        PauseLogFormat::Collections => "by collections alone ",
        PauseLogFormat::Milliseconds
        | PauseLogFormat::Safepoints { .. }
        | PauseLogFormat::StoppedTimes
        | PauseLogFormat::Intervals => "",
    };
    let seen = match row.false_failovers.per_week {
        0.0 => format!("{by}no false failover in {log} of pauses, so at most {bound} a week (95 %)"),
        seen => {
            let failovers = plural_of(seen, "false failover", "false failovers");
            format!("{by}{failovers} a week, at most {bound} (95 %)")
        }
    };
    let step_downs = match row.step_downs_per_week {
        0.0 => String::new(),
        step_downs => {
            let times = plural_of(step_downs, "time", "times");
            format!("; a leader still steps down {times} a week")
        }
    };
    format!(
        "{seen}, where {} are acceptable{step_downs}; a crash costs {} on average, {} at most",
        rate(advice.acceptable_per_week),
        milliseconds(row.outage_ms),
        milliseconds(row.outage_ms_max)
    )
}

fn of_recommended(advice: &Advice) -> String {
    let recommended = &advice.recommended;
    let timeout = setting_ms(recommended.timeout_ms);
    let ticks = recommended.timeout_ms as f64 / advice.tick_ms as f64;
    let timeout = format!("T = {timeout} ({} ticks of {})", rate(ticks), setting_ms(advice.tick_ms));
    let Some(row) = advice.recommended_row() else { return "there is no timeout to speak of".to_owned() };
    let costs = falsely(row, advice);
    match recommended.grade {
        TimeoutGrade::Shown if advice.used.as_ref().is_some_and(|used| used.grade == TimeoutGrade::Shown) => {
            format!("{timeout} suffices: {costs}.")
        }
        TimeoutGrade::Shown => format!("Take {timeout}: {costs}."),
        TimeoutGrade::Estimated => {
            let missing = of_missing(recommended);
            if row.false_failovers.per_week > advice.acceptable_per_week {
                return format!(
                    "Probably no timeout keeps false failovers that rare, which this log cannot show. The fewest come with {timeout}: \
                     {costs}.{missing}"
                );
            }
            format!("{timeout} is the best guess, which this log cannot show: {costs}.{missing}")
        }
        TimeoutGrade::Missed => {
            format!("No timeout keeps false failovers that rare. The fewest come with {timeout}: {costs}.")
        }
    }
}

/// What is missing for the claim, as a sentence to be appended.
fn of_missing(judged: &JudgedTimeout) -> String {
    if let Some(doubt) = judged.doubt.as_ref().filter(|_| judged.grade == TimeoutGrade::Estimated) {
        return format!(" {doubt}");
    }
    match judged.weeks_missing.filter(|weeks| weeks.is_finite() && *weeks > 0.0) {
        Some(more) => format!(" {} more of logs, with nothing worse in them, would show it.", weeks_up(more)),
        None => String::new(),
    }
}

pub(super) fn reasons(advice: &Advice) -> Vec<String> {
    let mut all = Vec::new();
    let source = advice.shape.about();
    all.push(match advice.pauses {
        0 => format!(
            "No pause was seen in {}: that is no proof that there are none, but that there are at most 3 in as long: {} a week, \
             whatever the timeout; read from {source}",
            weeks(advice.weeks),
            rate_up(advice.zero_means_per_week)
        ),
        pauses => format!(
            "{} in {}, the longest {}; read from {source}",
            plural(pauses, "pause", "pauses"),
            weeks(advice.weeks),
            milliseconds(advice.longest_ms)
        ),
    });
    if let Some(row) = advice.recommended_row() {
        let timeout = setting_ms(row.timeout_ms);
        all.push(match row.false_failovers.beyond_midpoint {
            0 => format!(
                "No pause was long enough to expire half of the sessions with T = {timeout}: the bound is then 3 in {}, by the \
                 length of the log alone",
                weeks(advice.weeks)
            ),
            seen => format!(
                "{} long enough to expire half of the sessions with T = {timeout}",
                plural(seen, "incident was", "incidents were")
            ),
        });
        if let Some(extrapolated) = row.extrapolated_per_week {
            all.push(format!(
                "Extrapolated beyond the longest pause (generalised Pareto): {} a week; a guess, and no evidence",
                rate(extrapolated)
            ));
        } else if let Some(why) = &row.not_extrapolated {
            all.push(format!("How often longer pauses come than were seen is unknown, but for the bound: {why}"));
        }
    }
    all.push(match &advice.curve {
        Curve::Model => "How pauses expire sessions is modelled, and was not measured".to_owned(),
        Curve::Measured(fitted) => format!(
            "How pauses expire sessions was measured: {} met {}, and {} expired; those that met the same pause share its moment, and \
             all are worth {} independent ones",
            plural(fitted.pairs as u64, "session", "sessions"),
            plural(fitted.injections as u64, "pause", "pauses"),
            count(fitted.expired as u64),
            count(whole((fitted.pairs as f64 / fitted.design_effect).round()))
        ),
    });
    let failover = &advice.failover;
    let parts = format!("{} to decide and {} to act", milliseconds(failover.decide_ms), milliseconds(failover.act_ms));
    all.push(match failover.measured {
        0 => format!("Beside the detection a failover is assumed to take {parts}"),
        n => format!("Beside the detection a failover took {parts}, on average of {}", count(n)),
    });
    all
}

pub(super) fn cost(row: &TimeoutRow, advice: &Advice) -> Vec<String> {
    let mark = match (row.timeout_ms == advice.recommended.timeout_ms, row.on_front) {
        (true, _) => "→ ",
        (false, true) => "* ",
        (false, false) => "",
    };
    let timeout = if advice.is_used(row) { yours(row.timeout_ms) } else { setting_ms(row.timeout_ms) };
    vec![
        format!("{mark}{timeout}"),
        rate(row.false_failovers.per_week),
        rate_up(row.false_failovers.high),
        rate(row.step_downs_per_week),
        milliseconds(row.outage_ms),
        milliseconds(row.outage_ms_max),
        milliseconds(row.downtime_s_per_week() * 1e3),
    ]
}

/// `6 s (yours)`
pub(super) fn yours(timeout_ms: u64) -> String {
    format!("{} (yours)", setting_ms(timeout_ms))
}

pub(super) fn band(band: &Band) -> Vec<String> {
    vec![
        format!("{:.2}–{:.2}", band.from, band.to),
        count(band.sessions as u64),
        count(band.expired as u64),
        format!("{:.0}–{:.0} %", (band.low * 100.0).floor(), (band.high * 100.0).ceil()),
        share(band.fitted),
        share(band.model),
    ]
}

fn milliseconds(ms: f64) -> String {
    duration(whole((ms * 1e6).round()))
}

fn weeks(weeks: f64) -> String {
    match weeks {
        weeks if weeks < 1.0 / 7.0 => milliseconds(weeks * WEEK_NS / 1e6),
        weeks => days_or_weeks(weeks, rate),
    }
}

/// The same, rounded up, so that fewer are never promised to be enough.
fn weeks_up(weeks: f64) -> String {
    match weeks {
        weeks if weeks < 1.0 / 7.0 => noun_of(rate_up(weeks * 168.0), "hour", "hours"),
        weeks => days_or_weeks(weeks, rate_up),
    }
}

fn days_or_weeks(weeks: f64, rounded: fn(f64) -> String) -> String {
    match weeks {
        weeks if weeks < 1.0 => noun_of(rounded(weeks * 7.0), "day", "days"),
        weeks => noun_of(rounded(weeks), "week", "weeks"),
    }
}

fn plural_of(n: f64, one: &str, many: &str) -> String {
    noun_of(rate(n), one, many)
}

fn noun_of(text: String, one: &str, many: &str) -> String {
    // The printed text decides, not the number that was rounded to it.
    let noun = if text.parse() == Ok(1.0) { one } else { many };
    format!("{text} {noun}")
}

/// Two significant digits, and all digits before the point.
pub(in crate::render) fn rate(value: f64) -> String {
    written(value, f64::round)
}

/// The same, rounded up, so that a bound never promises more than was shown.
fn rate_up(value: f64) -> String {
    written(value, f64::ceil)
}

fn written(value: f64, round: fn(f64) -> f64) -> String {
    if !value.is_finite() {
        return "unknown".into();
    }
    if value <= 0.0 {
        return "0".into();
    }
    two_digits(value, round)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tune::pauses::read;
    use crate::tune::{Client, ExpirySettings, Failover, PausedSession, Question, advise, bands};

    fn text(log: &str, weeks: f64, measured: bool, timeout_ms: Option<u64>) -> String {
        let log = read(log.as_bytes()).expect("a log");
        let setting = ExpirySettings::of(Client::Rust, 2_000.0, 500.0, 4.0);
        let pair = |i: u32| {
            let pause_ms = 1_000.0 + 20.0 * f64::from(i);
            PausedSession {
                setting,
                pause_ms,
                expired: pause_ms + 37.0 * f64::from(i % 11) > 2_300.0,
                injection: u64::from(i),
            }
        };
        let pairs: Vec<PausedSession> = if measured { (0..90).map(pair).collect() } else { Vec::new() };
        let curve = if measured { Curve::fit(&pairs).expect("a curve") } else { Curve::Model };
        let question = Question {
            log: &log,
            weeks,
            client: Client::Java,
            step_down: StepDown::OnDisconnect,
            tick_ms: 2_000,
            reconnect_ms: 4.0,
            timeout_ms,
            crashes_per_week: 1.0,
            acceptable_per_week: 0.25,
            curve,
            is_of_real_servers: true,
            failover: Failover::ASSUMED,
            seed: 1,
        };
        let answer = advise(&question);
        advice(&answer, &bands(&pairs, &answer.curve), 120)
    }

    #[test]
    fn the_answer_comes_first_and_its_reasons_after_it() {
        let log: String = (0..300).map(|i| format!("{}\n", 20.0 + f64::from(i * i) / 10.0)).collect();
        insta::assert_snapshot!("shown", text(&log, 26.0, true, None));
        insta::assert_snapshot!("yours", text(&log, 26.0, true, Some(6_000)));
        insta::assert_snapshot!("clamped", text("# none\n", 20.0, false, Some(60_000)));
        insta::assert_snapshot!("zero", text("# none\n", 2.0, false, None));
        insta::assert_snapshot!("missed", text(&"90000\n120000\n".repeat(3), 2.0, false, None));
    }

    /// The answer by the model, on one line.
    fn said(log: &str, weeks: f64, timeout_ms: Option<u64>) -> String {
        text(log, weeks, false, timeout_ms).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn that_no_timeout_suffices_is_said_only_where_the_log_shows_it() {
        let few = said("90000\n120000\n", 2.0, None);
        let probably = "Probably no timeout keeps false failovers that rare, which this log cannot show. The fewest come \
            with T = 4 s";
        assert!(few.starts_with(probably) && few.contains(": 1 false failover a week, at most 3.2 (95 %)"), "{few}");
        assert!(
            said("60000\n", 1.0, Some(40_000))
                .starts_with("Your T = 40 s is probably too short: 1 false failover a week")
        );
    }

    #[test]
    fn the_logs_that_are_missing_are_rounded_up() {
        // Of none seen: 3 / 0.25 weeks, of which a log has all but some.
        let none = 20.0_f64.ln() / 0.25;
        for (missing, text) in [(9.01, "9.1 weeks"), (0.302, "2.2 days"), (0.1, "17 hours")] {
            let headline = said("# none\n", none - missing, None);
            assert!(headline.contains(&format!(" {text} more of logs")), "{headline}");
        }
    }

    #[test]
    fn the_headline_names_what_the_log_does_not_have() {
        let collections = "[0.0s][gc] Using G1\n[60480000.0s][gc] GC(0) Pause Full (x) 2M->1M(3M) 7.000ms\n";
        let of_gc = said(collections, 100.0, None);
        assert!(
            of_gc.starts_with("Take T = 4 s (2 ticks of 2 s): by collections alone no false failover in 100 weeks"),
            "{of_gc}"
        );
        let cut = said("5\n90", 52.0, None);
        assert!(cut.contains("1 pause in the log could not be read, and may have been longer."), "{cut}");
        assert!(cut.contains("line 2: \"90\", which has no line end and may be cut"), "{cut}");
    }

    #[test]
    fn rates_have_two_digits() {
        assert_eq!(
            [0.0, 0.002_345, 0.25, 1.0, 13.02, 123.4].map(rate),
            ["0", "0.0023", "0.25", "1", "13", "123"].map(str::to_owned)
        );
        assert_eq!(rate_up(0.230_1), "0.24");
        assert_eq!(rate(f64::NAN), "unknown");
    }

    proptest! {
        #[test]
        fn a_bound_is_never_written_smaller(value in 1e-6_f64..1e6) {
            let back: f64 = rate_up(value).trim_start_matches("< ").parse().expect("a number");
            prop_assert!(back >= value - 1e-6 && back <= value * 1.11 + 1e-6, "{value}: {back}");
        }
    }
}
