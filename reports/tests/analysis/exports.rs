//! What is exported for other tools.

use crate::*;
use hustings_reports::export::{handovers, interval_log, withheld};

/// All that is exported of a record with a handover and a withheld fault, whose names from outside are this one.
fn exported(name: &str) -> [String; 3] {
    let mut cell = Cell::new("naive", 2, 3, FaultKind::Resign);
    cell.resign(0, 20_000);
    cell.coordinator.push(Event::FaultWithheld { t: ms(30_000), planned: 1, why: WithheldReason::NoLeader });
    (cell.info.name, cell.info.recipe, cell.info.groups[0]) = (name.into(), name.into(), name.into());
    let mut record = cell.record();
    record.manifest.run = name.into();
    [handovers(&record).unwrap(), interval_log(&record).unwrap(), withheld(&record).join("\n")]
}

#[test]
fn names_from_outside_are_one_line_and_do_nothing_on_a_terminal() {
    let plain = exported("ab");
    assert!(plain[0].contains("ab,ab,ab,resign") && plain[1].contains("Tag=ab,"), "{plain:?}");
    for (plain, odd) in plain.iter().zip(&exported("a\n\u{1b}[31m\u{7}\u{9b}31m\u{202e}b")) {
        let acts = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!odd.contains(acts), "{odd:?}");
        assert_eq!(odd.lines().count(), plain.lines().count(), "{odd:?}");
    }
}

#[test]
fn no_name_from_outside_is_a_formula_in_a_spreadsheet() {
    let [text, ..] = exported("=1, \"x\"");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let line = reader.records().next().expect("a handover").expect("a line");
    assert!(line.iter().take(3).all(|cell| cell == "'=1, \"x\""), "{line:?}");
}
