//! Differences in few injections, or in few of their leads, which no median shows.

use hustings_record::ComparisonSide;
use hustings_reports::compare::{Comparison, ComparisonReport, ComparisonVerdict, Measure};
use hustings_reports::summary::{CellSummary, InjectionCost, KaplanMeier, Summary};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::compare::held;
use crate::made::{cell, injection, run};
use crate::spoilt::{compared, turns};

const INJECTIONS: usize = 80;

/// Trials of two equal sides, and how many of them may call the new one worse: 5 %.
const TRIALS: u64 = 200;
const BY_CHANCE: usize = 10;

fn found(comparing: &ComparisonReport, measure: Measure) -> Option<&Comparison> {
    comparing.pairs[0].comparisons.iter().find(|found| found.measure == measure)
}

fn answer_of(comparing: &ComparisonReport, measure: Measure) -> Option<ComparisonVerdict> {
    found(comparing, measure).map(|found| found.answer)
}

/// A run of one cell with these injections.
fn with(like: &CellSummary, injections: Vec<InjectionCost>) -> Summary {
    let mut cell = like.clone();
    cell.injections = injections;
    run(vec![cell])
}

/// An injection that cost leads with these failovers.
fn of_leads(at: usize, mut leads_ms: Vec<f64>) -> InjectionCost {
    leads_ms.sort_by(f64::total_cmp);
    let failovers: Vec<u64> = leads_ms.iter().map(|ms| (ms * 1e6) as u64).collect();
    let n = failovers.len() as u64;
    let median = failovers[(failovers.len() - 1) / 2];
    let reduced = KaplanMeier { n, censored: 0, p50: Some(median), longest: failovers.last().copied() };
    InjectionCost { lost: n, failover: Some(reduced), failovers, ..injection(at, Some(leads_ms[0])) }
}

/// Injections of two leads each, of which every fifth takes 0.9 s longer if `slow`: never both of one injection.
fn two_leads(slow: bool) -> Vec<InjectionCost> {
    let ms = |lead: usize| 20.0 + if slow && lead.is_multiple_of(5) { 900.0 } else { 0.0 };
    (0..INJECTIONS).map(|at| of_leads(at, vec![ms(2 * at), ms(2 * at + 1)])).collect()
}

#[test]
fn a_fifth_of_leads_after_which_writes_are_slow_is_found_though_they_are_taken_over_as_quickly() {
    let ms = |lead: usize| 21.0 + if lead.is_multiple_of(5) { 900.0 } else { 0.0 };
    let mut leads = two_leads(false);
    for (at, one) in leads.iter_mut().enumerate() {
        one.until_writes = [ms(2 * at), ms(2 * at + 1)].map(|ms| (ms * 1e6) as u64).to_vec();
        one.until_writes.sort_unstable();
        let (n, first) = (2, one.until_writes[0]);
        one.until_write =
            Some(KaplanMeier { n, censored: 0, p50: Some(first), longest: one.until_writes.last().copied() });
    }
    let like = cell("naive", &[]);
    let comparing = held(&with(&like, two_leads(false)), &with(&like, leads));
    for same in [Measure::Failover, Measure::UntilWrite] {
        assert_eq!(answer_of(&comparing, same), Some(ComparisonVerdict::Same), "{same:?}");
    }
    assert_eq!(answer_of(&comparing, Measure::Slow), None);
    assert_eq!(answer_of(&comparing, Measure::SlowWrites), Some(ComparisonVerdict::Worse));
}

/// Injections of which some wake nine candidates, and the others one.
fn waking(nine: impl Fn(usize) -> bool) -> Vec<InjectionCost> {
    let woken = |at| Some(if nine(at) { 9 } else { 1 });
    (0..INJECTIONS).map(|at| InjectionCost { woken: woken(at), ..injection(at, Some(20.0)) }).collect()
}

