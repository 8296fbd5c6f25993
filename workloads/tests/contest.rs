//! Two scenarios in one run: pairs, names, places, and the order of the sides.

use std::collections::BTreeSet;

use hustings_record::ComparisonSide;
use hustings_workloads::scenario::{Cell, Rounds, ShippedScenario, in_turn, sides};

fn cells(sets: &[&str]) -> Vec<Cell> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    ShippedScenario::find("gate").unwrap().parse(&sets).unwrap().cells()
}

#[test]
fn cells_of_one_name_are_pairs_with_names_and_places_of_their_own() {
    let (base, new) = (cells(&[]), cells(&["election.groups=7"]));
    let all = sides(&base, &new).unwrap();
    assert_eq!(all.len(), 2 * base.len());
    assert_eq!(all.iter().map(|cell| cell.index).collect::<BTreeSet<_>>().len(), all.len());
    assert_eq!(all.iter().map(|cell| &cell.name).collect::<BTreeSet<_>>().len(), all.len());
    for (pair, was) in all.chunks(2).zip(&base) {
        let contests = [0, 1].map(|at| pair[at].contest.clone().unwrap());
        assert!(contests.iter().all(|contest| contest.pair == was.name));
        assert_eq!(contests.map(|contest| contest.side), [ComparisonSide::Base, ComparisonSide::New]);
        assert_eq!((pair[0].groups, pair[1].groups), (20, 7));
        assert_eq!((&pair[0].name, pair[0].index), (&was.name, was.index));
    }
}

#[test]
fn cells_without_a_name_in_common_are_paired_in_their_order() {
    let base = cells(&["matrix.recipe=[\"naive\"]"]);
    let new = cells(&["matrix.recipe=[\"lock-race\"]"]);
    let all = sides(&base, &new).unwrap();
    assert_eq!(all[1].name, format!("{}-new", base[0].name));
    assert_eq!((all[0].recipe.to_string(), all[1].recipe.to_string()), ("naive".into(), "lock-race".into()));
}

#[test]
fn what_has_no_pair_is_refused() {
    let all = cells(&[]);
    for (base, new, why) in [
        (&all[..], &all[..2], "on one side alone"),
        (&all[..2], &all[..], "on one side alone"),
        (
            &cells(&["matrix.recipe=[\"naive\"]"])[..],
            &cells(&["matrix.recipe=[\"lock-race\"]"])[..2],
            "no two have the same name",
        ),
        (&all[..], &cells(&["ensemble.servers=1"])[..], "other servers"),
    ] {
        let refused = sides(base, new).expect_err("no pair").to_string();
        assert!(refused.contains(why), "{refused}");
    }
}

#[test]
fn of_two_rounds_each_side_goes_first_once_and_who_begins_is_drawn() {
    let all = sides(&cells(&[]), &cells(&[])).unwrap();
    let rounds = Rounds::new(&all, 40, 40);
    let first = |seed, number| -> Vec<bool> {
        let cells = in_turn(rounds.round(&all, number).collect(), seed, number);
        cells.chunks(2).map(is_base_first).collect()
    };
    let mut begun = BTreeSet::new();
    for seed in 0..5 {
        for block in 0..20 {
            let (one, other) = (first(seed, 2 * block + 1), first(seed, 2 * block + 2));
            assert!(one.iter().zip(&other).all(|(one, other)| one != other), "ABBA");
            begun.extend(one.into_iter().enumerate());
        }
    }
    assert_eq!(begun.len(), all.len(), "every pair is begun by either side in some block");
}

fn is_base_first(pair: &[Cell]) -> bool {
    assert_eq!(pair[0].contest.as_ref().map(|c| &c.pair), pair[1].contest.as_ref().map(|c| &c.pair));
    pair[0].is_base() && !pair[1].is_base()
}
