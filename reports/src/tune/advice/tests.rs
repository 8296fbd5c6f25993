use proptest::prelude::*;

use super::*;
use crate::tune::PausedSession;
use crate::tune::pauses::{Pause, PauseLog, read};
use crate::tune::setting::ExpirySettings;

/// A log of these milliseconds.
fn log(ms: impl IntoIterator<Item = f64>) -> PauseLog {
    let text: String = ms.into_iter().map(|ms| format!("{ms}\n")).collect();
    read(format!("# made\n{text}").as_bytes()).expect("a log")
}

fn question(log: &PauseLog, weeks: f64) -> Question<'_> {
    Question {
        log,
        weeks,
        client: Client::Java,
        step_down: StepDown::OnDisconnect,
        tick_ms: 2_000,
        reconnect_ms: 10.0,
        timeout_ms: None,
        crashes_per_week: 1.0,
        acceptable_per_week: 0.25,
        curve: Curve::Model,
        is_of_real_servers: true,
        failover: Failover::ASSUMED,
        seed: 1,
    }
}

#[test]
fn the_timeout_is_the_least_that_the_pauses_allow() {
    // 26 weeks, and pauses of up to 9 s: the least T that none of them reaches, by its whole ping interval.
    let log = log((1..=100).map(|i| f64::from(i) * 90.0));
    let advice = advise(&question(&log, 26.0));
    let due = (2..=20_u32).map(|ticks| ticks * 2_000).find(|t| {
        let pauses = log.pauses.iter().map(|pause| pause.lasted as f64 / 1e6);
        let setting = ExpirySettings::of(Client::Java, f64::from(*t), 2_000.0, 10.0);
        let rate = pauses.map(|ms| setting.expired_share(ms)).sum::<f64>() / 26.0;
        rate <= 0.25 && (upper_95(0) / 26.0) <= 0.25
    });
    assert_eq!(advice.rows.len(), 19);
    assert!(advice.recommended.timeout_ms >= u64::from(due.expect("one")), "{:?}", advice.recommended);
    assert!(advice.recommended.timeout_ms <= 14_000, "{:?}", advice.recommended);
    assert_eq!((advice.recommended.grade, advice.recommended.weeks_missing), (TimeoutGrade::Shown, Some(0.0)));
}

#[test]
fn a_short_log_claims_no_more_than_three_in_its_weeks() {
    let log = log([]);
    let advice = advise(&Question { acceptable_per_week: 7.0 / 30.44, ..question(&log, 2.0) });
    assert_eq!(advice.recommended.grade, TimeoutGrade::Estimated);
    assert!((advice.zero_means_per_week - 1.497_9).abs() < 1e-3);
    // A claim of one a month takes 13 weeks.
    let missing = advice.recommended.weeks_missing.expect("some");
    assert!((missing - 11.0).abs() < 0.1, "{missing}");
    assert!(advice.rows.iter().all(|row| row.false_failovers.per_week == 0.0));
}

#[test]
fn pauses_that_no_timeout_outlasts_are_said_to_be_so() {
    let log = log([120_000.0; 20]);
    let advice = advise(&question(&log, 4.0));
    assert_eq!((advice.recommended.grade, advice.recommended.weeks_missing), (TimeoutGrade::Missed, None));
    assert!(advice.warnings.iter().any(|text| text.contains("no timeout that a tick of 2 s allows")));
}

#[test]
fn too_few_pauses_do_not_show_that_no_timeout_suffices() {
    let graded = |ms: &[f64], weeks| {
        let log = log(ms.iter().copied());
        let advice = advise(&Question { timeout_ms: Some(40_000), ..question(&log, weeks) });
        (advice.recommended.grade, advice.used.expect("asked").grade)
    };
    assert_eq!(graded(&[60_000.0], 1.0), (TimeoutGrade::Estimated, TimeoutGrade::Estimated));
    assert_eq!(graded(&[90_000.0, 120_000.0], 2.0), (TimeoutGrade::Estimated, TimeoutGrade::Estimated));
    assert_eq!(graded(&[90_000.0; 6], 2.0), (TimeoutGrade::Missed, TimeoutGrade::Missed));
}

