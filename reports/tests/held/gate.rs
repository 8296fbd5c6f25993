//! The results of a gate, and its output for each audience.

use hustings_record::{ComparisonSide, PairMember, Repetition};
use hustings_reports::compare::{compared_sides, overall};
use hustings_reports::gate::{
    FIGURES, FigureReading, FigureSource, GateQuestion, GateRequirements, GateResult, HistoryError, Limits,
    LimitsError, annotations, bencher, benchmark_action, gate, history, markdown,
};
use hustings_reports::summary::{CellSummary, Pool, Summary};
use hustings_reports::verdict::Verdict;

use crate::compare::held;
use crate::made::{around, cell, injection, run};
use crate::render_sample::pools::repeated;
use crate::spoilt::{compared, failed, judged, repetitions, turns};

fn limits(injections: Option<u64>, cells: &[(&str, &[(&str, f64)])]) -> Limits {
    let of = |all: &[(&str, f64)]| all.iter().map(|(name, most)| ((*name).to_owned(), *most)).collect();
    let cells = cells.iter().map(|(pattern, all)| ((*pattern).to_owned(), of(all))).collect();
    Limits { injections, allowed_regression_percent: None, cells }
}

/// Sufficient pattern matching: all names, or one.
fn like(pattern: &str, name: &str) -> bool {
    pattern == "*" || pattern == name
}

fn gated(summary: &Summary, limits: Option<&Limits>) -> Result<GateResult, LimitsError> {
    gate(summary, &GateRequirements { limits, comparing: None }, like)
}

fn good() -> Summary {
    run(vec![cell("naive", &around(20.0)), cell("lock-race", &around(30.0))])
}

#[test]
fn a_record_that_passes_goes_through_and_one_that_does_not_does_not() {
    assert_eq!(gated(&good(), None).unwrap().verdict, Verdict::Pass);
    for verdict in [Verdict::Fail, Verdict::Inconclusive] {
        let mut bad = good();
        (bad.verdict, bad.whole) = (verdict, verdict);
        bad.notes.push("a self-test was not caught".into());
        let gated = gated(&bad, None).unwrap();
        assert_eq!(gated.verdict, verdict);
        let told = gated.items.iter().find(|item| item.what == GateQuestion::Record).unwrap();
        assert_eq!((told.verdict, told.text.as_str()), (verdict, "a self-test was not caught"));
    }
    assert_eq!(gated(&run(Vec::new()), None).unwrap().verdict, Verdict::Inconclusive, "nothing is not green");
}

#[test]
fn too_few_injections_are_inconclusive_whatever_they_show() {
    let few = run(vec![cell("naive", &[20.0, 20.0, 20.0])]);
    assert_eq!(gated(&few, None).unwrap().verdict, Verdict::Inconclusive);
    assert_eq!(gated(&good(), Some(&limits(Some(8), &[]))).unwrap().verdict, Verdict::Pass);
    assert_eq!(gated(&good(), Some(&limits(Some(9), &[]))).unwrap().verdict, Verdict::Inconclusive);
}

#[test]
fn a_figure_over_its_limit_fails_and_one_at_it_passes() {
    let mut summary = good();
    let p50 = summary.cells[0].failover.whole.as_ref().and_then(|whole| whole.p50).unwrap() as f64 / 1e6;
    let with = |most: f64| limits(None, &[("naive", &[("failover_p50_ms", most)])]);
    assert_eq!(gated(&summary, Some(&with(p50))).unwrap().verdict, Verdict::Pass);
    assert_eq!(gated(&summary, Some(&with(p50 * 0.99))).unwrap().verdict, Verdict::Fail);
    // A median hidden by censoring exceeds any limit.
    summary.cells[0].failover.whole.as_mut().unwrap().p50 = None;
    assert_eq!(gated(&summary, Some(&with(1e12))).unwrap().verdict, Verdict::Fail);
}

#[test]
fn failures_are_over_a_limit_on_the_tail_and_so_are_the_slow_successes_that_they_become() {
    let mut summary = good();
    let limit = limits(None, &[("naive", &[("failover_tail_ms", 10_000.0)])]);
    let verdict = |summary: &Summary| gated(summary, Some(&limit)).unwrap().verdict;
    assert_eq!(verdict(&summary), Verdict::Pass);
    let whole = summary.cells[0].failover.whole.as_mut().unwrap();
    whole.censored = 3;
    assert_eq!(verdict(&summary), Verdict::Fail, "who never ended is not left out");
    let whole = summary.cells[0].failover.whole.as_mut().unwrap();
    (whole.censored, whole.n, whole.max) = (0, whole.n + 3, 12_600_000_000);
    assert_eq!(verdict(&summary), Verdict::Fail);
}