#[test]
fn a_fifth_of_slow_leads_is_found_though_no_injection_has_a_slow_median() {
    let like = cell("naive", &[]);
    let (base, slow) = (with(&like, two_leads(false)), with(&like, two_leads(true)));
    let comparing = held(&base, &slow);
    assert_eq!(answer_of(&comparing, Measure::Failover), Some(ComparisonVerdict::Same));
    assert_eq!(answer_of(&comparing, Measure::Slow), Some(ComparisonVerdict::Worse));
    assert_eq!(comparing.answer, ComparisonVerdict::Worse);
    let share = found(&comparing, Measure::Slow).map_or(0.0, |slow| slow.shift);
    assert!((share - 0.2).abs() < 1e-9, "{share}");
    assert_eq!(answer_of(&held(&slow, &base), Measure::Slow), Some(ComparisonVerdict::Better));
}

#[test]
fn an_older_record_without_single_failovers_is_compared_by_the_medians_of_its_injections() {
    let older = |injections: Vec<InjectionCost>| -> Vec<InjectionCost> {
        let without = |one: InjectionCost| {
            let mut one = serde_json::to_value(one).expect("JSON");
            one.as_object_mut().and_then(|fields| fields.remove("failovers")).expect("they are in newer ones");
            serde_json::from_value(one).expect("an older one")
        };
        injections.into_iter().map(without).collect()
    };
    let like = cell("naive", &[]);
    let comparing = held(&with(&like, older(two_leads(false))), &with(&like, older(two_leads(true))));
    assert_eq!(answer_of(&comparing, Measure::Slow), None);
    // Of one lead each the median is that lead.
    let one_lead = |slow: usize| -> Vec<InjectionCost> {
        (0..INJECTIONS).map(|at| injection(at, Some(if at < slow { 200.0 } else { 20.0 }))).collect()
    };
    let (base, slow) = (one_lead(0), one_lead(16));
    let comparing = held(&with(&like, base.clone()), &with(&like, slow.clone()));
    assert_eq!(answer_of(&comparing, Measure::Slow), Some(ComparisonVerdict::Worse));
    assert_eq!(held(&with(&like, older(base)), &with(&like, older(slow))).pairs, comparing.pairs);
}

#[test]
fn more_wake_ups_in_two_injections_of_five_are_worse_though_the_median_stays() {
    let like = cell("naive", &[]);
    let (base, many) = (with(&like, waking(|_| false)), with(&like, waking(|at| at % 5 < 2)));
    let comparing = held(&base, &many);
    assert_eq!(answer_of(&comparing, Measure::Woken), Some(ComparisonVerdict::Worse));
    let woken = found(&comparing, Measure::Woken).expect("they are compared");
    assert_eq!((woken.base.typical, woken.new.typical, woken.no_worse), (1.0, 4.2, false));
    assert!((woken.shift - 3.2).abs() < 1e-9, "{woken:?}");
    assert_eq!(answer_of(&held(&many, &base), Measure::Woken), Some(ComparisonVerdict::Better));
    assert_eq!(answer_of(&held(&many, &many), Measure::Woken), Some(ComparisonVerdict::Same));
}

/// Five rounds of 32 injections a side. In these rounds, half of the new side's are as `how` makes them.
fn in_rounds(rounds: &[u32], how: impl Fn(&mut InjectionCost)) -> Summary {
    let mut summary = turns(5, &[], &[], |_, _| vec![20.0; 32]);
    for cell in &mut summary.cells {
        let is_new = cell.info.contest.as_ref().is_some_and(|contest| contest.side == ComparisonSide::New);
        let is_meant = cell.info.repetition.as_ref().is_some_and(|one| rounds.contains(&one.number));
        if is_new && is_meant {
            cell.injections.iter_mut().step_by(2).for_each(&how);
        }
    }
    summary
}

