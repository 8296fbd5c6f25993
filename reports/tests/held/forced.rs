//! What `--force` overrode is in every output of a gate.

use hustings_reports::compare::{ComparisonRules, compare};
use hustings_reports::gate::{GateRequirements, GateResult, annotations, gate, markdown};
use hustings_reports::summary::Summary;

use crate::made::{around, cell, run};

#[test]
fn a_gate_says_in_every_output_what_was_overridden_by_force() {
    let base = run(vec![cell("naive", &around(20.0))]);
    let against_base = |new: &Summary| {
        let comparing = compare(&base, new, ComparisonRules::default(), |_| true, true).expect("by force");
        let asked = GateRequirements { limits: None, comparing: Some(&comparing) };
        let gated = gate(new, &asked, |_, _| true).expect("no limits");
        let table = markdown(&gated, Some(&comparing));
        (gated, table)
    };
    let json = |gated: &GateResult| serde_json::to_value(gated).expect("JSON");

    let mut other = base.clone();
    other.cells[0].info.work_interval_ms = 77;
    let (gated, table) = against_base(&other);
    assert_eq!(gated.forced.len(), 1, "{:?}", gated.forced);
    assert!(gated.forced[0].contains("cell naive") && gated.forced[0].contains("20 against 77"), "{:?}", gated.forced);
    assert_eq!(json(&gated)["forced"][0], gated.forced[0].as_str());
    let notice = "::notice title=baseline::compared all the same: cell naive";
    assert!(annotations(&gated).lines().any(|line| line.starts_with(notice)), "{}", annotations(&gated));
    assert!(table.contains("compared all the same") && table.contains("20 against 77"), "{table}");

    let (alike, table) = against_base(&base);
    assert!(alike.forced.is_empty() && json(&alike).get("forced").is_none());
    assert!(annotations(&alike).is_empty() && !table.contains("all the same"), "nothing was overridden");
}