#[test]
fn limits_that_say_nothing_of_the_record_are_errors_and_no_pass() {
    let refused = |limits: Limits| gated(&good(), Some(&limits)).expect_err("it says nothing").to_string();
    let unknown = refused(limits(None, &[("*", &[("failover_p51_ms", 1.0)])]));
    assert!(unknown.contains("failover_p51_ms") && unknown.contains("failover_p50_ms"), "{unknown}");
    assert!(refused(limits(None, &[("nobody", &[("failover_p50_ms", 1.0)])])).contains("nobody"));
    // A resignation has no floor of expiry.
    let missing = refused(limits(None, &[("*", &[("excess_p50_ms", 1.0)])]));
    assert!(missing.contains("excess_p50_ms") && missing.contains("naive"), "{missing}");
    for senseless in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(refused(limits(None, &[("*", &[("failover_p50_ms", senseless)])])).contains("must be a number"));
    }
    let allowed = Limits { allowed_regression_percent: Some(100.0), ..Limits::default() };
    assert!(refused(allowed).contains("allowed_regression_percent"));
}

/// The median of each cell that is made, which is at this limit.
fn median_ms() -> f64 {
    cell("naive", &[]).failover.whole.and_then(|whole| whole.p50).unwrap() as f64 / 1e6
}

/// The verdict with this limit on the cells that the pattern means.
fn with_median_limited(summary: &Summary, pattern: &str) -> Verdict {
    gated(summary, Some(&limits(None, &[(pattern, &[("failover_p50_ms", median_ms())])]))).unwrap().verdict
}

/// The same cell, over that limit.
fn slow(mut cell: CellSummary) -> CellSummary {
    let whole = cell.failover.whole.as_mut().unwrap();
    whole.p50 = whole.p50.map(|ns| 2 * ns);
    cell
}

/// Two sides in five rounds, of which the repetition of this number on these sides is as `how` makes it.
fn two_sides(number: u32, sides: &[ComparisonSide], how: impl Fn(CellSummary) -> CellSummary) -> Summary {
    let mut summary = turns(5, &[], &[], |_, _| around(20.0));
    let is_meant = |cell: &&mut CellSummary| {
        cell.info.contest.as_ref().is_some_and(|contest| sides.contains(&contest.side))
            && cell.info.repetition.as_ref().is_some_and(|repetition| repetition.number == number)
    };
    for cell in summary.cells.iter_mut().filter(is_meant) {
        *cell = how(cell.clone());
    }
    judged(summary)
}

#[test]
fn a_limit_on_a_cell_is_on_all_its_repetitions() {
    for number in 1..=3 {
        let summary = repetitions(3, &[number], slow);
        assert_eq!(with_median_limited(&summary, "naive"), Verdict::Fail, "repetition {number}");
        assert_eq!(with_median_limited(&summary, "*"), Verdict::Fail, "repetition {number}");
    }
    assert_eq!(with_median_limited(&repetitions(3, &[], slow), "naive"), Verdict::Pass);
    assert_eq!(with_median_limited(&repetitions(3, &[3], slow), "naive-r3"), Verdict::Fail);
    assert_eq!(with_median_limited(&repetitions(3, &[3], slow), "naive-r2"), Verdict::Pass, "it alone is meant");
}

#[test]
fn of_two_sides_a_limit_on_a_cell_is_on_all_rounds_of_the_new_one_and_on_none_of_the_base() {
    let verdict = |number, side, pattern: &str| with_median_limited(&two_sides(number, &[side], slow), pattern);
    for number in [1, 5] {
        for pattern in ["naive", "naive (new)", "*"] {
            let of = |side| verdict(number, side, pattern);
            assert_eq!(of(ComparisonSide::New), Verdict::Fail, "{pattern}, round {number} of the new side");
            assert_eq!(of(ComparisonSide::Base), Verdict::Pass, "{pattern}, round {number} of the base");
        }
    }
    assert_eq!(verdict(5, ComparisonSide::New, "naive (new)-r5"), Verdict::Fail);
    assert_eq!(verdict(5, ComparisonSide::New, "naive (new)-r4"), Verdict::Pass, "it alone is meant");
    // Names of the base's repetitions would limit nothing.
    for pattern in ["naive-r5", "nobody"] {
        let limits = limits(None, &[(pattern, &[("failover_p50_ms", median_ms())])]);
        let refused = gated(&two_sides(5, &[], slow), Some(&limits)).expect_err("it means no cell").to_string();
        assert_eq!(refused, format!("no cell of the record is like {pattern:?}; there are naive"));
    }
}

