//! Broken recipes of self-tests: a cell of its own must catch each one, on each side of a comparison.

use crate::runs::run_of;
use crate::*;

/// A cell of the self-test with this recipe, whose defect is a lead that is lost without a cause.
fn broken(recipe: &str, is_caught: bool) -> Cell {
    let mut cell = if is_caught { false_failover() } else { sound() };
    (cell.info.recipe, cell.info.self_test) = (recipe.into(), true);
    cell.info.must_show = vec![FindingKind::Unplanned];
    cell
}

/// A cell that passes every check.
fn sound() -> Cell {
    let mut cell = Cell::new("predecessor-watch", 1, 3, FaultKind::Resign);
    cell.resign(0, 20_000);
    cell
}

fn of_side(mut cell: Cell, side: ComparisonSide) -> Cell {
    cell.info.contest = Some(PairMember { pair: "self-test".into(), side });
    cell
}

fn run(cells: Vec<Cell>) -> Summary {
    let planned = cells.len() as u32;
    let named = cells.into_iter().enumerate().map(|(index, mut cell)| {
        cell.info.name = format!("cell-{index}");
        cell
    });
    run_of(named, planned)
}

#[test]
fn a_recipe_that_one_of_its_cells_catches_leaves_a_pass() {
    let summary = run(vec![sound(), broken("broken:a", false), broken("broken:a", true)]);
    assert_eq!((summary.verdict, summary.whole), (Pass, Pass), "{:?}", summary.notes);
    assert!(summary.notes.is_empty(), "{:?}", summary.notes);
}

#[test]
fn a_recipe_that_is_caught_does_not_hide_another_that_is_not() {
    let missed = |cells: Vec<Cell>| {
        let summary = run(cells);
        assert_eq!((summary.verdict, summary.whole), (Inconclusive, Inconclusive), "{:?}", summary.notes);
        summary.notes
    };
    let notes = missed(vec![sound(), broken("broken:a", true), broken("broken:b", false), broken("broken:b", false)]);
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].starts_with("self-test: broken:b was not caught, in 2 cells:"), "{notes:?}");
    let notes = missed(vec![sound(), broken("broken:a", false), broken("broken:b", false)]);
    assert_eq!(notes.len(), 2, "each is named: {notes:?}");
}

#[test]
fn a_recipe_that_is_caught_on_one_side_of_a_comparison_must_be_caught_on_the_other() {
    let sides = |base, new| {
        run(vec![
            of_side(broken("broken:a", base), ComparisonSide::Base),
            of_side(broken("broken:a", new), ComparisonSide::New),
            sound(),
        ])
    };
    assert_eq!(sides(true, true).verdict, Pass);
    let summary = sides(true, false);
    assert_eq!(summary.verdict, Inconclusive);
    assert!(summary.notes[0].starts_with("self-test: broken:a was not caught on the new side, in 1 cell:"));
}