#[test]
fn slow_leads_in_too_few_rounds_are_neither_worse_nor_dropped() {
    let slow = |rounds: &[u32]| compared(&in_rounds(rounds, |one| *one = injection(0, Some(200.0))));
    let few = slow(&[2, 4]);
    let share = found(&few, Measure::Slow).expect("it is not dropped");
    assert_eq!((share.answer, share.no_worse), (ComparisonVerdict::CannotTell, false));
    assert_eq!((share.rounds_wanted, share.needs), (Some(10), Some(160)), "as many again");
    assert_eq!(few.answer, ComparisonVerdict::CannotTell);
    assert_eq!(
        answer_of(&slow(&[1, 2, 4]), Measure::Slow),
        Some(ComparisonVerdict::CannotTell),
        "three of five by chance"
    );
    assert_eq!(answer_of(&slow(&[1, 2, 4, 5]), Measure::Slow), Some(ComparisonVerdict::Worse));
    assert_eq!(answer_of(&slow(&[3]), Measure::Slow), None, "one round is an outlier");
}

#[test]
fn more_wake_ups_in_too_few_rounds_are_neither_worse_nor_the_same() {
    let waking = |rounds: &[u32]| compared(&in_rounds(rounds, |one| one.woken = Some(9)));
    for rounds in [&[3][..], &[2, 4]] {
        let comparing = waking(rounds);
        assert_eq!(answer_of(&comparing, Measure::Woken), Some(ComparisonVerdict::CannotTell), "{rounds:?}");
        assert!(found(&comparing, Measure::Woken).is_some_and(|woken| !woken.no_worse), "{rounds:?}");
    }
    assert_eq!(answer_of(&waking(&[1, 2, 4]), Measure::Woken), Some(ComparisonVerdict::CannotTell));
    assert_eq!(answer_of(&waking(&[1, 2, 4, 5]), Measure::Woken), Some(ComparisonVerdict::Worse));
}

#[test]
fn an_undecided_count_wants_rounds_by_the_variance_of_its_injections() {
    let mut summary = turns(5, &[], &[], |_, _| vec![20.0; 8]);
    for cell in &mut summary.cells {
        (0..).zip(&mut cell.injections).for_each(|(at, one)| one.woken = Some(4 + at % 4));
    }
    let comparing = compared(&summary);
    let woken = found(&comparing, Measure::Woken).expect("they are compared");
    assert_eq!((woken.answer, woken.interval), (ComparisonVerdict::CannotTell, Some((-1.0, 1.0))));
    // 5 rounds × (1 / 0.75 × (1 + 1.28 / 1.96))².
    assert_eq!(woken.rounds_wanted, Some(25));
}

/// In how many trials the new one of two equal sides is called worse.
fn worse_by_chance(measure: Measure, side: impl Fn(&mut ChaCha8Rng) -> Vec<InjectionCost>) -> usize {
    let like = cell("naive", &[]);
    let is_worse = |seed: &u64| {
        let mut random = ChaCha8Rng::seed_from_u64(*seed);
        let (base, new) = (with(&like, side(&mut random)), with(&like, side(&mut random)));
        answer_of(&held(&base, &new), measure) == Some(ComparisonVerdict::Worse)
    };
    (0..TRIALS).filter(is_worse).count()
}

#[test]
fn equal_sides_with_slow_leads_are_seldom_called_worse() {
    let side = |random: &mut ChaCha8Rng| -> Vec<InjectionCost> {
        let mut lead = || {
            let ms = 18.0 + 4.0 * random.random::<f64>();
            if random.random::<f64>() < 0.08 { ms + 900.0 } else { ms }
        };
        (0..60).map(|at| of_leads(at, vec![lead(), lead()])).collect()
    };
    let worse = worse_by_chance(Measure::Slow, side);
    assert!(worse <= BY_CHANCE, "{worse}");
}

#[test]
fn equal_sides_that_wake_many_now_and_then_are_seldom_called_worse() {
    let side = |random: &mut ChaCha8Rng| -> Vec<InjectionCost> {
        let mut woken = || Some(if random.random::<f64>() < 0.2 { 9 } else { 1 });
        (0..60).map(|at| InjectionCost { woken: woken(), ..injection(at, Some(20.0)) }).collect()
    };
    let worse = worse_by_chance(Measure::Woken, side);
    assert!(worse <= BY_CHANCE, "{worse}");
}