#[test]
fn a_repetition_without_a_limited_figure_is_inconclusive_and_a_cell_without_it_is_an_error() {
    let without = |mut cell: CellSummary| {
        cell.failover.whole = None;
        cell
    };
    assert_eq!(with_median_limited(&repetitions(3, &[2], without), "naive"), Verdict::Inconclusive);
    let limits = limits(None, &[("naive", &[("failover_p50_ms", median_ms())])]);
    let refused = gated(&repetitions(3, &[1, 2, 3], without), Some(&limits)).expect_err("there is none anywhere");
    assert!(matches!(&refused, LimitsError::NoFigure { cell, .. } if cell == "naive"), "{refused}");
}

/// What the gate says of two sides, and what the run that has them says.
fn gated_and_run(summary: &Summary) -> (GateResult, Verdict) {
    let comparing = compared(summary);
    let gated = gate(summary, &GateRequirements { limits: None, comparing: Some(&comparing) }, like).unwrap();
    (gated, overall(summary, Some(&comparing)))
}

#[test]
fn a_base_that_fails_alone_is_inconclusive_to_gate_and_run_and_a_new_side_that_fails_fails_both() {
    let (base, new) = (ComparisonSide::Base, ComparisonSide::New);
    for (sides, verdict) in [
        (&[][..], Verdict::Pass),
        (&[base], Verdict::Inconclusive),
        (&[new], Verdict::Fail),
        (&[base, new], Verdict::Fail),
    ] {
        let summary = two_sides(2, sides, failed);
        let (of_gate, of_run) = gated_and_run(&summary);
        assert_eq!((of_gate.verdict, of_run), (verdict, verdict), "{sides:?}");
        assert_eq!(gated(&summary, None).unwrap().verdict, verdict, "{sides:?}, compared with nothing");
    }
}

#[test]
fn a_check_that_fails_on_the_base_says_that_nothing_can_be_compared_with_it() {
    let (gated, _) = gated_and_run(&two_sides(2, &[ComparisonSide::Base], failed));
    assert_eq!(gated.that_are(Verdict::Fail).count(), 0);
    let open: Vec<_> = gated.that_are(Verdict::Inconclusive).collect();
    let of_check = open.iter().find(|item| item.what == GateQuestion::Check).unwrap();
    assert_eq!(of_check.cell.as_deref(), Some("naive-r2"));
    assert!(of_check.text.starts_with("the base fails, so nothing can be compared with it: "), "{}", of_check.text);
    assert!(open.iter().any(|item| item.what == GateQuestion::Comparison && item.text.starts_with("the base fails")));
    // What is open there stays so, for its own reason.
    let open = |mut cell: CellSummary| {
        (cell.checks[1].verdict, cell.verdict) = (Verdict::Inconclusive, Verdict::Inconclusive);
        cell
    };
    let (gated, of_run) = gated_and_run(&two_sides(2, &[ComparisonSide::Base], open));
    assert_eq!((gated.verdict, of_run), (Verdict::Inconclusive, Verdict::Inconclusive));
    let mut checks = gated.that_are(Verdict::Inconclusive).filter(|item| item.what == GateQuestion::Check);
    assert!(checks.next().is_some_and(|item| !item.text.contains("the base fails")));
}

#[test]
fn a_base_that_fails_hides_no_failure_of_the_record_and_none_of_a_run_that_ended_early() {
    let mut damaged = two_sides(2, &[ComparisonSide::Base], failed);
    damaged.whole = Verdict::Fail;
    let (gated, of_run) = gated_and_run(&damaged);
    assert_eq!((gated.verdict, of_run), (Verdict::Fail, Verdict::Fail));
    for (side, verdict) in [(ComparisonSide::Base, Verdict::Inconclusive), (ComparisonSide::New, Verdict::Fail)] {
        let mut alone = two_sides(1, &[side], failed);
        alone.cells.retain(|cell| cell.info.contest.as_ref().is_some_and(|contest| contest.side == side));
        let alone = judged(alone);
        assert!(compared_sides(&alone).is_none());
        assert_eq!(overall(&alone, None), verdict, "{side:?}");
    }
}

