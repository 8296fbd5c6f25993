//! What the terminal says first of a run that failed or did not end, what of passes that prove nothing, and its columns.

use crate::render_sample::pools::repeated;
use crate::render_sample::{herd, sample};
use hustings_record::{RunState, Warning, WarningKind};
use hustings_reports::check::Testability;
use hustings_reports::render::{html, terminal};

#[test]
fn the_first_lines_say_why_a_run_did_not_come_to_its_end() {
    let aborted = Warning::new(WarningKind::Aborted, "the run was aborted: server 2 died");
    for (state, warnings, first) in [
        (RunState::Completed, Vec::new(), "Recipes\n"),
        (RunState::Running, Vec::new(), "! This run has no end on record: it is still running, or it was killed.\n\n"),
        (RunState::Interrupted, Vec::new(), "! This run was interrupted (Ctrl-C or another signal); "),
        (RunState::Aborted, vec![aborted], "! This run was ended by an error of the infrastructure; "),
    ] {
        let mut summary = herd();
        (summary.manifest.state, summary.manifest.warnings) = (state, warnings);
        let text = terminal(&summary, 150, false);
        assert!(text.starts_with(first), "{state:?}: {text}");
        let second = text.lines().nth(1).unwrap_or_default();
        assert_eq!(second == "! the run was aborted: server 2 died", state == RunState::Aborted, "{text}");
    }
}

#[test]
fn the_first_line_of_a_failed_run_names_a_check_that_failed() {
    let text = terminal(&sample(), 200, false);
    let first = text.lines().next().unwrap_or_default();
    let cell = "lock-race, on-expiry, expire, T = 6 s, 10 a group, fenced";
    assert!(first.starts_with(&format!("✗ This run failed: {cell}, split_brain: election-0007: ")), "{text}");
    assert!(first.ends_with("; more at the end"), "{text}");
}

#[test]
fn passes_that_prove_nothing_are_named_once_with_what_that_means() {
    let mut summary = herd();
    for cell in &mut summary.cells[..2] {
        cell.checks[0].testability = Some(Testability::NotTestableHere(vec!["no leader was lost".to_owned()]));
    }
    let meaning = "Such a pass proves nothing: nothing happened in its cell that the check could have caught.";
    let text = terminal(&summary, 200, false);
    assert!(text.contains(&format!("\n– Not testable in 2 cells: split_brain (2). {meaning} ")), "{text}");
    assert_eq!(html(&summary).expect("the page is made").matches(meaning).count(), 1);
}

#[test]
fn times_and_their_number_have_a_column_each_where_there_is_room() {
    for (width, columns) in [(99, 0), (100, 1), (140, 1), (142, 1)] {
        for (summary, tables) in [(sample(), 1), (repeated(), 2)] {
            let text = terminal(&summary, width, false);
            let heads = text.lines().filter(|line| line.starts_with("cell ") || line.starts_with("configuration "));
            let words: Vec<&str> = heads.flat_map(str::split_whitespace).collect();
            let apart = words.windows(3).filter(|three| three[0] == "p50" && three[2] == "n").count();
            assert_eq!(apart, columns * tables, "{width}: {text}");
        }
    }
}
