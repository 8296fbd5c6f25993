//! Worse, better, the same, or undecided.

use hustings_record::{ComparisonSide, PairMember, Repetition};
use hustings_reports::compare::{
    ComparisonRefusal, ComparisonReport, ComparisonRules, ComparisonVerdict, Measure, compare, noise, sides_of,
};
use hustings_reports::render::{self, comparison, html};
use hustings_reports::summary::{InjectionCost, Summary};
use hustings_reports::verdict::Verdict;

use crate::made::{around, cell, injection, run};

pub(crate) fn held(base: &Summary, new: &Summary) -> ComparisonReport {
    compare(base, new, ComparisonRules::default(), |_| true, false).expect("they can be compared")
}

fn answer_of(comparing: &ComparisonReport, pair: &str, measure: Measure) -> ComparisonVerdict {
    let pair = comparing.pairs.iter().find(|one| one.name == pair).expect("a pair");
    pair.comparisons.iter().find(|found| found.measure == measure).expect("a comparison").answer
}

#[test]
fn a_recipe_that_became_a_fifth_slower_is_found_and_it_alone() {
    let base = run(vec![cell("naive", &around(20.0)), cell("lock-race", &around(30.0))]);
    let new = run(vec![cell("naive", &around(24.0)), cell("lock-race", &around(30.1))]);
    let found = held(&base, &new);
    assert_eq!(found.answer, ComparisonVerdict::Worse);
    assert_eq!(answer_of(&found, "naive", Measure::Failover), ComparisonVerdict::Worse);
    assert_eq!(answer_of(&found, "lock-race", Measure::Failover), ComparisonVerdict::Same);
    assert_eq!(answer_of(&held(&new, &base), "naive", Measure::Failover), ComparisonVerdict::Better);
}

#[test]
fn leads_that_nobody_takes_over_any_more_are_worse_though_all_others_are_as_fast() {
    let base = run(vec![cell("naive", &around(20.0))]);
    let mut new = base.clone();
    for one in new.cells[0].injections.iter_mut().skip(1) {
        *one = InjectionCost { after_ns: one.after_ns, ..injection(0, None) };
    }
    let found = held(&base, &new);
    assert_eq!(answer_of(&found, "naive", Measure::Censored), ComparisonVerdict::Worse);
    assert_eq!(answer_of(&found, "naive", Measure::Failover), ComparisonVerdict::Worse);
    assert_eq!(found.answer, ComparisonVerdict::Worse);
}

#[test]
fn failures_that_became_slow_successes_are_no_gain_that_hides_a_loss() {
    // Half of the leads were never taken over; now all are, and all more slowly than before.
    let mut base = run(vec![cell("naive", &around(20.0))]);
    for one in base.cells[0].injections.iter_mut().skip(6) {
        *one = InjectionCost { after_ns: one.after_ns, ..injection(0, None) };
    }
    let new = run(vec![cell("naive", &around(40.0))]);
    assert_eq!(answer_of(&held(&base, &new), "naive", Measure::Failover), ComparisonVerdict::CannotTell);
    let all = run(vec![cell("naive", &around(20.0))]);
    assert_eq!(answer_of(&held(&all, &new), "naive", Measure::Failover), ComparisonVerdict::Worse);
}