#[test]
fn every_figure_is_read_of_a_cell_that_has_it() {
    let cell = &good().cells[0];
    let mut names = std::collections::BTreeSet::new();
    for figure in FIGURES {
        assert!(names.insert(figure.name), "{} stands twice", figure.name);
        if !figure.name.starts_with("excess") {
            assert!(
                matches!(figure.of(&FigureSource::cell(cell)), FigureReading::Value(value) if value >= 0.0),
                "{}",
                figure.name
            );
        }
    }
}

#[test]
fn what_is_worse_than_the_baseline_fails_and_what_cannot_be_told_is_inconclusive() {
    let base = good();
    let against = |new: &Summary| {
        let comparing = held(&base, new);
        gate(new, &GateRequirements { limits: None, comparing: Some(&comparing) }, like).unwrap()
    };
    assert_eq!(against(&good()).verdict, Verdict::Pass);
    let slower = run(vec![cell("naive", &around(26.0)), cell("lock-race", &around(30.0))]);
    let gated = against(&slower);
    assert_eq!(gated.verdict, Verdict::Fail);
    let failed: Vec<&str> = gated
        .items
        .iter()
        .filter(|item| item.verdict == Verdict::Fail)
        .filter_map(|item| item.cell.as_deref())
        .collect();
    assert!(!failed.is_empty() && failed.iter().all(|cell| *cell == "naive"), "{failed:?}");
    let fewer = run(vec![cell("naive", &around(20.0)[..3]), cell("lock-race", &around(30.0))]);
    assert_eq!(against(&fewer).verdict, Verdict::Inconclusive);
}

#[test]
fn a_remark_is_added_to_undecided_figures_alone() {
    let few = run(vec![cell("naive", &around(20.0)[..3]), cell("lock-race", &around(30.0))]);
    let comparing = held(&few, &few);
    let before = gate(&few, &GateRequirements { limits: None, comparing: Some(&comparing) }, like).unwrap();
    let mut after = before.clone();
    after.remark_undecided("that is why");
    let changed: Vec<_> = before.items.iter().zip(&after.items).filter(|(one, other)| one != other).collect();
    assert!(changed.iter().any(|(one, _)| one.name == "failover"), "{changed:?}");
    for (one, other) in changed {
        assert_eq!((one.what, one.verdict), (GateQuestion::Comparison, Verdict::Inconclusive));
        assert_eq!((one.cell.as_deref(), &other.text), (Some("naive"), &format!("{}; that is why", one.text)));
    }
}

/// A record with all kinds of findings.
fn mixed() -> GateResult {
    let mut summary = good();
    summary.cells[0].injections.truncate(2);
    summary.cells[1].injections.push(injection(9, None));
    let limits = limits(None, &[("lock-race", &[("failover_p50_ms", 0.001), ("without_leader_percent", 100.0)])]);
    gated(&summary, Some(&limits)).unwrap()
}

#[test]
fn markdown_and_annotations_tell_the_worst_first() {
    let gated = mixed();
    insta::assert_snapshot!("a_gate_as_markdown", markdown(&gated, None));
    insta::assert_snapshot!("a_gate_as_annotations", annotations(&gated));
}

#[test]
fn names_from_outside_are_neither_markup_nor_commands() {
    let mut summary = run(vec![cell("a|b<script>\n::error::x,y:z%", &around(20.0)[..2])]);
    summary.cells[0].checks[0].verdict = Verdict::Fail;
    summary.cells[0].checks[0].details = vec!["line\nbreak ::warning::`x` [l](u)".into()];
    let gated = gated(&summary, None).unwrap();
    let table = markdown(&gated, None);
    assert!(!table.contains("<script>") && !table.contains("`x`") && !table.contains("[l]"), "{table}");
    let told = annotations(&gated);
    assert!(
        told.lines().all(|line| line.starts_with("::error title=") || line.starts_with("::warning title=")),
        "{told}"
    );
    assert!(!told.lines().any(|line| line.starts_with("::error::")), "{told}");
}