#[test]
fn an_extrapolation_does_not_decide_which_timeout_has_the_fewest_false_failovers() {
    // A heavy tail of up to 32 s: beyond it rows have an extrapolation, which is more than those before have seen.
    let quantile = |i: u32| 2_600.0 / 0.3 * (((f64::from(i) + 0.5) / 500.0).powf(-0.3) - 1.0) + 50.0;
    let log = log((0..500).map(|i| quantile(i) * 32_000.0 / quantile(0)));
    let advice = advise(&question(&log, 1.0));
    let least = advice.rows.iter().map(|row| row.false_failovers.per_week).fold(f64::INFINITY, f64::min);
    let row = advice.recommended_row().expect("a row");
    assert!(row.estimate_per_week() > 0.25 && row.extrapolated_per_week.is_some(), "{row:?}");
    assert!((row.false_failovers.per_week - least).abs() < 1e-12, "{row:?}");
    assert_eq!((advice.recommended.timeout_ms, advice.recommended.grade), (40_000, TimeoutGrade::Estimated));
}

#[test]
fn weeks_beyond_the_log_s_own_times_show_nothing() {
    let stopped = |at: u64| format!("[{at}.0s] Total time for which application threads were stopped: 0.5 seconds\n");
    let graded = |text: String, weeks| {
        let log = read(text.as_bytes()).expect("a log");
        let JudgedTimeout { grade, doubt, .. } = advise(&question(&log, weeks)).recommended;
        (grade, doubt.is_some_and(|doubt| doubt.contains("it does not show")))
    };
    let log = stopped(0) + &stopped(60_480_000);
    assert_eq!(graded(log.clone(), 100.0), (TimeoutGrade::Shown, false));
    assert_eq!(graded(log.clone(), 109.0), (TimeoutGrade::Shown, false));
    assert_eq!(graded(log, 111.0), (TimeoutGrade::Estimated, true));
    assert_eq!(graded(stopped(7), 52.0), (TimeoutGrade::Estimated, true), "one line covers nothing");
    assert_eq!(graded("500\n".to_owned(), 52.0), (TimeoutGrade::Shown, false), "a list tells no times");
}

#[test]
fn time_between_lines_that_are_missing_counts_against_a_claim_and_for_a_timeout() {
    // Four pauses of a minute in 24 weeks. Each line says that another safepoint was a second before, which is not there.
    let line = |week: u64| {
        let parts = "Reaching safepoint: 1 ns, At safepoint: 1 ns, Total: 60000000000 ns";
        format!("[{}.0s][safepoint] Safepoint \"x\", Time since last: 1000000000 ns, {parts}\n", week * 604_800)
    };
    let log = read([0, 8, 16, 24].map(line).concat().as_bytes()).expect("a log");
    let own = log.weeks().expect("some");
    assert!(own < 0.001 && log.weeks_at_most().is_some_and(|weeks| weeks > 23.9), "{own}");
    assert_eq!(advise(&question(&log, own)).recommended.grade, TimeoutGrade::Estimated, "it may be one in six weeks");
    assert_eq!(advise(&question(&log, 24.0)).recommended.grade, TimeoutGrade::Estimated);
}

#[test]
fn a_long_time_without_a_line_is_said() {
    let stopped = |at: u64| format!("[{at}.0s] Total time for which application threads were stopped: 0.5 seconds\n");
    let is_said = |text: String| {
        let log = read(text.as_bytes()).expect("a log");
        advise(&question(&log, 20.0))
            .warnings
            .into_iter()
            .any(|text| text.contains("that the log covers it has no line"))
    };
    assert!(is_said((0..10).chain(1_000..1_010).map(|at| stopped(at * 10_000)).collect()));
    assert!(!is_said((0..100).map(|at| stopped(at * 10_000)).collect()));
}