#[test]
fn what_became_slow_or_ends_without_a_leader_in_an_injection_of_five_is_found_though_no_median_moves() {
    let many = || (0..5).flat_map(|_| around(20.0)).collect::<Vec<f64>>();
    let base = run(vec![cell("naive", &many())]);
    let slow =
        many().iter().enumerate().map(|(at, &ms)| if at % 5 == 0 { ms * 10.0 } else { ms }).collect::<Vec<f64>>();
    let slow = run(vec![cell("naive", &slow)]);
    let found = held(&base, &slow);
    assert_eq!(answer_of(&found, "naive", Measure::Failover), ComparisonVerdict::Same);
    assert_eq!(answer_of(&found, "naive", Measure::Slow), ComparisonVerdict::Worse);
    assert_eq!(found.answer, ComparisonVerdict::Worse);
    assert_eq!(answer_of(&held(&slow, &base), "naive", Measure::Slow), ComparisonVerdict::Better);

    let mut failing = base.clone();
    for one in failing.cells[0].injections.iter_mut().step_by(5) {
        *one = InjectionCost { after_ns: one.after_ns, ..injection(0, None) };
    }
    let found = held(&base, &failing);
    assert_eq!(answer_of(&found, "naive", Measure::Failover), ComparisonVerdict::Same);
    assert_eq!(answer_of(&found, "naive", Measure::Censored), ComparisonVerdict::Worse);
    // Slow successes instead of failures are not a loss, and not a gain in time, either.
    let found = held(&failing, &slow);
    assert!(found.pairs[0].comparisons.iter().all(|one| one.measure != Measure::Slow), "{found:#?}");
}

#[test]
fn one_slow_moment_is_no_slowness_and_seldom_things_are_never_called_the_same() {
    let rounds = |slow_in: Option<u32>| {
        let cells = (1..=4).map(|number| {
            let by = if slow_in == Some(number) { 10.0 } else { 1.0 };
            let many: Vec<f64> = (0..3)
                .flat_map(|_| around(20.0))
                .enumerate()
                .map(|(at, ms)| if at % 2 == 0 { ms * by } else { ms })
                .collect();
            let mut cell = cell("naive", &many);
            cell.info.name = format!("naive-{number}");
            cell.info.repetition = Some(Repetition { of: "naive".to_owned(), number, count: 4, at_most: 0 });
            cell
        });
        run(cells.collect())
    };
    let found = held(&rounds(None), &rounds(Some(3)));
    assert!(found.pairs[0].comparisons.iter().all(|one| one.measure != Measure::Slow), "{found:#?}");
    assert_ne!(found.answer, ComparisonVerdict::Worse);
}

#[test]
fn three_hits_a_side_cannot_tell_whatever_they_show() {
    let base = run(vec![cell("naive", &[20.0, 20.1, 19.9])]);
    for new in [[20.0, 20.1, 19.9], [90.0, 91.0, 92.0]] {
        let found = held(&base, &run(vec![cell("naive", &new)]));
        assert_eq!(found.answer, ComparisonVerdict::CannotTell, "{new:?}");
        assert!(found.pairs[0].comparisons.iter().all(|one| one.needs.is_some()));
    }
}

#[test]
fn what_fails_is_worse_than_what_passed_and_what_is_inconclusive_tells_nothing() {
    let base = run(vec![cell("naive", &around(20.0))]);
    let with = |verdict| {
        let mut new = base.clone();
        new.cells[0].verdict = verdict;
        new
    };
    assert_eq!(held(&base, &with(Verdict::Fail)).answer, ComparisonVerdict::Worse);
    assert_eq!(held(&base, &with(Verdict::Inconclusive)).answer, ComparisonVerdict::CannotTell);
    assert_eq!(held(&with(Verdict::Fail), &base).answer, ComparisonVerdict::CannotTell);
    assert_eq!(held(&with(Verdict::Inconclusive), &with(Verdict::Fail)).answer, ComparisonVerdict::Worse);
}