#[test]
fn names_from_outside_do_nothing_on_a_terminal() {
    let of = |name: &str| {
        let mut summary = run(vec![cell(name, &around(20.0))]);
        summary.manifest.run = name.into();
        summary.cells[0].checks[0].verdict = Verdict::Fail;
        summary.cells[0].checks[0].details = vec![name.into()];
        let gated = gated(&summary, None).unwrap();
        let begun = history(&summary, &gated, "", "").unwrap().unwrap();
        assert_eq!(history(&summary, &gated, "", &begun).unwrap(), None, "it is there");
        [annotations(&gated), markdown(&gated, None), begun]
    };
    for (plain, odd) in of("ab").iter().zip(&of("a\n\u{1b}[31m\u{7}\u{9b}31m\u{202e}b")) {
        let acts = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!odd.contains(acts), "{odd:?}");
        assert_eq!(odd.lines().count(), plain.lines().count(), "{odd:?}");
    }
}

#[test]
fn of_many_failures_ten_are_annotated_and_the_others_counted() {
    let cells = (0..30).map(|i| {
        let mut cell = cell(&format!("c{i}"), &around(20.0));
        cell.checks[0].verdict = Verdict::Fail;
        cell
    });
    let told = annotations(&gated(&run(cells.collect()), None).unwrap());
    assert_eq!(told.lines().filter(|line| line.starts_with("::error")).count(), 10);
    assert!(told.contains("and 21 more"), "{told}");
}

#[test]
fn figures_go_to_services_by_cell_and_name() {
    let summary = good();
    let p50 = summary.cells[0].failover.whole.as_ref().and_then(|whole| whole.p50).unwrap() as f64 / 1e6;
    assert_eq!(bencher(&summary)["naive"]["failover_p50_ms"]["value"], p50);
    let entries = benchmark_action(&summary, "abc123");
    let entry = entries.as_array().unwrap().iter().find(|entry| entry["name"] == "naive failover_p50_ms").unwrap();
    assert_eq!((&entry["value"], &entry["unit"]), (&p50.into(), &"ms".into()));
}

#[test]
fn a_history_grows_by_a_line_a_run_and_refuses_columns_of_another_scenario() {
    let mut summary = good();
    let gated = gated(&summary, None).unwrap();
    let line = |summary: &Summary, there: &str| history(summary, &gated, "abc123", there);
    let begun = line(&summary, "").unwrap().unwrap();
    let lines: Vec<&str> = begun.lines().collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0].split(',').count(), lines[1].split(',').count());
    assert!(lines[0].starts_with("time,run,commit,verdict,naive.failover_p50_ms,"));
    assert_eq!(lines[1].split(',').nth(2), Some("abc123"));
    assert_eq!(line(&summary, &begun).unwrap(), None, "it is there");
    // A figure that is missing this time leaves its column empty.
    summary.manifest.run.push_str("-again");
    summary.cells[0].failover.whole = None;
    let more = line(&summary, &begun).unwrap().unwrap();
    assert!(more.lines().count() == 1 && more.contains(",pass,,,"), "{more}");
    assert!(line(&summary, begun.trim_end()).unwrap().unwrap().starts_with('\n'), "a line of its own");
    let other = line(&run(vec![cell("naive", &around(20.0))]), lines[0]);
    assert!(matches!(other, Err(HistoryError::OtherColumns { .. })));
}

#[test]
fn a_history_has_each_commit_of_a_simulated_run_whose_name_stays_and_a_real_run_once() {
    let mut summary = good();
    (summary.manifest.run, summary.manifest.started_utc) = ("simulated-gate-1".into(), String::new());
    let gated = gated(&summary, None).unwrap();
    let line = |summary: &Summary, commit: &str, there: &str| history(summary, &gated, commit, there).unwrap();
    let begun = line(&summary, "abc", "").unwrap();
    assert!(line(&summary, "def", &begun).is_some_and(|line| line.starts_with(",simulated-gate-1,def,pass,")));
    assert_eq!(line(&summary, "abc", &begun), None, "it is there");
    assert_eq!(line(&summary, "", &begun), None, "it is there, and no other commit is named");
    let mut other = summary.clone();
    other.cells[0].failover.whole = None;
    assert!(line(&other, "abc", &begun).is_some(), "other settings have other figures");

    let start = "2026-03-01T10:15:00Z";
    summary.manifest.started_utc = start.into();
    let begun = line(&summary, "abc", "").unwrap();
    assert_eq!(line(&summary, "def", &begun), None, "it is one run");
    assert_eq!(line(&summary, "def", &begun.replace(start, "")), None, "a line without a start is known by its name");
    summary.manifest.started_utc = "2026-03-02T10:15:00Z".into();
    assert!(line(&summary, "abc", &begun).is_some(), "it is another one");
}