#[test]
fn a_curve_of_servers_that_are_not_real_shows_nothing() {
    let setting = ExpirySettings::of(Client::Rust, 2_000.0, 500.0, 4.0);
    let pair = |i: u32| {
        let pause_ms = 1_000.0 + 20.0 * f64::from(i);
        let expired = pause_ms + 37.0 * f64::from(i % 11) > 2_300.0;
        PausedSession { setting, pause_ms, expired, injection: u64::from(i) }
    };
    let curve = Curve::fit(&(0..90).map(pair).collect::<Vec<_>>()).expect("a curve");
    let (none, graded) = (log([]), |question: Question<'_>| advise(&question).recommended.grade);
    let of = |is_of_real_servers| Question { curve: curve.clone(), is_of_real_servers, ..question(&none, 20.0) };
    assert_eq!(graded(of(true)), TimeoutGrade::Shown);
    assert_eq!(graded(of(false)), TimeoutGrade::Estimated);
    let model = Question { is_of_real_servers: false, ..question(&none, 20.0) };
    assert_eq!(graded(model), TimeoutGrade::Shown, "the model is of no servers");
}

#[test]
fn an_interval_that_is_longer_than_t_hides_pauses_if_its_longest_could_expire_a_session() {
    let week_ns = 604_800_000_000_000;
    let graded = |interval_s: u64, longest_ms: u64| {
        let pause = Pause { ended: Some(week_ns), lasted: longest_ms * 1_000_000 };
        let longest_interval = interval_s * 1_000_000_000;
        let coverage = Coverage { span: Some(100 * week_ns), pieces: 1, longest_interval, ..Coverage::default() };
        let log = PauseLog { shape: PauseLogFormat::Intervals, pauses: vec![pause], coverage, ..PauseLog::default() };
        let advice = advise(&Question { timeout_ms: Some(4_000), ..question(&log, 100.0) });
        (advice.used.expect("asked").grade, advice.recommended.timeout_ms, advice.recommended.grade)
    };
    // A T of 4 s outlasts 2.66 s for certain, one of 6 s 3.99 s.
    assert_eq!(graded(5, 3_000), (TimeoutGrade::Estimated, 6_000, TimeoutGrade::Shown));
    assert_eq!(graded(3, 3_000), (TimeoutGrade::Shown, 4_000, TimeoutGrade::Shown));
    assert_eq!(graded(604_800, 2_000), (TimeoutGrade::Shown, 4_000, TimeoutGrade::Shown), "none in it is longer");
}

#[test]
fn only_timeouts_that_nothing_beats_are_on_the_front() {
    let log = log([3_000.0, 5_000.0, 8_000.0, 13_000.0]);
    let rows = advise(&question(&log, 4.0)).rows;
    let cost = |row: &TimeoutRow| (row.false_failovers.per_week, row.downtime_s_per_week());
    for row in &rows {
        let beaten = rows.iter().any(|other| {
            let (one, own) = (cost(other), cost(row));
            one.0 <= own.0 && one.1 < own.1 || one.0 < own.0 && one.1 <= own.1
        });
        assert_eq!(row.on_front, !beaten, "{} ms", row.timeout_ms);
    }
    // Beyond the last pause a longer timeout buys nothing.
    assert!(!rows.last().expect("rows").on_front && rows.iter().filter(|row| row.on_front).count() >= 2);
}

#[test]
fn a_row_adds_up() {
    let log = log([60_000.0; 6]);
    let advice = advise(&question(&log, 3.0));
    let row = &advice.rows[0];
    assert_eq!((row.timeout_ms, row.false_failovers.per_week), (4_000, 2.0));
    // T − g/2 + tick/2 + tick/6, and what decides and acts.
    let outage = 4_000.0 - 4_000.0 / 6.0 + 1_000.0 + 2_000.0 / 6.0 + 55.0;
    assert!((row.outage_ms - outage).abs() < 1e-6 && (row.outage_ms_max - 7_055.0).abs() < 1e-6);
    assert!(
        (row.crashed_s_per_week - outage / 1e3).abs() < 1e-9
            && (row.falsely_s_per_week - 2.0 * outage / 1e3).abs() < 1e-9
    );
    assert!((row.given_up_per_week - 2.0).abs() < 1e-12);
}

#[test]
fn a_timeout_that_servers_change_is_said_and_shown() {
    let log = log([100.0]);
    let asked = |timeout_ms| advise(&Question { timeout_ms: Some(timeout_ms), ..question(&log, 20.0) });
    assert!(asked(90_000).warnings[0].contains("90 s is granted as 40 s"));
    assert!(asked(5_000).rows.iter().any(|row| row.timeout_ms == 5_000));
    assert!(!asked(5_000).warnings.iter().any(|text| text.contains("granted")));
}

#[test]
fn the_timeout_in_use_has_a_judgement_of_its_own() {
    // Ten pauses of 9 s in 26 weeks: a T of 6 s has 0.38 false failovers a week, one of 14 s none.
    let log = log([9_000.0; 10]);
    let used = |timeout_ms, acceptable_per_week| {
        let asked = Question { timeout_ms: Some(timeout_ms), acceptable_per_week, ..question(&log, 26.0) };
        let used = advise(&asked).used.expect("one was asked about");
        (used.grade, used.weeks_missing.map(f64::round))
    };
    assert_eq!(used(6_000, 0.1), (TimeoutGrade::Missed, None), "its lower bound, 0.21, is too many");
    assert_eq!(used(6_000, 0.3), (TimeoutGrade::Estimated, None), "0.38 is more than 0.3, which it may yet be");
    assert_eq!(
        used(6_000, 0.5),
        (TimeoutGrade::Estimated, Some(8.0)),
        "0.38 is less than 0.5, the bound of 0.65 is not"
    );
    assert_eq!(used(6_000, 0.7), (TimeoutGrade::Shown, Some(0.0)));
    assert_eq!(used(14_000, 0.2), (TimeoutGrade::Shown, Some(0.0)));
}

#[test]
fn what_could_not_be_read_leaves_the_best_guess_and_no_claim() {
    let whole = "[0.0s][info][safepoint] Total time for which application threads were stopped: 0.5 seconds\n\
        [60480000.0s][info][safepoint] Total time for which application threads were stopped: 0.5 seconds\n";
    let graded = |log: &str| {
        let log = read(log.as_bytes()).expect("a log of 100 weeks");
        let advice = advise(&question(&log, log.weeks().expect("it tells times")));
        (advice.recommended.grade, advice.warnings.iter().filter(|text| text.contains("could not be read")).count())
    };
    assert_eq!(graded(whole), (TimeoutGrade::Shown, 0));
    let cut = "[60480001.0s][info][safepoint] Total time for which application threads were sto";
    assert_eq!(graded(&format!("{whole}{cut}")), (TimeoutGrade::Estimated, 1));
}

#[test]
fn few_overlaps_leave_the_best_guess_and_no_claim() {
    let stopped = |at: u64, s: u64| {
        format!("[{at}.0s][safepoint] Total time for which application threads were stopped: {s}.0 seconds\n")
    };
    let graded = |last_s: u64| {
        // 101 weeks, with a pause of 1 s in each; the last one begins 1 s after the one before is over, or before that.
        let text: String = (0..=101).map(|week| stopped(week * 604_800, 1)).collect();
        let log = read((text + &stopped(101 * 604_800 + 2, last_s)).as_bytes()).expect("few");
        let advice = advise(&question(&log, log.weeks().expect("it tells times")));
        let told = advice.warnings.iter().any(|text| text.contains("1 pause overlaps an earlier one"));
        (advice.recommended.grade, advice.recommended.weeks_missing.is_some(), told)
    };
    assert_eq!(graded(1), (TimeoutGrade::Shown, true, false));
    assert_eq!(graded(3), (TimeoutGrade::Estimated, false, true));
}

#[test]
fn a_process_that_is_paused_for_most_of_the_time_has_no_timeout_that_is_long_enough() {
    // 20 weeks of pauses that follow on each other: by their ends a single incident.
    let graded = |pause_s: u64| {
        let stopped =
            |at: u64| format!("[{at}.0s] Total time for which application threads were stopped: {pause_s}.0 seconds\n");
        let log = read((0..=20_160).map(|at| stopped(at * 600)).collect::<String>().as_bytes()).expect("a log");
        let asked = Question { timeout_ms: Some(10_000), ..question(&log, log.weeks().expect("it tells times")) };
        let advice = advise(&asked);
        let told = advice.warnings.iter().any(|text| text.contains("was paused for 100 % of the time"));
        (advice.used.expect("asked").grade, advice.recommended.grade, told)
    };
    assert_eq!(graded(600), (TimeoutGrade::Estimated, TimeoutGrade::Estimated, true));
    assert_eq!(graded(1), (TimeoutGrade::Shown, TimeoutGrade::Shown, false));
}

#[test]
fn a_pause_costs_the_step_downs_that_the_policy_says() {
    // One that outlasts the connection at a T of 40 s, and one that does at 4 s; hardly any of these sessions expires.
    let (long, short) = (log([30_000.0]), log([3_000.0]));
    let at_40_s = |step_down| {
        let advice = advise(&Question { step_down, ..question(&long, 20.0) });
        let row = advice.rows.iter().find(|row| row.timeout_ms == 40_000).cloned().expect("20 ticks");
        (row.given_up_per_week, row.step_downs_per_week)
    };
    assert_eq!(at_40_s(StepDown::OnDisconnect), (0.05, 0.05));
    assert_eq!(at_40_s(StepDown::OnExpiry), (0.05, 0.0));
    // A reconnect takes 10 ms: longer than the first of these waits, shorter than the second does.
    assert_eq!(at_40_s(StepDown::After(0.000_1)), (0.05, 0.05));
    assert_eq!(at_40_s(StepDown::After(0.4)), (0.05, 0.0));
    let told = |step_down| advise(&Question { step_down, ..question(&short, 20.0) }).warnings.join("\n");
    assert!(told(StepDown::After(0.000_1)).contains("with after=0.0001 a leader also steps down"));
    assert!(told(StepDown::After(0.4)).contains("only if its reconnect takes longer than"));
    assert!(!told(StepDown::OnExpiry).contains("steps down"));
}

#[test]
fn whoever_says_that_a_log_is_longer_or_shorter_than_it_is_is_told_so() {
    let log = read(
        "[0.0s][info][safepoint] Entering safepoint region: Cleanup\n\
         [604800.0s][info][safepoint] Total time for which application threads were stopped: 0.5 seconds\n"
            .as_bytes(),
    );
    let log = log.expect("a log of a week");
    let told =
        |weeks| advise(&question(&log, weeks)).warnings.into_iter().find(|text| text.contains("if the log is right"));
    assert!(told(10.0).is_some_and(|text| text.ends_with("10.0 times too small")));
    assert!(told(0.5).is_some_and(|text| text.ends_with("2.0 times too large")));
    assert_eq!((told(1.0), told(1.05), told(0.95)), (None, None, None));
}

#[test]
fn the_policy_is_told_what_it_risks() {
    let log = log([]);
    let told = |client, step_down| advise(&Question { client, step_down, ..question(&log, 20.0) }).warnings.join("\n");
    assert!(told(Client::Rust, StepDown::OnExpiry).contains("gives the session up at 1.40 T"));
    assert!(told(Client::Java, StepDown::OnExpiry).contains("as long as it is cut off"));
    assert!(told(Client::Rust, StepDown::After(0.9)).contains("believes for up to 1.30 T"));
    assert!(!told(Client::Rust, StepDown::After(0.4)).contains("two lead"));
    assert!(!told(Client::Rust, StepDown::OnDisconnect).contains("two lead"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn longer_timeouts_never_have_more_false_failovers(ms in prop::collection::vec(0.0_f64..60_000.0, 0..60), weeks in 0.1_f64..50.0) {
        let log = log(ms);
        let rows = advise(&question(&log, weeks)).rows;
        for pair in rows.windows(2) {
            prop_assert!(pair[1].false_failovers.per_week <= pair[0].false_failovers.per_week + 1e-9);
            prop_assert!(pair[1].outage_ms > pair[0].outage_ms);
        }
        for row in &rows {
            prop_assert!(row.false_failovers.high >= upper_95(0) / weeks - 1e-9);
        }
    }
}