#[test]
fn runs_that_are_not_alike_are_refused_by_name_and_compared_by_force() {
    let base = run(vec![cell("naive", &around(20.0))]);
    let mut other = base.clone();
    other.cells[0].info.work_interval_ms = 77;
    other.cells[0].info.parameters.insert("fault.for_t".into(), "3.0".into());
    let refused =
        compare(&base, &other, ComparisonRules::default(), |_| true, false).expect_err("it differs").to_string();
    for told in ["cell naive", "work_interval_ms 20 against 77", "parameters.fault.for_t untold against 3.0", "--force"]
    {
        assert!(refused.contains(told), "{refused}");
    }
    let forced = compare(&base, &other, ComparisonRules::default(), |_| true, true).expect("by force");
    assert!(forced.forced[0].contains("work_interval_ms") && comparison(&forced, 140, false).contains("all the same"));

    let mut elsewhere = base.clone();
    elsewhere.manifest.machine.cpu = "another".into();
    let refused = compare(&base, &elsewhere, ComparisonRules::default(), |_| true, false).expect_err("another machine");
    assert!(
        matches!(&refused, ComparisonRefusal::OtherRuns(_)) && refused.to_string().contains("against another"),
        "{refused}"
    );

    let more = run(vec![cell("naive", &around(20.0)), cell("lock-race", &around(20.0))]);
    let refused =
        compare(&base, &more, ComparisonRules::default(), |_| true, false).expect_err("one cell more").to_string();
    assert!(refused.contains("the new one has lock-race"), "{refused}");
    let many = (0..20).map(|at| cell(&format!("c{at}"), &around(20.0))).chain([cell("naive", &around(20.0))]);
    let many = run(many.collect());
    let refused =
        compare(&base, &many, ComparisonRules::default(), |_| true, false).expect_err("many cells more").to_string();
    assert!(refused.contains(" and 12 more, and the other has not"), "{refused}");
    assert!(compare(&base, &more, ComparisonRules::default(), |name| name == "naive", false).is_ok());
    let alone = compare(&base, &run(vec![cell("x", &around(1.0))]), ComparisonRules::default(), |_| true, true);
    assert!(matches!(alone, Err(ComparisonRefusal::NothingInCommon { .. })));
    assert!(matches!(
        compare(&base, &base, ComparisonRules::default(), |_| false, true),
        Err(ComparisonRefusal::NothingToCompare)
    ));
    assert!(matches!(sides_of(&base, ComparisonRules::default(), |_| true), Err(ComparisonRefusal::NoContest)));
}

#[test]
fn repetitions_and_sides_are_put_together_by_what_they_are_of() {
    let on = |name: &str, side, ms: f64| {
        let mut cell = cell(name, &around(ms)[..4]);
        cell.info.contest = Some(PairMember { pair: "naive".into(), side });
        cell
    };
    let both = run(vec![
        on("naive", ComparisonSide::Base, 20.0),
        on("naive-new", ComparisonSide::New, 30.0),
        on("naive-new-r2", ComparisonSide::New, 30.0),
        on("naive-r2", ComparisonSide::Base, 20.0),
    ]);
    let found = sides_of(&both, ComparisonRules::default(), |_| true).expect("two sides");
    assert!(found.in_turn && found.pairs.len() == 1);
    let failover = &found.pairs[0].comparisons[0];
    assert_eq!((failover.base.injections, failover.new.injections, failover.answer), (8, 8, ComparisonVerdict::Worse));
}

/// Both sides of a run in four rounds, on servers that warm up; the new side is slower by this factor.
fn in_rounds(slower: f64) -> Summary {
    let mut cells = Vec::new();
    for (number, warming) in (1..).zip([2.0, 1.4, 1.1, 1.0]) {
        for (side, by, name) in [(ComparisonSide::Base, 1.0, "naive"), (ComparisonSide::New, slower, "naive-new")] {
            let mut cell = cell(&format!("{name}-r{number}"), &around(20.0 * warming * by)[..4]);
            cell.info.contest = Some(PairMember { pair: "naive<b>".into(), side });
            cell.info.repetition = Some(Repetition { of: name.into(), number, count: 4, at_most: 0 });
            cells.push(cell);
        }
    }
    run(cells)
}

#[test]
fn what_both_sides_of_a_round_share_is_no_difference_and_hides_none() {
    let answer = |slower| sides_of(&in_rounds(slower), ComparisonRules::default(), |_| true).expect("two sides").answer;
    assert_eq!(
        (answer(1.2), answer(1.0), answer(0.8)),
        (ComparisonVerdict::Worse, ComparisonVerdict::Same, ComparisonVerdict::Better)
    );
}