#[test]
fn a_history_is_a_csv_file_whatever_names_hold_and_has_each_run_once() {
    let name = "=a, \"b\"";
    let mut summary = run(vec![cell(name, &around(20.0))]);
    let gated = gated(&summary, None).unwrap();
    summary.manifest.run = "run, \"one\"".into();
    let begun = history(&summary, &gated, "-abc", "").unwrap().unwrap();
    let mut reader = csv::Reader::from_reader(begun.as_bytes());
    let head = reader.headers().unwrap().clone();
    assert!(head.iter().skip(4).all(|column| column.starts_with(&format!("'{name}."))), "{head:?}");
    let lines: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert_eq!(lines.len(), 1, "{begun}");
    assert_eq!((lines[0].get(1), lines[0].get(2)), (Some("run, \"one\""), Some("'-abc")));
    assert_eq!(history(&summary, &gated, "-abc", &begun).unwrap(), None, "it is there");
    // A program that quotes every cell and ends lines in its own way changes nothing.
    let quote = |line: &csv::StringRecord| {
        line.iter().map(|cell| format!("\"{}\"", cell.replace('"', "\"\""))).collect::<Vec<_>>().join(",") + "\r\n"
    };
    let quoted = quote(&head) + &quote(&lines[0]);
    assert_eq!(history(&summary, &gated, "", &quoted).unwrap(), None, "it is there");
    summary.manifest.run = "run".into();
    assert!(history(&summary, &gated, "", &quoted).unwrap().is_some_and(|line| line.contains(",run,")));
}

#[test]
fn a_history_has_one_set_of_columns_for_all_repetitions_of_the_new_side() {
    let of = |number, side, ms| {
        let mut cell = cell("naive", &around(ms));
        cell.info.contest = Some(PairMember { pair: "naive".into(), side });
        let of = if side == ComparisonSide::New { "naive (new)" } else { "naive" };
        cell.info.repetition = Some(Repetition { of: of.into(), number, count: 2, at_most: 0 });
        cell.info.name = format!("{of}-r{number}");
        cell.fan_out.woken = Some((1, 1, u64::from(number) + if side == ComparisonSide::New { 0 } else { 10 }));
        cell
    };
    let mut summary = run(vec![
        of(1, ComparisonSide::Base, 20.0),
        of(1, ComparisonSide::New, 20.0),
        of(2, ComparisonSide::New, 30.0),
        of(2, ComparisonSide::Base, 20.0),
    ]);
    let pool = repeated().pools.into_iter().next().unwrap();
    summary.pools = [("naive", 7), ("naive (new)", 9)]
        .map(|(name, censored)| {
            let mut pool = Pool { name: name.into(), ..pool.clone() };
            (pool.handovers.planned, pool.handovers.censored) = (10, censored);
            pool
        })
        .to_vec();
    let figures = &bencher(&summary)["naive"];
    assert_eq!(figures["woken_most"]["value"], 2.0, "of both repetitions, and not of the base");
    assert_eq!(figures["censored_percent"]["value"], 90.0, "the pool's");
    let entries = benchmark_action(&summary, "abc123");
    assert_eq!(entries.as_array().unwrap().iter().filter(|entry| entry["name"] == "naive woken_most").count(), 1);
    let told = history(&summary, &gated(&summary, None).unwrap(), "", "").unwrap().unwrap();
    assert_eq!(told.lines().next().unwrap().matches("woken_most").count(), 1);
}

#[test]
fn markdown_has_base_new_change_interval_and_answer_of_what_was_compared() {
    let base = good();
    let slower = run(vec![cell("naive", &around(26.0)), cell("lock-race", &around(30.0))]);
    let comparing = held(&base, &slower);
    let gated = gate(&slower, &GateRequirements { limits: None, comparing: Some(&comparing) }, like).unwrap();
    insta::assert_snapshot!("a_comparison_as_markdown", markdown(&gated, Some(&comparing)));
}
