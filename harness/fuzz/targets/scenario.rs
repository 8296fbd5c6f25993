//! Any text as a scenario: it is refused, or its cells, plans and words can be had, and what it is written as says the same.
#![no_main]

use hustings_workloads::plan::plan;
use hustings_workloads::scenario::{Scenario, cell_duration_ms, explain};
use libfuzzer_sys::{Corpus, fuzz_target};

/// Cells looked into: the matrix multiplies.
const CELLS_MAX: usize = 4;
/// Candidates of a cell that is looked into.
const CANDIDATES_MAX: u64 = 10_000;

fuzz_target!(|text: &str| -> Corpus {
    let scenario = match Scenario::parse(text, "fuzz.toml", &[]) {
        Ok(scenario) => scenario,
        Err(error) => {
            assert!(!error.to_string().is_empty(), "a refusal says why");
            return Corpus::Keep;
        }
    };
    let cells = scenario.cells();
    if cells.iter().any(|cell| cell.candidates() > CANDIDATES_MAX) {
        return Corpus::Reject;
    }
    for cell in cells.iter().take(CELLS_MAX) {
        assert!(cell_duration_ms(cell, &plan(cell, 1)) > 0);
    }
    assert!(!explain(&scenario, &scenario.cells(), 1).is_empty());
    drop(scenario.warnings());
    let written = scenario.to_toml().expect("what was read can be written");
    let again = Scenario::parse(&written, "again.toml", &[]).expect("what was written can be read");
    assert_eq!(again.cells(), cells, "a scenario says the same when it is written down");
    Corpus::Keep
});