#[test]
fn the_page_of_a_run_with_two_sides_says_which_answer_they_came_to() {
    let page = html(&in_rounds(1.2)).expect("a page");
    let told = "<section class=\"banner fail\"";
    assert!(page.contains(told), "the verdict is that of the exit code");
    let told = "<a href=\"#contest\">The new side is worse than the base: failover in naive&lt;b&gt; ";
    assert!(page.contains(told), "beside the verdict");
    let headline = page.split(told).nth(1).and_then(|rest| rest.split("</a>").next()).expect("a link");
    assert!(headline.ends_with(" injections. Tolerance: ±15 % or half a round trip."), "{headline}");
    assert!(page.contains("New compared with base") && page.contains("naive&lt;b&gt;") && !page.contains("naive<b>"));
    let section =
        page.split("id=\"contest\"").nth(1).and_then(|rest| rest.split("</section>").next()).expect("a section");
    assert!(section.contains("worse") && section.contains("·16") && section.contains("(+20"), "{section}");
    assert!(
        page.contains(">base, repetition 1 of 4<") && page.contains(">new, repetition 1 of 4<"),
        "cells say whose they are"
    );
    assert!(!html(&run(vec![cell("naive", &around(20.0))])).expect("a page").contains("id=\"contest\""));
}

#[test]
fn both_sides_are_named_by_their_programs() {
    let mut both = in_rounds(1.0);
    for cell in &mut both.cells {
        let is_new = cell.info.contest.as_ref().is_some_and(|contest| contest.side == ComparisonSide::New);
        let program = if is_new { "./new" } else { "./old" };
        cell.info.parameters.insert("program".into(), program.into());
    }
    let found = sides_of(&both, ComparisonRules::default(), |_| true).expect("two sides");
    assert_eq!((found.base.name.as_deref(), found.new.name.as_deref()), (Some("./old"), Some("./new")));
    assert!(found.pairs[0].differences.is_empty(), "another path is no other parameter");
    let page = html(&both).expect("a page");
    assert!(page.contains("<li>base: .&#x2f;old</li><li>new: .&#x2f;new</li>"));
    assert!(comparison(&found, 100, false).starts_with("base: ./old\nnew: ./new\n"));
}

#[test]
fn noise_is_twice_the_largest_spread_and_five_percent_at_least() {
    let base = run(vec![cell("naive", &around(20.0)), cell("lock-race", &around(30.0))]);
    let quiet = noise(&held(&base, &base)).expect("a spread");
    assert_eq!((quiet.delta, quiet.spreads.len()), (Some(0.05), 4));
    let loud = run(vec![cell("naive", &around(20.0)), cell("lock-race", &around(33.0))]);
    let loud = noise(&held(&base, &loud)).expect("a spread");
    assert!((loud.delta.expect("a margin") - 0.2).abs() < 0.01, "{:?}", loud.delta);
    let deafening = run(vec![cell("naive", &around(20.0)), cell("lock-race", &around(50.0))]);
    let deafening = noise(&held(&base, &deafening)).expect("a spread");
    assert_eq!(deafening.delta, None, "no margin is all of the median");
    assert!(render::noise(&deafening).contains("nothing can be told apart"));
}

#[test]
fn a_comparison_on_a_terminal() {
    let mut base = run(vec![
        cell("naive", &around(20.0)),
        cell("lock-race", &around(30.0)),
        cell("predecessor-watch", &[5.0, 5.1]),
        cell("poll-race", &around(100.0)),
    ]);
    base.cells[3].injections.truncate(7);
    let mut new = run(vec![
        cell("naive", &around(26.0)),
        cell("lock-race", &around(21.0)),
        cell("predecessor-watch", &[5.0, 5.2]),
        cell("poll-race", &around(100.4)),
    ]);
    new.cells[3].verdict = Verdict::Inconclusive;
    let found = held(&base, &new);
    for width in [140, 100, 50] {
        insta::assert_snapshot!(format!("a_comparison_at_{width}_columns"), comparison(&found, width, false));
    }
    insta::assert_snapshot!("noise_on_a_terminal", render::noise(&noise(&held(&base, &base)).expect("a spread")));
}
