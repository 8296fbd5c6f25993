//! Cells that are run several times: their order, their names, and their own draws.

use std::collections::BTreeSet;

use hustings_workloads::plan::plan;
use hustings_workloads::scenario::{Cell, Rounds, Scenario, ShippedScenario, check_rounds, explain, placement, rounds};

fn quick() -> (Scenario, Vec<Cell>) {
    let scenario = ShippedScenario::find("quick").unwrap().parse(&[]).unwrap();
    let cells = scenario.cells();
    (scenario, cells)
}

#[test]
fn one_round_is_the_cells_as_they_are() {
    let (_, cells) = quick();
    assert_eq!(rounds(&cells, 1).collect::<Vec<_>>(), cells);
}

#[test]
fn every_round_goes_over_all_cells_and_the_first_repetition_keeps_the_name() {
    let (_, cells) = quick();
    let all: Vec<Cell> = rounds(&cells, 3).collect();
    assert_eq!(all.len(), 3 * cells.len());
    for (at, cell) in all.iter().enumerate() {
        let (number, base) = ((at / cells.len()) as u32 + 1, &cells[at % cells.len()]);
        let name = if number == 1 { base.name.clone() } else { format!("{}-r{number}", base.name) };
        let repetition = cell.repetition.as_ref().expect("a repetition");
        assert_eq!((&cell.name, &repetition.of, repetition.number, repetition.count), (&name, &base.name, number, 3));
        assert_eq!(cell.index, at as u32);
        let same = Cell { index: base.index, name: base.name.clone(), repetition: None, ..cell.clone() };
        assert_eq!(&same, base, "nothing else differs");
    }
}

#[test]
fn some_cells_of_a_scenario_keep_places_of_their_own_in_every_round() {
    let (_, cells) = quick();
    let some = [cells[3].clone(), cells[7].clone()];
    let indices: BTreeSet<u32> = rounds(&some, 1_000).map(|cell| cell.index).collect();
    assert_eq!(indices.len(), 2_000);
}

#[test]
fn cells_on_several_ensembles_keep_places_of_their_own_though_each_goes_its_rounds_alone() {
    let scenario = ShippedScenario::find("quick").unwrap().parse(&["matrix.servers=[1,3]".to_owned()]).unwrap();
    let cells = scenario.cells();
    let all = Rounds::new(&cells, 3, 3);
    let apart: Vec<Cell> = (1..=3)
        .flat_map(|number| cells.chunk_by(Cell::same_ensemble).flat_map(move |some| all.round(some, number)))
        .collect();
    assert_eq!(apart, rounds(&cells, 3).collect::<Vec<_>>());
}

#[test]
fn each_repetition_draws_anew_and_the_first_as_it_would_alone() {
    let (_, cells) = quick();
    for number in 0..4 {
        let all: Vec<Cell> = rounds(&cells[number..=number], 5).collect();
        assert_eq!((plan(&all[0], 7), placement(&all[0], 7)), (plan(&cells[number], 7), placement(&cells[number], 7)));
        let times: BTreeSet<u64> = all.iter().map(|cell| plan(cell, 7).faults[0].at_ms).collect();
        let places: BTreeSet<_> = all.iter().map(|cell| placement(cell, 7)).collect();
        assert!(times.len() > 2 && places.len() == 5, "{times:?}");
    }
}

#[test]
fn a_name_that_a_repetition_would_take_from_another_cell_is_refused() {
    let text = "name = \"x\"\n[faults.go]\nkind = \"resign\"\n[faults.go-r2]\nkind = \"resign\"\n";
    let cells = Scenario::parse(text, "test.toml", &[]).unwrap().cells();
    check_rounds(&cells, 1).unwrap();
    let refused = check_rounds(&cells, 2).unwrap_err().to_string();
    assert!(refused.contains("predecessor-watch-go-r2") && refused.contains("otherwise"), "{refused}");
    check_rounds(&quick().1, 1_000).unwrap();
    let refused = Scenario::parse(&format!("repeat = 2\n{text}"), "test.toml", &[]).unwrap_err().to_string();
    assert!(refused.contains("repeat") && refused.contains("otherwise"), "{refused}");
    for none in ["repeat = 0", "repeat = 1001"] {
        let refused = Scenario::parse(&format!("{none}\n{text}"), "test.toml", &[]).unwrap_err().to_string();
        assert!(refused.contains("1 to 1000"), "{refused}");
    }
}

#[test]
fn the_plan_of_a_repeated_run_tells_how_often_and_how_long() {
    let (scenario, cells) = quick();
    let once = explain(&scenario, &cells, 1);
    let told = explain(&scenario.repeated(5, "a test").unwrap(), &cells, 1);
    assert!(!once.contains("times") && told.contains("12 cells, each 5 times in 5 rounds"), "{told}");
    let seconds = |text: &str| -> f64 {
        let about = text.lines().nth(1).and_then(|line| line.rsplit_once("about ")).expect("a duration").1;
        about.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{about}"))
    };
    assert!((4.5..5.5).contains(&(seconds(&told) / seconds(&once))), "{told}");
}
